"""Mean and standard deviation of all pairwise cosines without visiting a pair: V d^2 work, float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CosineMoments:
    """Moments of the cosines of all unordered pairs of distinct rows.

    Attributes:
        pairs: V (V - 1) / 2.
        mean: mean cosine, NaN when there is no pair.
        std: population standard deviation (divisor `pairs`), NaN when there is no pair.
    """

    pairs: int
    mean: float
    std: float

    @property
    def mean_sq_overlap(self) -> float:
        """Mean squared cosine, mean^2 + std^2."""
        return self.mean**2 + self.std**2


def moments_of_few(unit: np.ndarray, block: int = 1024) -> CosineMoments:
    """The moments from the cosines themselves, tile by tile in float64: V^2 d / 2 work, for V < d less than V d^2.

    Args:
        unit: [V, d] float64 unit rows.
        block: rows in a tile.

    Example:
        >>> moments_of_few(np.eye(3))
        CosineMoments(pairs=3, mean=0.0, std=0.0)
    """
    pairs, mean, squares = 0, 0.0, 0.0
    for start in range(0, len(unit), block):
        left = unit[start : start + block]
        for other in range(start, len(unit), block):
            cosines = left @ unit[other : other + block].T
            met = cosines[np.triu_indices(len(left), 1)] if other == start else cosines.ravel()
            if not len(met):
                continue
            there = met.mean()
            share = len(met) / (pairs + len(met))
            squares += ((met - there) ** 2).sum() + (there - mean) ** 2 * pairs * share
            mean += (there - mean) * share
            pairs += len(met)
    if not pairs:
        return CosineMoments(0, float("nan"), float("nan"))
    return CosineMoments(pairs, float(mean), float(np.sqrt(squares / pairs)))


class MomentSums:
    """Running sums over unit rows u that give the moments of all u_i . u_j, i < j.

    With a fixed centre c, w = u - c and a = c . w, every cosine is

        u_i . u_j = |c|^2 + t_ij,    t_ij = a_i + a_j + w_i . w_j.

    With S = sum w, A = sum a and q = |w|^2, sums over ordered pairs i != j are

        sum t   = 2 (V - 1) A + |S|^2 - sum q
        sum t^2 = 2 (V - 1) sum a^2 + 2 (A^2 - sum a^2) + ||W^T W||_F^2 - sum q^2 + 4 sum a (w . S - q),

    so V d^2 multiply-adds replace V^2 d. For c = 0 this is |sum u|^2 - V and ||U^T U||_F^2 - V. With c near the
    mean row nothing large is subtracted, however much the mean cosine exceeds the spread.

    Args:
        centre: c, [d] float64; any value is right, one near the mean unit row is accurate.

    Example:
        >>> sums = MomentSums(np.zeros(2))
        >>> sums.add(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
        >>> sums.result()
        CosineMoments(pairs=3, mean=-0.333..., std=0.471...)
    """

    def __init__(self, centre: np.ndarray) -> None:
        dim = len(centre)
        self._centre = centre
        self._rows = 0
        self._gram = np.zeros((dim, dim))
        self._row_sum = np.zeros(dim)
        self._weighted_row_sum = np.zeros(dim)
        self._a = self._a_squared = self._a_q = self._q = self._q_squared = 0.0

    def add(self, unit: np.ndarray) -> None:
        """Add unit rows [B, d], float64."""
        w = unit - self._centre
        a = w @ self._centre
        q = np.einsum("ij,ij->i", w, w)
        self._rows += len(w)
        self._gram += w.T @ w
        self._row_sum += w.sum(axis=0)
        self._weighted_row_sum += a @ w
        self._a += a.sum()
        self._a_squared += a @ a
        self._a_q += a @ q
        self._q += q.sum()
        self._q_squared += q @ q

    def result(self) -> CosineMoments:
        """The moments of the rows added so far."""
        rows = self._rows
        pairs = rows * (rows - 1) // 2
        if not pairs:
            return CosineMoments(0, float("nan"), float("nan"))
        others = 2 * (rows - 1)
        first = others * self._a + self._row_sum @ self._row_sum - self._q
        second = (
            others * self._a_squared
            + 2 * (self._a**2 - self._a_squared)
            + np.vdot(self._gram, self._gram)
            - self._q_squared
            + 4 * (self._weighted_row_sum @ self._row_sum - self._a_q)
        )
        mean = first / (2 * pairs)
        variance = second / (2 * pairs) - mean**2
        cosine = float(self._centre @ self._centre + mean)
        return CosineMoments(pairs, cosine, float(np.sqrt(np.maximum(variance, 0.0))))
