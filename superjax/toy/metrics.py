"""The geometry of a trained model: which features it represents, and how their directions overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from superjax.core.pairwise import Tile, Tree, stream_pairs
from superjax.core.reducers import Histogram, Together
from superjax.core.reducers import TotalsOnly as NoRows
from superjax.toy.theory import random_overlap_moments, welch_overlap

BINS = 100
"""Of the counts of cosines; even, so that a cosine of 0 falls into the bin [BINS // 2]."""


@dataclass(frozen=True)
class Overlaps:
    """Cosines between all pairs of some rows of W.

    Attributes:
        rows: nu, number of rows.
        mean: mean of cos^2 over pairs; NaN for fewer than two rows.
        variance: variance of cos^2 over pairs.
        variance_ratio: variance over that of random directions, 2 (m - 1) / (m^2 (m + 2)); NaN for m = 1.
        welch: kappa^2, the least mean that nu directions in m dimensions can have.
        counts: [BINS] int64, pairs by their cosine, in equal bins over [-1, 1].
    """

    rows: int
    mean: float
    variance: float
    variance_ratio: float
    welch: float
    counts: np.ndarray


@dataclass(frozen=True)
class Geometry:
    """What a model's W says about superposition.

    Attributes:
        norms: [n] float64 ||W_i||.
        phi_half: share of features with norm above 1/2, the represented ones.
        phi_one: share of features with norm above 1, the strongly represented ones.
        overlaps: of all rows that are not zero.
        strong_overlaps: of the rows with norm above 1.
        ambiguity: spectral norm of W W^T - diag(1 for the m most frequent features, 0 for others).
        dimensionality: [n] float64, D_i = ||W_i||^2 / sum_j (W_i . W_j)^2 ||W_i||^-2; 0 for a zero row.
        dimensions_per_feature: D* = m / ||W||_F^2; infinite for W = 0.
    """

    norms: np.ndarray
    phi_half: float
    phi_one: float
    overlaps: Overlaps
    strong_overlaps: Overlaps
    ambiguity: float
    dimensionality: np.ndarray
    dimensions_per_feature: float


def geometry(W: np.ndarray | jax.Array, probabilities: np.ndarray | None = None) -> Geometry:
    r"""Norms, overlaps, ambiguity and feature dimensionalities of W.

    .. math:: D_i = \frac{\|W_i\|^2}{\sum_j (\hat W_i \cdot W_j)^2}, \qquad D^* = \frac{m}{\|W\|_F^2}

    Args:
        W: [n, m] finite.
        probabilities: [n], tells the most frequent features for the ambiguity; the first ones by default.

    Returns:
        The geometry; sums in float64 but for the pairs' squared cosines, which are float32 summed by tiles.

    Source:
        Elhage et al. 2022 (D_i, D*); Liu, Liu and Gore 2025, arXiv 2505.10465 (phi, overlaps, ambiguity).

    Example:
        >>> pentagon = 2 * np.pi * np.arange(5) / 5
        >>> found = geometry(np.stack([np.cos(pentagon), np.sin(pentagon)], axis=1))
        >>> found.phi_half, found.dimensionality.round(4).tolist(), round(found.overlaps.mean, 4)
        (1.0, [0.4, 0.4, 0.4, 0.4, 0.4], 0.375)
    """
    rows = np.asarray(W, np.float64)
    norms = np.linalg.norm(rows, axis=1)
    safe = np.where(norms > 0, norms, 1.0)
    unit = rows / safe[:, None]
    return Geometry(
        norms=norms,
        phi_half=float((norms > 0.5).mean()),
        phi_one=float((norms > 1).mean()),
        overlaps=_overlaps(unit, norms > 0),
        strong_overlaps=_overlaps(unit, norms > 1),
        ambiguity=_ambiguity(rows, probabilities),
        dimensionality=_dimensionality(rows, unit),
        dimensions_per_feature=float(rows.shape[1] / (norms**2).sum()) if norms.any() else float("inf"),
    )


def _dimensionality(rows: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """D_i through the m x m Gram matrix: sum_j (u_i . W_j)^2 = u_i^T (W^T W) u_i."""
    shared = np.einsum("ia,ab,ib->i", unit, rows.T @ rows, unit, optimize=True)
    squares = (rows**2).sum(axis=1)
    return np.divide(squares, shared, out=np.zeros_like(squares), where=shared > 0)


def _ambiguity(rows: np.ndarray, probabilities: np.ndarray | None) -> float:
    """Largest |eigenvalue| of W W^T - P P^T, from the 2m x 2m core of its range."""
    n, m = rows.shape
    order = np.arange(n) if probabilities is None else np.argsort(-np.asarray(probabilities), kind="stable")
    ideal = np.zeros((n, m))
    ideal[order[:m], np.arange(m)] = 1
    _, R = np.linalg.qr(np.concatenate([rows, ideal], axis=1))
    signs = np.repeat([1.0, -1.0], m)
    return float(np.abs(np.linalg.eigvalsh((R * signs) @ R.T)).max())


def _overlaps(unit: np.ndarray, chosen: np.ndarray) -> Overlaps:
    """Moments of cos^2 and counts over pairs of the chosen rows.

    The other rows are set to zero: sums do not see them, their pairs are taken out of the bin of cosine 0, and all
    choices among the rows of W share one compiled program.
    """
    number, m = int(chosen.sum()), unit.shape[1]
    pairs = number * (number - 1) // 2
    if not pairs:
        nothing = float("nan")
        return Overlaps(number, nothing, nothing, nothing, nothing, np.zeros(BINS, np.int64))
    rows = np.where(chosen[:, None], unit, 0.0).astype(np.float32)
    (sums, counts), _ = stream_pairs(rows, Together((_SquareSums(), Histogram(BINS))))
    counts = counts.copy()
    counts[BINS // 2] -= len(rows) * (len(rows) - 1) // 2 - pairs
    mean = float(sums.squares) / pairs
    variance = max(float(sums.fourths) / pairs - mean**2, 0.0)
    random_variance = random_overlap_moments(m)[1]
    ratio = variance / random_variance if random_variance else float("nan")
    return Overlaps(number, mean, variance, ratio, welch_overlap(number, m), counts)


class _Sums(NamedTuple):
    squares: jax.Array
    fourths: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _SquareSums(NoRows):
    """Sums of squares and of fourth powers of the inner products of all pairs."""

    def empty(self) -> _Sums:
        return _Sums(jnp.float32(0), jnp.float32(0))

    def merge(self, a: _Sums, b: _Sums, xp: Any) -> _Sums:
        return _Sums(a.squares + b.squares, a.fourths + b.fourths)

    def tile(self, tile: Tile) -> tuple[Tree, Tree, Tree]:
        squares = jnp.where(tile.mask, tile.gram**2, 0.0)
        # By rows first: a float32 sum of a million terms in one go would lose digits.
        return _Sums(squares.sum(axis=1).sum(), (squares**2).sum(axis=1).sum()), (), ()
