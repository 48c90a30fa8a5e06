"""Rows made ready on the host in float64: counted, normalised, optionally centred, and their moments summed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from superjax.core.errors import InputError
from superjax.embeddings.moments import CosineMoments, MomentSums, moments_of_few

ROWS_PER_BLOCK = 1024
"""Rows upcast to float64 at a time: small enough for a cache, large enough for a matrix product."""

CENTRED_TO_NOTHING = 1e-12
"""A centred row shorter than this share of its own length holds only rounding, and counts as zero."""


@dataclass(frozen=True)
class RowReport:
    """What was found in the rows of a matrix [V, d] before any cosine was taken.

    Attributes:
        vocab: V, rows looked at.
        used: rows that take part in pairs: finite and not zero.
        zero: rows of length zero (after centring, if that was asked for); left out.
        nonfinite: rows with a NaN or an infinity; left out.
        duplicate: finite rows bit-equal to an earlier one (``-0.0`` equals ``0.0``); they take part.
        norm_mean: mean Euclidean length of the finite rows as given, NaN when there is none.
        norm_std: population standard deviation of those lengths.
        norm_min: smallest of those lengths; above 0 every row is represented.
        norm_max: largest of those lengths.
    """

    vocab: int
    used: int
    zero: int
    nonfinite: int
    duplicate: int
    norm_mean: float
    norm_std: float
    norm_min: float
    norm_max: float


@dataclass(frozen=True)
class UnitRows:
    """Rows ready for the tile engine.

    Attributes:
        unit: [used, d] float32 unit rows; [0, d] when only moments were asked for.
        kept: [used] int64, the row of the original matrix that each unit row came from.
        norms: [V] float64 lengths of the rows as given, NaN or inf where not finite.
        report: what was counted.
        moments: moments of all pairwise cosines of the used rows, in float64.
    """

    unit: np.ndarray
    kept: np.ndarray
    norms: np.ndarray
    report: RowReport
    moments: CosineMoments


def unit_rows(x: np.ndarray, *, center: bool = False, keep: bool = True) -> UnitRows:
    """Normalise the rows of `x` in float64, leave out zero and non-finite ones, and sum the cosines' moments.

    Args:
        x: [V, d] array of any floating dtype, float16 and bfloat16 among them.
        center: subtract the mean of the finite rows first.
        keep: also return the unit rows; without it only O(d^2) memory is needed beside `x`.

    Returns:
        The rows, and everything that can be said without looking at pairs.

    Raises:
        InputError: when `x` is not a [V, d] matrix of floating numbers.

    Example:
        >>> rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, 1.0]]))
        >>> rows.unit.tolist(), rows.report.zero, rows.report.nonfinite
        ([[0.6..., 0.8...]], 1, 1)
    """
    x = _matrix(x)
    vocab, dim = x.shape
    mean = _mean_row(x) if center else None
    sums = None if vocab <= max(dim, ROWS_PER_BLOCK) else MomentSums(_typical_direction(x, mean))
    few: list[np.ndarray] = [np.empty((0, dim))]
    norms = np.empty(vocab)
    usable = np.zeros(vocab, bool)
    unit = np.empty((vocab if keep else 0, dim), np.float32)
    used = 0
    for start, rows in float64_blocks(x):
        lengths, directions, usable_here = directions_of(rows, mean)
        norms[start : start + len(rows)] = lengths
        usable[start : start + len(rows)] = usable_here
        if not usable_here.all():
            directions = directions[usable_here]
        if keep:
            unit[used : used + len(directions)] = directions
        used += len(directions)
        if sums is None:
            few.append(directions)
        else:
            sums.add(directions)
    moments = moments_of_few(np.concatenate(few), ROWS_PER_BLOCK) if sums is None else sums.result()
    return UnitRows(unit[:used], np.flatnonzero(usable), norms, _report(x, norms, used), moments)


def count_duplicates(x: np.ndarray) -> int:
    """How many rows of `x` [V, d] equal an earlier row, exactly and in O(V) memory beside `x`.

    Example:
        >>> count_duplicates(np.array([[1.0, 0.0], [1.0, -0.0], [2.0, 0.0]]))
        1
    """
    weights = np.random.default_rng(0).integers(1, 2**63, size=x.shape[1], dtype=np.uint64) | np.uint64(1)
    prints = np.empty(len(x), np.uint64)
    for start, rows in float64_blocks(x):
        prints[start : start + len(rows)] = (rows + 0.0).view(np.uint64) @ weights
    order = np.argsort(prints, kind="stable")
    ordered = prints[order]
    repeated = np.zeros(len(x), bool)
    repeated[1:] |= ordered[1:] == ordered[:-1]
    repeated[:-1] |= ordered[1:] == ordered[:-1]
    # Equal fingerprints are nearly always equal rows; only comparing the bytes makes it certain.
    candidates = order[repeated]
    return len(candidates) - len({(x[row] + x.dtype.type(0)).tobytes() for row in candidates})


def _matrix(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x)
    if x.ndim != 2:
        raise InputError(f"the array has shape {list(x.shape)}, expected [V, d]; pass one matrix with a vector a row")
    if x.shape[1] == 0:
        raise InputError("the rows have no elements; pass a matrix [V, d] with d of at least 1")
    if x.dtype.kind in "cOSUMm" or x.dtype == bool:
        raise InputError(f"the array holds {x.dtype}, not real numbers; pass floating values")
    return x


def float64_blocks(x: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, float64 copy) of each block of rows."""
    for start in range(0, len(x), ROWS_PER_BLOCK):
        yield start, x[start : start + ROWS_PER_BLOCK].astype(np.float64)


def _lengths(rows: np.ndarray) -> np.ndarray:
    """Euclidean lengths [B] that neither overflow nor underflow; NaN or inf for a row that is not finite."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
        risky = ~((squares > 1e-290) & (squares < 1e290))
        lengths = np.sqrt(squares)
        if risky.any():
            largest = np.abs(rows[risky]).max(axis=1)
            safe = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
            lengths[risky] = np.linalg.norm(rows[risky] / safe[:, None], axis=1) * safe
    return lengths


def directions_of(rows: np.ndarray, mean: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths as given [B], unit rows after centring [B, d], and which of them can be used [B]."""
    lengths = _lengths(rows)
    finite = np.isfinite(lengths)
    shortest = np.zeros_like(lengths)
    after = lengths
    if mean is not None:
        with np.errstate(invalid="ignore"):
            rows = rows - mean
        after = _lengths(rows)
        shortest = np.where(finite, lengths, 0) * CENTRED_TO_NOTHING
    usable = finite & (after > shortest)
    with np.errstate(invalid="ignore"):
        return lengths, rows / np.where(usable, after, 1.0)[:, None], usable


def _mean_row(x: np.ndarray) -> np.ndarray:
    """Mean of the finite rows, [d] float64."""
    total, finite_rows = np.zeros(x.shape[1]), 0
    for _, rows in float64_blocks(x):
        finite = np.isfinite(_lengths(rows))
        total += rows[finite].sum(axis=0)
        finite_rows += int(finite.sum())
    return total / max(finite_rows, 1)


def _typical_direction(x: np.ndarray, mean: np.ndarray | None) -> np.ndarray:
    """Mean unit row [d] of an evenly spaced sample: a centre that keeps the moment sums free of cancellation."""
    places = np.linspace(0, len(x) - 1, min(len(x), ROWS_PER_BLOCK)).astype(np.int64)
    sample = x[places].astype(np.float64)
    _, directions, usable = directions_of(sample, mean)
    return directions[usable].mean(axis=0) if usable.any() else np.zeros(x.shape[1])


def _report(x: np.ndarray, norms: np.ndarray, used: int) -> RowReport:
    finite = np.isfinite(norms)
    lengths = norms[finite]
    mean, std, smallest, largest = _statistics(lengths) if len(lengths) else (np.nan,) * 4
    return RowReport(
        vocab=len(x),
        used=used,
        zero=int(finite.sum()) - used,
        nonfinite=int((~finite).sum()),
        duplicate=count_duplicates(x if finite.all() else x[finite]),
        norm_mean=float(mean),
        norm_std=float(std),
        norm_min=float(smallest),
        norm_max=float(largest),
    )


def _statistics(lengths: np.ndarray) -> tuple[float, float, float, float]:
    """Mean, standard deviation, smallest and largest, without overflow."""
    largest = lengths.max()
    share = lengths / (largest or 1.0)
    return share.mean() * largest, share.std() * largest, lengths.min(), largest
