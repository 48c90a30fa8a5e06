"""Designs under the Steiner frames: Hadamard matrices and Steiner triple systems."""

from __future__ import annotations

from functools import cache

import numpy as np

from superjax.laws.constructions.fields import field, prime_power


@cache
def hadamard_exists(n: int) -> bool:
    """Whether :func:`hadamard` can build order n: 1, 2, Paley's two families, and products.

    Example:
        >>> [n for n in range(1, 30) if hadamard_exists(n)]
        [1, 2, 4, 8, 12, 16, 20, 24, 28]
    """
    if n in (1, 2):
        return True
    return n % 4 == 0 and (_is_paley(n, 1) or _is_paley(n, 2) or _factor(n) is not None)


@cache
def hadamard(n: int) -> np.ndarray:
    """A Hadamard matrix: +-1 entries, H H^T = n I, first column all ones.

    Args:
        n: order for which :func:`hadamard_exists`.

    Returns:
        int8 ``[n, n]``.

    Raises:
        ValueError: where no order-n matrix is known to this module.

    Source:
        Sylvester 1867; Paley 1933.

    Example:
        >>> H = hadamard(12).astype(int)
        >>> bool((H @ H.T == 12 * np.eye(12)).all())
        True
    """
    if not hadamard_exists(n):
        raise ValueError(f"no Hadamard matrix of order {n} is built here")
    if n == 1:
        return np.ones((1, 1), np.int8)
    if n == 2:
        return np.array([[1, 1], [1, -1]], np.int8)
    factor = _factor(n)
    if factor is not None:
        found = np.kron(hadamard(factor), hadamard(n // factor))
    elif _is_paley(n, 1):
        found = np.eye(n, dtype=np.int8) + _conference(n - 1)
    else:
        core = _conference(n // 2 - 1)
        found = np.kron(core, [[1, 1], [1, -1]]) + np.kron(np.eye(n // 2, dtype=np.int8), [[1, -1], [-1, -1]])
    found = found.astype(np.int8)
    return found * found[:, :1]


def steiner_triples(v: int) -> list[tuple[int, int, int]]:
    """Triples of 0 .. v-1 in which every pair lies exactly once.

    Args:
        v: 1 or 3 mod 6, >= 7 (or 9, 15, ...).

    Returns:
        v(v-1)/6 triples.

    Source:
        Bose 1939 (v = 3 mod 6); Skolem 1958 (v = 1 mod 6).

    Example:
        >>> len(steiner_triples(9))
        12
    """
    return _bose(v) if v % 6 == 3 else _skolem(v)


def _bose(v: int) -> list[tuple[int, int, int]]:
    n = v // 3
    half = (n + 1) // 2
    triples = [(i, n + i, 2 * n + i) for i in range(n)]
    triples += [
        (level * n + i, level * n + j, (level + 1) % 3 * n + (i + j) * half % n)
        for level in range(3)
        for i in range(n)
        for j in range(i + 1, n)
    ]
    return triples


def _skolem(v: int) -> list[tuple[int, int, int]]:
    n = v // 3
    t = n // 2
    triples = [(i, n + i, 2 * n + i) for i in range(t)]
    triples += [(v - 1, level * n + i + t, (level + 1) % 3 * n + i) for level in range(3) for i in range(t)]
    triples += [
        (level * n + i, level * n + j, (level + 1) % 3 * n + _halve((i + j) % n, t))
        for level in range(3)
        for i in range(n)
        for j in range(i + 1, n)
    ]
    return triples


def _halve(x: int, t: int) -> int:
    return x // 2 if x % 2 == 0 else x // 2 + t


def _is_paley(n: int, kind: int) -> bool:
    q = n - 1 if kind == 1 else n // 2 - 1
    return q % 4 == (3 if kind == 1 else 1) and prime_power(q) is not None


def _factor(n: int) -> int | None:
    """An order > 1 that splits n into two smaller known orders."""
    return next((a for a in (2, 4, 12, 20, 28) if n % a == 0 and 1 < n // a < n and hadamard_exists(n // a)), None)


def _conference(q: int) -> np.ndarray:
    """Paley's bordered matrix of quadratic characters, ``[q+1, q+1]``; skew for q = 3 mod 4, symmetric for 1 mod 4."""
    gf = field(q)
    points = np.arange(q)
    found = np.zeros((q + 1, q + 1), np.int8)
    found[1:, 1:] = gf.quadratic_character(gf.subtract(points[:, None], points[None, :]))
    found[0, 1:] = 1
    found[1:, 0] = 1 if q % 4 == 1 else -1
    return found
