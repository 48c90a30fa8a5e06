"""Objectives: value and gradient against float64, on any tiling, and in the corners where naive code gives NaN."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superjax.core.errors import InputError
from superjax.core.pairwise import reduce_pairs, stream_pairs
from superjax.packing.objectives import Objective, RieszEnergy, SmoothMaximum
from tests.packing import helpers


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("sharpness", [1.0, 50.0, 2000.0])
@pytest.mark.parametrize("block", [5, 20])
def test_smooth_maximum_and_its_gradient_match_float64(signed, sharpness, block):
    x = helpers.random_unit(20, 6)
    value, gradient = helpers.smooth_maximum(np.float32(x), sharpness, signed=signed)
    shift = np.float32(0.94)  # the largest is .9489
    reducer = SmoothMaximum(jnp.float32(sharpness), jnp.float32(shift), signed)
    totals, pull = reduce_pairs(jnp.asarray(x, jnp.float32), reducer, block=block)
    assert shift + np.log(totals.weight) / sharpness == pytest.approx(value, abs=2e-6)
    np.testing.assert_allclose(pull / totals.weight, gradient, atol=2e-6 * max(sharpness, 10) / 10)


@pytest.mark.parametrize("s", [0.5, 1.0, 4.0, 20.0, 100.0])
def test_energy_and_its_gradient_match_float64(s):
    """A pair of these is .24 apart: at s = 100 its energy is 1e62, far beyond float32."""
    x = helpers.random_unit(18, 3)
    energy, gradient = helpers.riesz(x, s)
    least = 2 - 2 * helpers.off_diagonal(x).max()
    for unit in (least, 1.1 * least):
        reducer = RieszEnergy(jnp.float32(s), 1e-6, jnp.float32(unit))
        totals, pull = reduce_pairs(jnp.asarray(x, jnp.float32), reducer, block=6)
        assert float(reducer.value(totals)) == pytest.approx(np.log(energy), abs=2e-5 * max(s, 1))
        np.testing.assert_allclose(pull / totals.weight, gradient / energy, rtol=1e-3, atol=1e-4 * max(s, 1))


def test_an_energy_too_small_for_its_unit_is_never_the_least():
    reducer = RieszEnergy(jnp.float32(100.0), 1e-6, jnp.float32(1e-6))
    totals, pull = reduce_pairs(jnp.asarray([[1.0, 0.0], [-1.0, 0.0]]), reducer, block=2)
    assert float(reducer.value(totals)) == np.inf
    assert np.all(np.isfinite(pull))


@pytest.mark.parametrize("objective", [Objective("coherence"), Objective("spherical"), Objective("riesz")])
@pytest.mark.parametrize(
    "rows", [[[1, 0], [1, 0]], [[1, 0], [-1, 0]], [[1, 0]], [[0, 0], [1, 0], [0.6, 0.8]], [[0.6, 0.8]] * 4]
)
@pytest.mark.parametrize("sharpness", [3.0, 1e6])
def test_coincident_antipodal_and_zero_rows_give_finite_values(objective, rows, sharpness):
    x = jnp.asarray(rows, jnp.float32)
    for largest in (1.0, 0.2):
        scale = objective.scale(jnp.float32(largest), len(x), 2)
        reducer = objective.reducer(jnp.float32(sharpness), jnp.float32(largest), scale, len(x), 2)
        totals, pull = reduce_pairs(x, reducer, block=len(x))
        assert np.isfinite(totals.weight)
        assert np.all(np.isfinite(pull))
        assert np.isfinite(totals.largest) or len(x) == 1


def test_no_gradient_comes_from_padding():
    x = np.float32(helpers.random_unit(7, 3))
    reducer = SmoothMaximum(jnp.float32(9.0), jnp.float32(0.9))
    whole = reduce_pairs(jnp.asarray(x), reducer, block=7)
    padded = reduce_pairs(jnp.pad(jnp.asarray(x), ((0, 5), (0, 0))), reducer, block=4, count=7)
    assert float(padded[0].weight) == pytest.approx(float(whole[0].weight), rel=1e-6)
    np.testing.assert_allclose(padded[1][:7], whole[1], atol=1e-6)
    assert np.all(np.asarray(padded[1][7:]) == 0)


def test_the_gradient_agrees_with_autodiff_of_the_plain_formula():
    x = jnp.asarray(helpers.random_unit(12, 4), jnp.float32)

    def plain(x):
        gram = jnp.matmul(x, x.T, precision="highest")
        first, second = np.triu_indices(12, 1)
        return jax.nn.logsumexp(30.0 * jnp.abs(gram[first, second])) / 30.0

    totals, pull = stream_pairs(x, SmoothMaximum(jnp.float32(30.0), jnp.float32(0.9)), block=5)
    np.testing.assert_allclose(pull / totals.weight, jax.grad(plain)(x), atol=2e-6)


def test_unknown_objectives_and_powers_are_refused():
    with pytest.raises(InputError, match="objective: welch is unknown; give one of coherence, spherical, riesz"):
        Objective("welch")
    with pytest.raises(InputError, match=r"riesz_s: -1 is not in \(0, 100\]"):
        Objective("riesz", -1.0)
