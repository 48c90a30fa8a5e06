"""The best explicit construction for a size: every family, subsets and zero-padding allowed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from superjax.core.errors import InputError
from superjax.laws.checks import attained, whole
from superjax.laws.constructions.family import Construction
from superjax.laws.constructions.frames import frames, orthonormal_basis, polygon
from superjax.laws.constructions.latin_square import latin_square_frames
from superjax.laws.constructions.lattices import lattice_lines
from superjax.laws.constructions.quadratic import quadratic_sets
from superjax.laws.constructions.reed_muller import reed_muller_sets


class Built(NamedTuple):
    """The coherence k lines of R^d are known to reach, by name, and the construction that reaches it."""

    value: float
    name: str
    construction: Construction


def best_construction(k: int, d: int) -> Built:
    r"""The explicit construction of least coherence that holds k lines in R^d.

    A construction of k' >= k lines in R^{d'}, d' <= d, serves: its first k vectors, padded with zeros
    (``construction.vectors(k, d)``).

    Args:
        k: number of lines >= 1, any size.
        d: dimension >= 1 (>= 2 for k > 1).

    Returns:
        ``Built(value, name, construction)``: value in [0, 1], 0 for k <= d, 1 only where no float below 1 holds it
        (cos(pi / k) for k > 2e8 lines in the plane). The coherence of the whole construction, an upper bound on that
        of the subset.

    Raises:
        InputError: k or d out of range.

    Source:
        Each family's docstring.

    Example:
        >>> best_construction(32000, 256)[:2]
        (0.0625, 'Kerdock set in R^256')
    """
    k, d = whole("k", k, 1), whole("d", d, 1)
    if d == 1 and k > 1:
        raise InputError(f"k, d: no {k} distinct lines in R^{d}; give k >= 1 and d >= 2")
    if k <= d:
        basis = orthonormal_basis(d)
        return Built(0.0, basis.name, basis)
    serving = (found for found in itertools.chain(constructions(d), [polygon(k)]) if found.k >= k)
    best = min(serving, key=lambda found: (found.coherence, found.k))
    return Built(best.coherence, best.name, best)


def largest_construction(d: int, epsilon: float) -> Construction:
    """The explicit construction with most lines of coherence epsilon in R^d.

    Args:
        d: dimension >= 1.
        epsilon: largest absolute cosine in [0, 1); equality within 1e-12, relatively.

    Returns:
        The construction, at least an orthonormal basis.

    Raises:
        InputError: d < 1 or epsilon outside [0, 1).

    Example:
        >>> largest_construction(4096, 1 / 64).k
        8392704
    """
    d = whole("d", d, 1)
    if not 0 <= epsilon < 1:
        raise InputError(f"epsilon: {epsilon:g} is not inside [0, 1); give an absolute cosine such as .05")
    if d == 1:
        return orthonormal_basis(1)
    allowed = attained(epsilon)
    lines = math.floor(math.pi / math.acos(allowed))
    candidates = itertools.chain(constructions(d), [polygon(lines)] if lines > 2 else [])
    return max((found for found in candidates if found.coherence <= allowed), key=lambda found: found.k)


def constructions(d: int) -> Iterator[Construction]:
    """Every construction in dimension <= d that could be the best for some k, d >= 2.

    Example:
        >>> sorted(found.name for found in constructions(3))
        ['Paley frame of GF(5)', 'cross-polytope axes in R^3', 'simplex in R^3']
    """
    yield from frames(d)
    yield from quadratic_sets(d)
    yield from reed_muller_sets(d)
    yield from lattice_lines(d)
    yield from latin_square_frames(d)
