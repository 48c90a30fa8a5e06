"""Lines of exceptional lattices: E6, E7, E8, Barnes-Wall, Leech, and the 276 and 2300 lines inside Leech."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from superjax.laws.constructions.family import Construction


def root_lines(rank: int) -> Construction:
    """The lines of the root system E6 (36), E7 (63) or E8 (120), at 1/2.

    E7 is what of E8 is orthogonal to a root, E6 what is orthogonal to two roots at 120 degrees.

    Args:
        rank: 6, 7 or 8.

    Source:
        Conway and Sloane 1999, chapter 4.

    Example:
        >>> root_lines(7).k
        63
    """
    k = {6: 36, 7: 63, 8: 120}[rank]
    normals = ((1, -1, 0, 0, 0, 0, 0, 0), (0, 1, -1, 0, 0, 0, 0, 0))[: 8 - rank]
    source = "Conway and Sloane 1999"
    return Construction(
        f"E{rank} roots", rank, k, 0.5, source, _lazy(_roots, normals), (lambda: np.array(normals)) if normals else None
    )


def barnes_wall() -> Construction:
    """The 2160 lines of the Barnes-Wall lattice in R^16, at 1/2.

    Source:
        Barnes and Wall 1959; Conway and Sloane 1999, section 4.10.

    Example:
        >>> barnes_wall().vectors().shape
        (2160, 16)
    """
    return Construction("Barnes-Wall lines in R^16", 16, 2160, 0.5, "Barnes and Wall 1959", _lazy(_barnes_wall))


def leech() -> Construction:
    """The 98280 lines of the Leech lattice's shortest vectors, in R^24 at 1/2.

    Source:
        Leech 1967; Conway and Sloane 1999, section 4.11.

    Example:
        >>> leech().k
        98280
    """
    return Construction("Leech lattice lines in R^24", 24, 98280, 0.5, "Leech 1967", _lazy(_leech))


def lines_2300() -> Construction:
    """The 2300 lines of R^23 at 1/3: Leech's shortest vectors at 60 degrees from one, seen along it.

    Source:
        Delsarte, Goethals and Seidel 1977.

    Example:
        >>> lines_2300().d, lines_2300().k
        (23, 2300)
    """
    apex = (4, 4, *(0,) * 22)
    source = "Delsarte et al. 1977"
    return Construction(
        "2300 lines in R^23", 23, 2300, 1 / 3, source, _lazy(_leech_halo, apex), lambda: np.array([apex])
    )


def lines_276() -> Construction:
    """The 276 equiangular lines of R^23 at 1/5: the pairs of Leech's shortest vectors that sum to one of norm 6.

    Source:
        Goethals and Seidel 1975.

    Example:
        >>> lines_276().d, lines_276().k
        (23, 276)
    """
    total = (5, *(1,) * 23)  # (-3, 1, ..., 1) + (8, 0, ..., 0), of norm 6 where the shortest have norm 4
    source = "Goethals and Seidel 1975"
    return Construction(
        "276 equiangular lines in R^23", 23, 276, 0.2, source, _lazy(_leech_halo, total), lambda: np.array([total])
    )


def lattice_lines(d: int) -> Iterator[Construction]:
    """Every set of this module in dimension <= d."""
    yield from (root_lines(rank) for rank in (6, 7, 8) if rank <= d)
    if d >= 16:
        yield barnes_wall()
    if d >= 23:
        yield lines_276()
        yield lines_2300()
    if d >= 24:
        yield leech()


def _lazy(maker: Callable[..., np.ndarray], *arguments: object) -> Callable[..., np.ndarray]:
    return lambda indices: maker(*arguments)[np.asarray(indices, np.int64)]


def _fixed(normals: tuple[tuple[int, ...], ...]) -> Callable[[], np.ndarray] | None:
    return (lambda: np.array(normals)) if normals else None


@cache
def _roots(normals: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """E8 in doubled coordinates, one of each pair +-v, orthogonal to the normals."""
    integral = [_placed(8, pair, signs) for pair in itertools.combinations(range(8), 2) for signs in _signs(2, 2)]
    half = [np.array(signs) for signs in itertools.product((1, -1), repeat=8) if np.prod(signs) == 1]
    roots = _one_of_each(np.array([*integral, *half]))
    orthogonal = np.array([roots @ np.array(normal) == 0 for normal in normals])
    return roots[orthogonal.all(axis=0)] if normals else roots


@cache
def _barnes_wall() -> np.ndarray:
    """(+-2^2, 0^14), and +-1 with an even number of minus signs on the weight-8 words of Reed and Muller's RM(1,4)."""
    pairs = [_placed(16, pair, signs) for pair in itertools.combinations(range(16), 2) for signs in _signs(2, 2)]
    x = np.arange(16)
    words = [np.bitwise_count(x & a) & 1 for a in range(1, 16)]
    supports = [np.flatnonzero(word == side) for word in words for side in (0, 1)]
    eights = [_placed(16, support, signs) for support in supports for signs in _signs(8, 1) if np.prod(signs) > 0]
    return _one_of_each(np.array([*pairs, *eights]))


@cache
def _leech() -> np.ndarray:
    """The shortest vectors times sqrt(8), one of each pair: shapes (-+3, +-1^23), (+-2^8, 0^16), (+-4^2, 0^22)."""
    golay = _golay()
    flipped = np.repeat(1 - 2 * golay[:, None, :], 24, axis=1)
    flipped[:, np.arange(24), np.arange(24)] *= -3
    octads = [np.flatnonzero(word) for word in golay if word.sum() == 8]
    even = np.array([signs for signs in _signs(8, 2) if np.sign(signs).prod() > 0])
    eights = np.zeros((len(octads), len(even), 24), np.int64)
    for number, octad in enumerate(octads):
        eights[number][:, octad] = even
    pairs = [_placed(24, pair, signs) for pair in itertools.combinations(range(24), 2) for signs in _signs(2, 4)]
    return _one_of_each(np.concatenate([flipped.reshape(-1, 24), eights.reshape(-1, 24), np.array(pairs)]))


@cache
def _leech_halo(apex: tuple[int, ...]) -> np.ndarray:
    """2v - apex for the shortest v with 2 <v, apex> = <apex, apex>: orthogonal to the apex, one of each pair."""
    target = np.array(apex)
    shortest = np.concatenate([_leech(), -_leech()])
    return _one_of_each(2 * shortest[2 * (shortest @ target) == target @ target] - target)


def _golay() -> np.ndarray:
    """The 4096 words of the extended binary Golay code: multiples of a factor of x^23 - 1, and a parity bit."""
    factor = np.zeros(23, np.int64)
    factor[[0, 1, 5, 6, 7, 9, 11]] = 1
    generators = np.array([np.roll(factor, shift) for shift in range(12)])
    words = (np.arange(4096)[:, None] >> np.arange(12) & 1) @ generators % 2
    return np.concatenate([words, words.sum(axis=1, keepdims=True) % 2], axis=1)


def _placed(length: int, places: object, values: object) -> np.ndarray:
    found = np.zeros(length, np.int64)
    found[list(places)] = values  # type: ignore[call-overload]
    return found


def _signs(count: int, size: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((size, -size), repeat=count)


def _one_of_each(vectors: np.ndarray) -> np.ndarray:
    """The vectors whose first nonzero coordinate is positive."""
    first = np.take_along_axis(vectors, np.argmax(vectors != 0, axis=1)[:, None], axis=1)[:, 0]
    return vectors[first > 0]
