"""What a construction is: d, k, coherence, and its vectors, all or a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from superjax.core.errors import InputError

Rows = Callable[[Sequence[int]], np.ndarray]


@dataclass(frozen=True)
class Construction:
    r"""An explicit set of k lines in R^d of known coherence.

    Attributes:
        name: family and parameters.
        d: dimension.
        k: number of lines.
        coherence: largest \|cosine\| of the whole set, exact up to float64 rounding.
        source: who found it.
        generate: row numbers to ``[n, D]``; integers where the set has integer coordinates (rows may differ in
            norm), else float64 unit rows. D exceeds d where the integer coordinates span a subspace.
        normals: gives the ``[D - d, D]`` integer vectors orthogonal to the subspace; None where D = d.

    Example:
        >>> from superjax.laws.constructions import simplex
        >>> simplex(3).vectors().shape
        (4, 3)
    """

    name: str
    d: int
    k: int
    coherence: float
    source: str
    generate: Rows = field(repr=False)
    normals: Callable[[], np.ndarray] | None = field(default=None, repr=False)

    def rows(self, indices: Sequence[int]) -> np.ndarray:
        """The unit vectors of these row numbers.

        Args:
            indices: whole numbers in [0, k); k may exceed an int64.

        Returns:
            float64 ``[len(indices), d]``, rows of norm 1 within 1e-15.

        Raises:
            InputError: for a row number outside [0, k).
        """
        if len(indices) and not (min(indices) >= 0 and max(indices) < self.k):
            raise InputError(f"{self.name}: row numbers must lie in [0, {self.k}); got {min(indices)}..{max(indices)}")
        found = self.generate(indices)
        unit = found / np.sqrt(np.sum(np.square(found, dtype=np.float64), axis=1, keepdims=True))
        return unit if self.normals is None else unit @ _complement(self.normals())

    def blocks(self, size: int = 1024, stop: int | None = None) -> Iterator[np.ndarray]:
        """The rows 0 .. stop-1 (default all) as float64 blocks ``[<= size, d]``, for sets too large to hold."""
        stop = self.k if stop is None else stop
        for start in range(0, stop, size):
            yield self.rows(range(start, min(start + size, stop)))

    def vectors(self, k: int | None = None, d: int | None = None) -> np.ndarray:
        """The first k vectors, padded with zeros to R^d.

        Args:
            k: how many, 1 .. self.k; default all.
            d: dimension to pad to, >= self.d; default self.d.

        Returns:
            float64 ``[k, d]`` unit rows, coherence at most that of the set.

        Raises:
            InputError: k or d out of range.
        """
        k, d = self.k if k is None else k, self.d if d is None else d
        if not 1 <= k <= self.k or d < self.d:
            raise InputError(f"{self.name}: holds {self.k} lines in R^{self.d}; asked for {k} in R^{d}")
        padded = np.zeros((k, d))
        for block, rows in enumerate(self.blocks(stop=k)):
            padded[1024 * block : 1024 * block + len(rows), : self.d] = rows
        return padded


def _complement(normals: np.ndarray) -> np.ndarray:
    """An orthonormal basis ``[D, d]`` of what is orthogonal to the normals."""
    basis, _ = np.linalg.qr(normals.T.astype(np.float64), mode="complete")
    return basis[:, len(normals) :]
