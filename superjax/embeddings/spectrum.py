"""The cosine spectrum of a matrix: exact counts of all pairwise cosines, their moments, and epsilon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jax import lax
from jax.sharding import Mesh

from superjax.core.errors import InputError
from superjax.core.pairwise import Precision, stream_pairs
from superjax.core.reducers import Extremes, Histogram, Nearest, Reducer, Together
from superjax.embeddings.moments import CosineMoments
from superjax.embeddings.neighbors import Neighbors, gather_neighbors
from superjax.embeddings.rows import RowReport, UnitRows, unit_rows


@dataclass(frozen=True)
class Spectrum:
    """The distribution of cosines over all unordered pairs of distinct usable rows of a matrix [V, d].

    Attributes:
        counts: [K] int64 pairs in each bin; sums to `pairs`. [0] when ``bins=0``.
        edges: [K + 1] float64 from -1 to 1; the last bin is closed. [0] when ``bins=0``.
        moments: number of pairs, mean and standard deviation, from float64 and not from the bins.
        rows: what was counted and left out.
        norms: [V] float64 row lengths as given.
        dim: d.
        centered: whether the mean row was subtracted first.
        min_cosine: smallest cosine, None when the pairs were not visited or there are none.
        max_cosine: largest cosine, likewise.
        neighbors: nearest rows, None unless asked for.
    """

    counts: np.ndarray
    edges: np.ndarray
    moments: CosineMoments
    rows: RowReport
    norms: np.ndarray
    dim: int
    centered: bool
    min_cosine: float | None
    max_cosine: float | None
    neighbors: Neighbors | None

    @property
    def pairs(self) -> int:
        """Unordered pairs of usable rows, used (used - 1) / 2."""
        return self.moments.pairs

    @property
    def mean(self) -> float:
        """Mean cosine; NaN when there is no pair."""
        return self.moments.mean

    @property
    def std(self) -> float:
        """Population standard deviation of the cosines; NaN when there is no pair."""
        return self.moments.std

    @property
    def epsilon(self) -> float:
        """Accepted deviation, mean + 2 std (Guha 2026, section 3)."""
        return self.mean + 2 * self.std

    @property
    def mean_sq_overlap(self) -> float:
        """Mean squared cosine; 1 / d for random directions, as small as the Welch value for a tight frame."""
        return self.moments.mean_sq_overlap

    def quantile(self, q: float | np.ndarray) -> np.ndarray:
        """Cosine below which a share `q` in [0, 1] of the pairs lies, linear within a bin: right to a bin's width.

        Raises:
            InputError: when there is no histogram, or `q` is outside [0, 1].

        Example:
            >>> cosine_spectrum(np.eye(4), bins=4).quantile(0.5).tolist()
            0.25
        """
        share = np.asarray(q, dtype=np.float64)
        if not self.pairs or not len(self.counts):
            raise InputError("quantile: there is no histogram; use bins of at least 1 and two usable rows")
        if not bool(np.all((share >= 0) & (share <= 1))):
            raise InputError(f"quantile: q is {q}, must lie in [0, 1]")
        below = np.concatenate([[0], np.cumsum(self.counts)])
        wanted = share * self.pairs
        place = np.clip(np.searchsorted(below, wanted, side="left") - 1, 0, len(self.counts) - 1)
        # A share of 0 starts at the first bin that holds a pair.
        place = np.maximum(place, int(np.flatnonzero(self.counts)[0]))
        within = (wanted - below[place]) / np.maximum(self.counts[place], 1)
        return self.edges[place] + within * np.diff(self.edges)[place]


def cosine_spectrum(
    x: np.ndarray,
    *,
    bins: int = 2000,
    center: bool = False,
    neighbors: int = 0,
    vocab_limit: int | None = None,
    mesh: Mesh | None = None,
    block: int | None = None,
    precision: Precision = lax.Precision.HIGHEST,
    on_progress: Callable[[int, int], None] | None = None,
) -> Spectrum:
    """Exact histogram and moments of the cosines of all pairs of rows of `x`.

    cos_ij = u_i . u_j with u = x / |x|, for i < j. Rows are normalised in float64 on the host; the products
    are float32, tile by tile over the devices of `mesh`; mean and standard deviation come from float64 sums
    over rows (`MomentSums`) and do not depend on the tiles.

    Args:
        x: [V, d] NumPy or JAX array of any floating dtype. Zero and non-finite rows are left out and counted.
        bins: K, histogram bins over [-1, 1]; 0 skips the pairs and leaves the moments.
        center: subtract the mean row first, which removes the common direction of most embeddings.
        neighbors: K nearest rows to find for each row; needs the pairs.
        vocab_limit: use only the first rows, where the rest pads the vocabulary.
        mesh: devices; the first local one by default.
        block: rows in a tile; chosen by default. Never changes a total.
        precision: of the Gram product, ``"highest"`` (float32), ``"high"`` or ``"default"``.
        on_progress: called with (tiles done, tiles in all).

    Returns:
        A `Spectrum`; its counts sum to exactly V' (V' - 1) / 2 for V' usable rows.

    Raises:
        InputError: when `x` is not a matrix of numbers, or an option is out of range.

    Note:
        A float32 product of unit rows is off by up to 2^-21, so a pair that near a bin's edge may be
        counted one bin further.

    Source:
        Guha 2026 (arXiv 2606.02765) section 3 for epsilon.

    Example:
        >>> spectrum = cosine_spectrum(np.array([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]), bins=2)
        >>> spectrum.counts.tolist(), spectrum.pairs, round(spectrum.mean, 4)
        ([1, 2], 3, -0.3333)
    """
    x = np.asarray(x)
    _check(bins, neighbors, vocab_limit, block, len(x))
    neighbors = min(neighbors, max(1, len(x[:vocab_limit]) - 1)) if neighbors else 0
    visit_pairs = bins > 0 or neighbors > 0
    rows = unit_rows(x[:vocab_limit], center=center, keep=visit_pairs)
    totals: tuple = ()
    values: tuple = ()
    if visit_pairs:
        reducers: tuple[Reducer, ...] = (Extremes(),)
        reducers += (Histogram(bins),) if bins else ()
        reducers += (Nearest(neighbors),) if neighbors else ()
        totals, values = stream_pairs(
            rows.unit, Together(reducers), mesh=mesh, block=block, precision=precision, on_progress=on_progress
        )
    counts = totals[1] if bins else np.zeros(0, np.int64)
    if bins and counts.sum() != rows.moments.pairs:
        raise RuntimeError(f"counted {counts.sum()} pairs of {rows.moments.pairs}; please report this as a bug")
    ends = totals[0] if rows.moments.pairs and visit_pairs else None
    return Spectrum(
        counts=counts,
        edges=np.linspace(-1.0, 1.0, bins + 1) if bins else np.zeros(0),
        moments=rows.moments,
        rows=rows.report,
        norms=rows.norms,
        dim=x.shape[1],
        centered=center,
        min_cosine=None if ends is None else float(np.clip(ends.smallest, -1, 1)),
        max_cosine=None if ends is None else float(np.clip(ends.largest, -1, 1)),
        neighbors=_neighbors(rows, values[-1]) if neighbors else None,
    )


def _neighbors(rows: UnitRows, values: tuple) -> Neighbors:
    return gather_neighbors(values, rows.kept, rows.report.vocab)  # type: ignore[arg-type]


def _check(bins: int, neighbors: int, vocab_limit: int | None, block: int | None, vocab: int) -> None:
    if bins < 0:
        raise InputError(f"bins is {bins}; use 0 to skip the pairs, or a positive number")
    if neighbors < 0:
        raise InputError(f"neighbors is {neighbors}; use a positive number, or 0 for none")
    if block is not None and block < 1:
        raise InputError(f"block is {block}; use at least 1 row a tile, or leave it out")
    if vocab_limit is not None and not 1 <= vocab_limit <= vocab:
        raise InputError(f"vocab_limit is {vocab_limit}, the matrix has {vocab} rows; use 1 to {vocab}")
