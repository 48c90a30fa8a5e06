"""Equiangular frames and unbiased bases: simplex, basis, polygon, Paley, Steiner, realified complex bases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from superjax.laws.constructions.designs import hadamard, hadamard_exists, steiner_triples
from superjax.laws.constructions.family import Construction
from superjax.laws.constructions.fields import field, prime_power


def orthonormal_basis(d: int) -> Construction:
    """The d lines of an orthonormal basis, the axes of the cross-polytope, at coherence 0.

    Example:
        >>> orthonormal_basis(3).coherence
        0.0
    """
    return Construction(f"cross-polytope axes in R^{d}", d, d, 0.0, "orthonormal", _basis_rows(d))


def simplex(d: int) -> Construction:
    """The d + 1 lines through the vertices of the regular simplex, at 1/d.

    Example:
        >>> simplex(7).k, simplex(7).coherence == 1 / 7
        (8, True)
    """

    def generate(indices: Sequence[int]) -> np.ndarray:
        found = -np.ones((len(indices), d + 1), np.int64)
        found[np.arange(len(indices)), np.asarray(indices)] = d
        return found

    return Construction(f"simplex in R^{d}", d, d + 1, 1 / d, "regular simplex", generate, lambda: np.ones((1, d + 1)))


def polygon(k: int) -> Construction:
    """k lines in the plane at equal angles, coherence cos(pi/k): optimal in R^2 and the last resort elsewhere.

    Example:
        >>> round(polygon(6).coherence, 3)
        0.866
    """

    def generate(indices: Sequence[int]) -> np.ndarray:
        angles = np.asarray(indices, np.float64) * (math.pi / k)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    name = f"regular {2 * k}-gon" if k < 10**9 else "regular 2k-gon"
    return Construction(name, 2, k, math.cos(math.pi / k) if k > 2 else 0.0, "exact", generate)


def paley(q: int) -> Construction:
    """Paley's equiangular tight frame: q + 1 lines in R^{(q+1)/2} at 1/sqrt(q), Welch's bound.

    Coordinates: one constant, and the cosine and sine of the additive characters of the nonzero squares up to sign.

    Args:
        q: prime power, 1 mod 4.

    Returns:
        The construction.

    Source:
        Paley 1933; Strohmer and Heath 2003 (conference frames).

    Example:
        >>> paley(5).d, paley(5).k
        (3, 6)
    """

    def generate(indices: Sequence[int]) -> np.ndarray:
        gf = field(q)
        squares = gf.exp[: (q - 1) // 2 : 2]
        points = np.asarray(indices, np.int64)
        phases = gf.trace[gf.multiply(points[:, None] % q, squares[None, :])] * (2 * math.pi / gf.p)
        found = np.concatenate([np.full((len(points), 1), 0.5), np.cos(phases), np.sin(phases)], axis=1)
        found[points == q, 1:] = 0.0  # the point at infinity
        return found

    return Construction(f"Paley frame of GF({q})", (q + 1) // 2, q + 1, 1 / math.sqrt(q), "Paley 1933", generate)


def steiner(v: int, block: int) -> Construction:
    """A Steiner equiangular tight frame: v(r+1) lines in R^{v(v-1)/(K(K-1))} at 1/r, r = (v-1)/(K-1).

    Each point of the design carries a Hadamard simplex on the r blocks that hold it; two points share one block.

    Args:
        v: number of points, with a Hadamard matrix of order r + 1.
        block: K, 2 (all pairs) or 3 (a Steiner triple system).

    Returns:
        The construction.

    Source:
        Fickus, Mixon and Tremain 2012, "Steiner equiangular tight frames".

    Example:
        >>> steiner(4, 2).d, steiner(4, 2).k
        (6, 16)
    """
    r = (v - 1) // (block - 1)
    d = v * r // block

    def generate(indices: Sequence[int]) -> np.ndarray:
        signs, through = hadamard(r + 1)[:, 1:], _blocks_through(v, block)
        point, row = np.divmod(np.asarray(indices, np.int64), r + 1)
        found = np.zeros((len(point), d), np.int8)
        np.put_along_axis(found, through[point], signs[row], axis=1)
        return found

    return Construction(f"Steiner-{block} frame on {v} points", d, v * (r + 1), 1 / r, "Fickus et al. 2012", generate)


def realified_bases(q: int) -> Construction:
    r"""The q + 1 mutually unbiased bases of C^q as {v, iv} in R^{2q}: 2q(q+1) lines at 1/sqrt(q) = sqrt(2/d).

    Vectors :math:`\omega^{Tr(a x^2 + b x)} / \sqrt q` and the standard basis.

    Args:
        q: odd prime power.

    Returns:
        The construction.

    Source:
        Ivanovic 1981; Wootters and Fields 1989.

    Example:
        >>> realified_bases(3).d, realified_bases(3).k
        (6, 24)
    """

    def generate(indices: Sequence[int]) -> np.ndarray:
        gf = field(q)
        index, turned = np.divmod(np.asarray(indices, np.int64), 2)
        a, b = np.divmod(index, q)
        x = np.arange(q)[None, :]
        phase = gf.trace[gf.multiply(a[:, None] % q, gf.multiply(x, x))] + gf.trace[gf.multiply(b[:, None], x)]
        angle = (phase % gf.p) * (2 * math.pi / gf.p)
        found = np.stack([np.cos(angle), np.sin(angle)], axis=2)
        found[a == q] = 0.0
        found[a == q, b[a == q], 0] = 1.0
        rotated = np.stack([-found[..., 1], found[..., 0]], axis=2)
        return np.where(turned[:, None, None] == 1, rotated, found).reshape(len(index), 2 * q)

    k = 2 * q * (q + 1)
    return Construction(f"realified bases of C^{q}", 2 * q, k, 1 / math.sqrt(q), "Wootters and Fields 1989", generate)


def frames(d: int) -> Iterator[Construction]:
    """The largest of each family of this module in dimension <= d: it has both most lines and least coherence."""
    yield orthonormal_basis(d)
    yield simplex(d)
    q = _largest(2 * d - 1, lambda q: q % 4 == 1 and prime_power(q) is not None)
    if q is not None:
        yield paley(q)
    q = _largest(d // 2, lambda q: q % 2 == 1 and prime_power(q) is not None)
    if q is not None:
        yield realified_bases(q)
    v = _largest(_points(d, 2), lambda v: v > 2 and hadamard_exists(v))
    if v is not None:
        yield steiner(v, 2)
    v = _largest(_points(d, 3), lambda v: v > 3 and v % 6 in (1, 3) and hadamard_exists((v + 1) // 2))
    if v is not None:
        yield steiner(v, 3)


def _largest(high: int, holds: Callable[[int], bool]) -> int | None:
    return next((number for number in range(high, 2, -1) if holds(number)), None)


def _points(d: int, block: int) -> int:
    """The largest v with v(v-1) / (K(K-1)) <= d."""
    return (1 + math.isqrt(1 + 4 * d * block * (block - 1))) // 2


def _blocks_through(v: int, block: int) -> np.ndarray:
    """``[v, r]``: the numbers of the blocks that hold each point, ascending."""
    blocks = list(itertools.combinations(range(v), 2)) if block == 2 else steiner_triples(v)
    through: list[list[int]] = [[] for _ in range(v)]
    for number, points in enumerate(blocks):
        for point in points:
            through[point].append(number)
    return np.array(through, np.int64)


def _basis_rows(d: int) -> Callable[[Sequence[int]], np.ndarray]:
    def generate(indices: Sequence[int]) -> np.ndarray:
        found = np.zeros((len(indices), d), np.int8)
        found[np.arange(len(indices)), np.asarray(indices)] = 1
        return found

    return generate
