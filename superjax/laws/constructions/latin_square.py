r"""The two equiangular tight frames of 36 lines that the cells of a Latin square of order 6 carry, in R^15 and R^21.

Call two of the 36 cells adjacent when they share row, column or symbol. That graph A is strongly regular, and
:math:`S = J - I - 2A` has the eigenvalues 5 (21 times) and -7 (15 times), so :math:`I - S/5` and :math:`I + S/7` are
the Gram matrices of 36 lines in R^15 and, complementary to it, in R^21. Random starts were not seen to find either.
Another even order n gives n^2 lines from n/2 - 2 orthogonal squares; where those are known, Steiner frames serve too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from superjax.laws.constructions.family import Construction

_ORDER = 6


def latin_square_lines() -> Construction:
    """36 lines in R^15 at 1/5, Welch's bound: each cell joins the simplex vertices of its row, column and symbol.

    Returns:
        The construction.

    Source:
        Bush 1953 (Latin square graphs); Seidel 1976 (two-graphs and equiangular lines).

    Example:
        >>> latin_square_lines().vectors().shape
        (36, 15)
    """

    def generate(indices: Sequence[int]) -> np.ndarray:
        return _ORDER * _classes()[np.asarray(indices, np.int64)] - 1

    def normals() -> np.ndarray:
        return np.kron(np.eye(3, dtype=np.int64), np.ones(_ORDER, np.int64))

    return Construction("Latin square frame in R^15", 15, 36, 1 / 5, "Seidel 1976", generate, normals)


def latin_square_complement() -> Construction:
    """36 lines in R^21 at 1/7, Welch's bound: what the Latin square's lines in R^15 leave of R^36.

    Returns:
        The construction.

    Source:
        Seidel 1976; the complement of a tight frame is Naimark's.

    Example:
        >>> latin_square_complement().vectors().shape
        (36, 21)
    """

    def generate(indices: Sequence[int]) -> np.ndarray:
        cells, classes = np.asarray(indices, np.int64), _classes()
        return 2 * _ORDER * np.eye(_ORDER**2, dtype=np.int64)[cells] + 1 - 2 * classes[cells] @ classes.T

    def normals() -> np.ndarray:
        each = _classes().T.reshape(3, _ORDER, -1)
        return (each[:, 1:] - each[:, :1]).reshape(-1, _ORDER**2)

    return Construction("Latin square frame in R^21", 21, 36, 1 / 7, "Seidel 1976", generate, normals)


def latin_square_frames(d: int) -> Iterator[Construction]:
    """Those of the two in dimension <= d."""
    if d >= 15:
        yield latin_square_lines()
    if d >= 21:
        yield latin_square_complement()


def _classes() -> np.ndarray:
    """``[36, 18]``: of every cell of the cyclic square, its row, its column and its symbol, as 0 and 1."""
    row, column = np.divmod(np.arange(_ORDER**2), _ORDER)
    one = np.eye(_ORDER, dtype=np.int64)
    return np.concatenate([one[row], one[column], one[(row + column) % _ORDER]], axis=1)
