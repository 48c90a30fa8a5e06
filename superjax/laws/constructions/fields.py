"""Finite fields small enough for tables: the arithmetic under every algebraic construction."""

from __future__ import annotations

from functools import cache

import numpy as np


@cache
def prime_power(q: int) -> tuple[int, int] | None:
    """``(p, m)`` with q = p^m and p prime, or None.

    Example:
        >>> prime_power(343), prime_power(12)
        ((7, 3), None)
    """
    for m in range(q.bit_length(), 0, -1):
        p = q if m == 1 else round(q ** (1 / m))
        if p > 1 and p**m == q and _is_prime(p):
            return p, m
    return None


def _is_prime(n: int) -> bool:
    """Miller and Rabin's test, whose first 13 prime bases leave no doubt below 3.3e24 (Sorenson and Webster 2015)."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    if n < 2 or any(n % base == 0 for base in bases):
        return n in bases
    twos = ((n - 1) & -(n - 1)).bit_length() - 1
    for base in bases:
        x = pow(base, (n - 1) >> twos, n)
        if x != 1 and all(pow(x, 2**step, n) != n - 1 for step in range(twos)):
            return False
    return True


class Field:
    """GF(p^m): elements are 0 .. q-1, the base-p digits of a polynomial in a primitive root.

    Attributes:
        p: characteristic.
        m: degree over GF(p).
        q: p^m.
        exp: ``[q-1]`` int64, powers of a primitive element.
        log: ``[q]`` int64, its inverse; log[0] is unused.
        trace: ``[q]`` int64 in 0 .. p-1, the trace to GF(p).

    Source:
        Lidl and Niederreiter 1997, chapters 2 and 9.

    Example:
        >>> field = Field(2, 3)
        >>> int(field.power(field.multiply(3, 5), 7))
        1
    """

    def __init__(self, p: int, m: int) -> None:
        self.p, self.m, self.q = p, m, p**m
        self.exp = np.array(_primitive_powers(p, m), np.int64)
        self.log = np.zeros(self.q, np.int64)
        self.log[self.exp] = np.arange(self.q - 1)
        self._places = p ** np.arange(m, dtype=np.int64)
        self._digits = np.arange(self.q)[:, None] // self._places % p
        conjugates = [self.power(np.arange(self.q), p**i) for i in range(m)]
        self.trace = sum(self._digits[conjugate] for conjugate in conjugates)[:, 0] % p

    def multiply(self, x: np.ndarray | int, y: np.ndarray | int) -> np.ndarray:
        """x y, elementwise with broadcasting."""
        product = self.exp[(self.log[x] + self.log[y]) % (self.q - 1)]
        return np.where((np.asarray(x) == 0) | (np.asarray(y) == 0), 0, product)

    def power(self, x: np.ndarray | int, exponent: int) -> np.ndarray:
        """x to a positive power, elementwise."""
        return np.where(np.asarray(x) == 0, 0, self.exp[self.log[x] * exponent % (self.q - 1)])

    def subtract(self, x: np.ndarray | int, y: np.ndarray | int) -> np.ndarray:
        """x - y, elementwise with broadcasting."""
        return (self._digits[x] - self._digits[y]) % self.p @ self._places

    def quadratic_character(self, x: np.ndarray) -> np.ndarray:
        """1 for nonzero squares, -1 for non-squares, 0 for 0; p odd."""
        return np.where(x == 0, 0, 1 - 2 * (self.log[x] % 2))


@cache
def field(q: int) -> Field:
    """The field of q elements; raises ValueError where q is no prime power."""
    found = prime_power(q)
    if found is None:
        raise ValueError(f"{q} is not a prime power")
    return Field(*found)


def _primitive_powers(p: int, m: int) -> list[int]:
    """Powers of a primitive element: of an integer mod p, or of x modulo the first primitive polynomial."""
    q = p**m
    tails = range(1, q)  # base-p digits of the polynomial's tail, x^m = tail(x); for m = 1 the tail is the root itself
    for tail in tails:
        if tail % p == 0 and m > 1:
            continue
        powers = _powers_of_x(p, m, tail)
        if powers is not None:
            return powers
    raise AssertionError("every finite field has a primitive element")


def _powers_of_x(p: int, m: int, tail: int) -> list[int] | None:
    """1, x, x^2, ... modulo x^m = tail, or None where x has an order below q - 1."""
    q, top = p**m, p ** (m - 1)
    powers, value = [1], 1
    for _ in range(q - 2):
        carry = value // top
        value = _add_multiple(value % top * p, carry, tail, p, m)
        if value in (0, 1):
            return None
        powers.append(value)
    return powers


def _add_multiple(value: int, factor: int, tail: int, p: int, m: int) -> int:
    if factor == 0:
        return value
    if p == 2:
        return value ^ tail
    total, place = 0, 1
    for _ in range(m):
        total += (value // place + factor * (tail // place)) % p * place
        place *= p
    return total
