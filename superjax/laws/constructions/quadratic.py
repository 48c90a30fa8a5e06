r"""Sign vectors of quadratic forms over GF(2): Kerdock, Delsarte-Goethals, Gold and dual-BCH sets.

A set of alternating m x m forms in which any two differ by rank at least m - 2r (m even) or m - 2r + 1 (m odd) gives
the vectors (-1)^{Q(x) + b.x}, Q a quadratic form of each and b any vector of GF(2)^m: a Walsh coefficient of a form of
rank 2h is 0 or +-2^{m-h}. With the standard basis that is |forms| 2^m + 2^m lines in R^{2^m}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from superjax.laws.constructions.family import Construction
from superjax.laws.constructions.fields import Field, field


def kerdock(m: int) -> Construction:
    """Kerdock's set: d(d/2 + 1) lines at 1/sqrt(d), d = 2^m, m even: the real mutually unbiased bases.

    Args:
        m: even, >= 2.

    Returns:
        The construction; it meets the orthoplex bound.

    Source:
        Kerdock 1972; Cameron and Seidel 1973; Kantor 1982 (forms); Calderbank, Cameron, Kantor and Seidel 1997.

    Example:
        >>> kerdock(4).k, kerdock(4).coherence
        (144, 0.25)
    """
    return delsarte_goethals(m, 0)


def delsarte_goethals(m: int, r: int) -> Construction:
    """Delsarte and Goethals' sets: 2^{(m-1)(r+1)} d + d lines at 2^r / sqrt(d), d = 2^m.

    The forms on GF(2^{m-1}) + GF(2) are Kantor's with r more terms,
    B((x,s),(y,t)) = Tr(a^2 xy) + Tr(ax)Tr(ay) + s Tr(ay) + t Tr(ax) + sum_i Tr(b_i (x^{2^i} y + x y^{2^i})).

    Args:
        m: even, >= 2.
        r: 0 (Kerdock) .. m/2 - 1 (all alternating forms, coherence 1/2).

    Returns:
        The construction.

    Source:
        Delsarte and Goethals 1975; MacWilliams and Sloane 1977, chapter 15.

    Example:
        >>> delsarte_goethals(12, 2).k > 3.5e13
        True
    """
    d, forms = 2**m, 2 ** ((m - 1) * (r + 1))
    name = f"Kerdock set in R^{d}" if r == 0 else f"Delsarte-Goethals set r={r} in R^{d}"
    return Construction(
        name,
        d,
        forms * d + d,
        2**r / math.sqrt(d),
        "Kerdock 1972; Kantor 1982" if r == 0 else "Delsarte and Goethals 1975",
        _sign_rows(m, forms, lambda form: kantor_form(m, _digits(form, 2 ** (m - 1), r + 1))),
    )


def dual_bch(m: int, r: int = 1) -> Construction:
    """Gold's set (r = 1) and the duals of r-error BCH type codes: d^{r+1} + d lines at 2^{r-1} sqrt(2/d), d = 2^m.

    Vectors (-1)^{Tr(a_1 x^3 + a_2 x^5 + ... + a_r x^{2^r+1} + bx)}.

    Args:
        m: odd, >= 3.
        r: 1 .. (m-1)/2.

    Returns:
        The construction.

    Source:
        Gold 1968; MacWilliams and Sloane 1977, chapter 15.

    Example:
        >>> dual_bch(5).k, round(dual_bch(5).coherence, 12)
        (1056, 0.25)
    """
    d = 2**m
    return Construction(
        f"Gold set in R^{d}" if r == 1 else f"dual BCH set r={r} in R^{d}",
        d,
        d ** (r + 1) + d,
        2 ** (r - 1) * math.sqrt(2 / d),
        "Gold 1968" if r == 1 else "MacWilliams and Sloane 1977, chapter 15",
        _sign_rows(m, d**r, lambda form: gold_form(m, _digits(form, d, r))),
    )


def quadratic_sets(d: int) -> Iterator[Construction]:
    """Every set of this module in dimension 2^m <= d."""
    for m in range(2, d.bit_length()):
        if m % 2 == 0:
            yield from (delsarte_goethals(m, r) for r in range(m // 2))
        else:
            yield from (dual_bch(m, r) for r in range(1, (m - 1) // 2 + 1))


def gold_form(m: int, coefficients: Sequence[int]) -> np.ndarray:
    """The alternating form sum_i Tr(a_i (x^{2^i} y + x y^{2^i})) of GF(2^m), uint8 ``[m, m]``."""
    x, y = _basis(m)
    form = np.zeros((m, m), np.uint8)
    for i, a in enumerate(coefficients):
        form ^= _twisted(field(2**m), x, y, a, i + 1)
    return form


def kantor_form(m: int, coefficients: Sequence[int]) -> np.ndarray:
    """The form of :func:`delsarte_goethals` with a = coefficients[0], b_i = coefficients[i], uint8 ``[m, m]``."""
    gf = field(2 ** (m - 1))
    x, y = _basis(m - 1)
    a, *twists = coefficients
    along = gf.trace[gf.multiply(a, x[:, 0])]
    form = np.zeros((m, m), np.uint8)
    form[:-1, :-1] = gf.trace[gf.multiply(gf.multiply(a, a), gf.multiply(x, y))] ^ np.outer(along, along)
    form[-1, :-1] = form[:-1, -1] = along
    for i, b in enumerate(twists):
        form[:-1, :-1] ^= _twisted(gf, x, y, b, i + 1)
    return form


def _twisted(gf: Field, x: np.ndarray, y: np.ndarray, b: int, i: int) -> np.ndarray:
    left, right = gf.multiply(gf.power(x, 2**i), y), gf.multiply(x, gf.power(y, 2**i))
    return gf.trace[gf.multiply(b, left ^ right)].astype(np.uint8)


def _basis(m: int) -> tuple[np.ndarray, np.ndarray]:
    powers = 2 ** np.arange(m)
    return powers[:, None], powers[None, :]


def _digits(number: int, base: int, count: int) -> list[int]:
    return [number // base**place % base for place in range(count)]


def _sign_rows(m: int, forms: int, form: Callable[[int], np.ndarray]) -> Callable[[Sequence[int]], np.ndarray]:
    """Row form * d + b is (-1)^{Q + b.x}; the last d rows are the standard basis."""
    d = 2**m

    def generate(indices: Sequence[int]) -> np.ndarray:
        points = np.arange(d, dtype=np.int32)
        signs = np.zeros((len(indices), d), np.int8)
        by_form: dict[int, list[int]] = {}
        for place, index in enumerate(indices):
            by_form.setdefault(int(index) // d, []).append(place)
        for number, places in by_form.items():
            linear = np.array([int(indices[place]) % d for place in places], np.int32)
            if number == forms:
                signs[places, linear] = 1
            else:
                parity = np.bitwise_count(linear[:, None] & points[None, :]).astype(np.uint8)
                signs[places] = 1 - 2 * ((parity + _quadratic(m, form(number))[None, :]) & 1).astype(np.int8)
        return signs

    return generate


def _quadratic(m: int, form: np.ndarray) -> np.ndarray:
    """A quadratic form that polarises to this alternating form, at every point of GF(2)^m: ``[2^m]`` of 0 and 1."""
    bits = _bits(m)
    return (np.einsum("xi,xi->x", bits @ np.triu(form, 1), bits) & 1).astype(np.uint8)


@cache
def _bits(m: int) -> np.ndarray:
    return (np.arange(2**m)[:, None] >> np.arange(m) & 1).astype(np.uint8)
