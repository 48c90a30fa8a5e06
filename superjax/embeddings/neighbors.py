"""Nearest rows by cosine, and the rows that are most often someone's nearest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superjax.core.reducers import NearestRows


@dataclass(frozen=True)
class Neighbors:
    """Each row's K nearest other rows.

    Attributes:
        index: [V, K] int64 rows of the original matrix, nearest first; -1 where there is none (rows left out of
            the pairs, or fewer than K other rows).
        cosine: [V, K] float32; NaN where `index` is -1.
        hubness: [V] int64, for how many rows this row is the nearest.
    """

    index: np.ndarray
    cosine: np.ndarray
    hubness: np.ndarray

    def hubs(self, number: int) -> np.ndarray:
        """The `number` rows that are most often someone's nearest neighbour, most frequent first, [<= number] int64.

        Rows that are nobody's nearest are not listed; ties go to the lower row.

        Example:
            >>> nearest = NearestRows(np.array([[0.6], [0.8], [0.8]]), np.array([[1], [2], [1]]))
            >>> gather_neighbors(nearest, kept=np.arange(3), vocab=3).hubs(2).tolist()
            [1, 2]
        """
        order = np.argsort(-self.hubness, kind="stable")[:number]
        return order[self.hubness[order] > 0]


def gather_neighbors(nearest: NearestRows, kept: np.ndarray, vocab: int) -> Neighbors:
    """Neighbours among the kept rows, renumbered as rows of the original matrix.

    Args:
        nearest: [used, K] values and indices among the kept rows.
        kept: [used] int64, original row of each kept row.
        vocab: V.
    """
    number = nearest.row.shape[1]
    index = np.full((vocab, number), -1, np.int64)
    cosine = np.full((vocab, number), np.nan, np.float32)
    found = nearest.row >= 0
    index[kept] = np.where(found, kept[nearest.row] if len(kept) else -1, -1)
    cosine[kept] = np.where(found, np.clip(nearest.value, -1.0, 1.0), np.nan)
    first = index[:, 0]
    return Neighbors(index, cosine, np.bincount(first[first >= 0], minlength=vocab))
