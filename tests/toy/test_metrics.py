"""Geometry of W against polytopes, brute force in float64, and bounds that hold for any W."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.toy import geometry, welch_overlap
from tests import oracles


def _polygon(k):
    angles = 2 * np.pi * np.arange(k) / k
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _simplex(m):
    corners = np.eye(m + 1) - 1 / (m + 1)
    basis = np.linalg.svd(corners)[0][:, :m]
    return corners @ basis / np.linalg.norm(corners @ basis, axis=1, keepdims=True)


def _square_antiprism(z):
    radius = np.sqrt(1 - z**2)
    turn = np.pi / 2 * np.arange(4)
    rings = [
        np.stack([radius * np.cos(turn + shift), radius * np.sin(turn + shift), np.full(4, height)], axis=1)
        for shift, height in ((0, z), (np.pi / 4, -z))
    ]
    return np.concatenate(rings)


POLYTOPES = {
    "dedicated": (np.eye(4), 1),
    "tetrahedron": (_simplex(3), 3 / 4),
    "triangle": (_polygon(3), 2 / 3),
    "digon": (np.array([[1.0], [-1.0]]), 1 / 2),
    "pentagon": (_polygon(5), 2 / 5),
    "square antiprism": (_square_antiprism(3**-0.5), 3 / 8),
}


@pytest.mark.parametrize("name", POLYTOPES)
@pytest.mark.parametrize("scale", [1.0, 0.3, 1.7])
def test_dimensionality_of_polytopes(name, scale):
    rows, expected = POLYTOPES[name]
    found = geometry(scale * rows)
    np.testing.assert_allclose(found.dimensionality, expected, atol=1e-6)
    assert found.dimensions_per_feature == pytest.approx(rows.shape[1] / (scale**2 * len(rows)))


@pytest.mark.parametrize("shape", [(5, 2), (40, 7), (30, 30), (700, 11)])
def test_against_brute_force(shape):
    n, m = shape
    rng = np.random.default_rng(0)
    W = (rng.standard_normal(shape) * rng.random((n, 1)) * 2 / m**0.5).astype(np.float32)
    W[3] = 0
    found = geometry(W)
    rows = W.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(found.norms, norms)
    assert found.phi_half == (norms > 0.5).mean()
    assert found.phi_one == (norms > 1).mean()
    for overlaps, chosen in ((found.overlaps, norms > 0), (found.strong_overlaps, norms > 1)):
        unit = rows[chosen] / norms[chosen, None]
        squares = (unit @ unit.T)[np.triu_indices(len(unit), 1)] ** 2
        assert overlaps.rows == len(unit)
        oracles.assert_counts_match(overlaps.counts, oracles.pair_products(unit), len(overlaps.counts))
        if len(unit) > 1:
            assert overlaps.mean == pytest.approx(squares.mean(), rel=1e-5)
            assert overlaps.variance == pytest.approx(squares.var(), rel=1e-3, abs=1e-8)
            assert overlaps.mean >= overlaps.welch - 1e-6
    unit = rows / np.where(norms, norms, 1)[:, None]
    shared = ((unit @ rows.T) ** 2).sum(axis=1)
    np.testing.assert_allclose(found.dimensionality, np.where(norms, norms**2 / np.where(norms, shared, 1), 0))
    assert found.dimensionality.sum() <= np.linalg.matrix_rank(rows) + 1e-9
    ideal = np.diag((np.arange(n) < m).astype(float))
    assert found.ambiguity == pytest.approx(np.linalg.norm(rows @ rows.T - ideal, 2))


def test_ambiguity_knows_which_features_are_frequent():
    W = np.eye(6, 2)[::-1]
    assert geometry(W, np.arange(6)).ambiguity == pytest.approx(0, abs=1e-12)
    assert geometry(W).ambiguity == pytest.approx(1)


@pytest.mark.parametrize("frame", [_simplex(4), _polygon(5), _simplex(3), np.concatenate([np.eye(3), -np.eye(3)])])
def test_tight_frames_reach_the_welch_value(frame):
    assert geometry(frame).overlaps.mean == pytest.approx(welch_overlap(*frame.shape), rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_no_directions_go_below_the_welch_value(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 60)), int(rng.integers(2, 9))
    assert geometry(rng.standard_normal((n, m))).overlaps.mean >= welch_overlap(n, m) - 1e-6


def test_nothing_represented():
    found = geometry(np.zeros((4, 2)))
    assert found.phi_half == 0
    assert found.overlaps.rows == 0
    assert np.isnan(found.overlaps.mean)
    assert found.dimensions_per_feature == float("inf")
    assert not found.dimensionality.any()
