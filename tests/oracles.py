"""Independent answers in float64 NumPy; imports nothing of superjax."""

from __future__ import annotations

import numpy as np

EDGE = 2.0**-21
"""A float32 product of unit rows may fall on either side of an edge this near to its float64 value."""


def unit(x):
    """Rows of length one, float64."""
    x = np.asarray(x).astype(np.float64)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def pair_products(x):
    """Products of all unordered pairs of rows, [V (V - 1) / 2] float64."""
    x = np.asarray(x).astype(np.float64)
    return (x @ x.T)[np.triu_indices(len(x), 1)]


def histogram(products, bins):
    """Counts over [-1, 1], last bin closed, values outside clipped."""
    return np.histogram(np.clip(products, -1, 1), bins=bins, range=(-1, 1))[0]


def assert_counts_match(counts, products, bins):
    """Counts equal the oracle's, but for pairs within EDGE of a bin's edge; the sum is exact."""
    counts = np.asarray(counts)
    assert counts.dtype.kind == "i"
    assert counts.sum() == len(products)
    edges = np.linspace(-1, 1, bins + 1)
    expected = histogram(products, bins)
    # Pairs near edge e may sit in the bin below or above it: cumulative counts bracket the truth at each edge.
    below = np.concatenate([[0], np.cumsum(counts)])
    ordered = np.sort(np.clip(products, -1, 1))
    least = np.searchsorted(ordered, edges - EDGE, side="left")
    most = np.searchsorted(ordered, edges + EDGE, side="right")
    assert np.all((least[1:-1] <= below[1:-1]) & (below[1:-1] <= most[1:-1]))
    return int(np.abs(counts - expected).sum())


def nearest(x, number):
    """Each row's `number` most similar other rows, [V, number]; ties go to the lower row."""
    gram = np.asarray(x).astype(np.float64) @ np.asarray(x).astype(np.float64).T
    np.fill_diagonal(gram, -np.inf)
    return np.argsort(-gram, axis=1, kind="stable")[:, :number]
