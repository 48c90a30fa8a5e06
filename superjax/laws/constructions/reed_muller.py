"""Reed-Muller sets of order three and more: very many lines at coherence 3/4, 7/8, ..."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from superjax.laws.constructions.family import Construction

_MOST_BITS = 4096  # longer counts are slow to handle and say nothing


def reed_muller(m: int, order: int) -> Construction:
    """Signs of the polynomials of degree <= s over GF(2)^m, constant term left out: lines at 1 - 2^{1-s} in R^{2^m}.

    Two codewords differ in at least 2^{m-s} places and agree in as many.

    Args:
        m: number of variables, > s.
        order: s >= 1; orders up to 2 are contained in the sets of quadratic forms.

    Returns:
        The construction, 2^{C(m,1) + ... + C(m,s)} lines.

    Source:
        Muller 1954; Reed 1954; MacWilliams and Sloane 1977, chapter 13.

    Example:
        >>> reed_muller(4, 3).k, reed_muller(4, 3).coherence
        (16384, 0.75)
    """
    d, degrees = 2**m, range(1, order + 1)

    def generate(indices: Sequence[int]) -> np.ndarray:
        monomials = [chosen for degree in degrees for chosen in itertools.combinations(range(m), degree)]
        bits = np.arange(d)[:, None] >> np.arange(m) & 1
        values = np.stack([bits[:, chosen].prod(axis=1) for chosen in monomials])
        places = range(len(monomials))
        coefficients = np.array([[int(index) >> place & 1 for place in places] for index in indices], np.int64)
        return (1 - 2 * (coefficients.reshape(-1, len(monomials)) @ values & 1)).astype(np.int8)

    k = 2 ** sum(math.comb(m, degree) for degree in degrees)
    name = f"Reed-Muller set of order {order} in R^{d}"
    return Construction(name, d, k, 1 - 2.0 ** (1 - order), "Muller 1954", generate)


def reed_muller_sets(d: int) -> Iterator[Construction]:
    """Orders 3 .. m-1 in every dimension 2^m <= d, as far as k stays below 2^4096."""
    for m in range(4, d.bit_length()):
        bits = math.comb(m, 1) + math.comb(m, 2)
        for order in range(3, m):
            bits += math.comb(m, order)
            if bits > _MOST_BITS:
                break
            yield reed_muller(m, order)
