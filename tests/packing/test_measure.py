"""Measures over all pairs against whole Gram matrices, across tile borders, and their refusals."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.core.errors import InputError
from superjax.packing import coherence, gram_histogram, largest_cosine, riesz_energy
from superjax.packing.measure import pair_products
from tests.packing import helpers


@pytest.mark.parametrize("k", [1, 2, 1023, 1025])
def test_coherence_and_largest_cosine_match_the_whole_gram_matrix(k):
    x = helpers.random_unit(k, 5, seed=k)
    assert coherence(3 * x) == pytest.approx(helpers.coherence(x), abs=1e-14)
    if k > 1:
        assert largest_cosine(x) == pytest.approx(helpers.off_diagonal(x).max(), abs=1e-14)


@pytest.mark.parametrize("devices", [1, 8])
def test_coherence_on_devices_is_good_to_float32(devices):
    x = helpers.random_unit(203, 7)
    assert coherence(x, mesh=helpers.mesh_of(devices)) == pytest.approx(helpers.coherence(x), abs=2e-7)


@pytest.mark.parametrize("devices", [1, 8])
def test_the_other_measures_on_devices_are_good_to_float32(devices):
    x, mesh = helpers.random_unit(203, 7), helpers.mesh_of(devices)
    assert largest_cosine(x, mesh=mesh) == pytest.approx(helpers.off_diagonal(x).max(), abs=2e-7)
    for s in (1.0, 20.0):
        assert riesz_energy(x, s, mesh=mesh) == pytest.approx(riesz_energy(x, s), rel=2e-5 * s)
    counts, edges = gram_histogram(x, bins=20, mesh=mesh)
    assert counts.sum() == 203 * 202 // 2
    assert np.abs(counts - gram_histogram(x, bins=20)[0]).max() <= 2  # at most a pair lies on an edge
    assert edges.tolist() == gram_histogram(x, bins=20)[1].tolist()


def test_the_largest_pair_is_found_wherever_it_stands():
    for i, j in ((0, 1), (5, 2047), (1023, 1024), (2046, 2047)):
        x = helpers.random_unit(2048, 40, seed=3)
        x[j] = x[i] + 1e-3 * x[j]
        assert coherence(x) == pytest.approx(abs(x[i] @ x[j]) / np.linalg.norm(x[j]), abs=1e-12)


def test_energy_histogram_and_products_count_every_pair_once():
    x = helpers.random_unit(37, 3)
    assert sum(products.size for products in pair_products(x, block=8)) == 37 * 36 // 2
    assert riesz_energy(x, 2.0) == pytest.approx(helpers.riesz(x, 2.0)[0], rel=1e-10)
    counts, edges = gram_histogram(x, bins=20)
    expected = np.histogram(helpers.off_diagonal(x)[np.triu_indices(37, 1)], bins=edges)[0]
    assert counts.tolist() == expected.tolist()
    assert riesz_energy(np.ones((2, 3))) == np.inf


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((2, 3)), "x: row 0 is zero; give rows that have a direction"),
        (np.array([[1.0, np.nan]]), "x: row 0 is not finite; give rows of finite numbers"),
        (np.ones(3), r"x: is float64 of shape \[3\]; give k rows of d real numbers"),
        (np.ones((2, 0)), "give k rows of d real numbers"),
        (np.array([["a"]]), "give k rows of d real numbers"),
    ],
)
def test_what_has_no_coherence_is_refused(x, message):
    with pytest.raises(InputError, match=message):
        coherence(x)
