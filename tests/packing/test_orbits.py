"""Orbits: the group acts as said, totals and gradients are those of all lines, and known optima appear."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superjax.core import sphere
from superjax.core.errors import InputError
from superjax.packing import orbit, orbit_coherence, pack_orbits
from superjax.packing.objectives import SmoothMaximum
from superjax.packing.orbits import reduce_orbits, walsh
from tests.packing import helpers


def test_an_orbit_is_made_of_shifts_and_signs():
    d = 8
    v = helpers.random_unit(1, d)
    made = orbit(v)
    X = {a: np.eye(d)[np.arange(d) ^ a] for a in range(d)}
    Z = {b: np.diag([(-1.0) ** bin(b & x).count("1") for x in range(d)]) for b in range(d)}
    expected = np.array([Z[b] @ X[a] @ v[0] for a in range(d) for b in range(d)])
    np.testing.assert_allclose(made, expected, atol=1e-15)


@pytest.mark.parametrize(("number", "d"), [(1, 2), (1, 8), (3, 4), (2, 16)])
def test_the_orbits_coherence_is_that_of_all_lines(number, d):
    generators = helpers.random_unit(number, d, seed=d)
    assert orbit_coherence(generators) == pytest.approx(helpers.coherence(orbit(generators)), abs=1e-13)


@pytest.mark.parametrize(("number", "d"), [(1, 4), (3, 4), (2, 8)])
def test_gradients_are_those_of_the_smooth_maximum_of_all_lines(number, d):
    generators = np.float32(helpers.random_unit(number, d, seed=1))
    sharpness = 20.0
    signs, xor = jnp.asarray(walsh(d), jnp.float32), np.arange(d)[:, None] ^ np.arange(d)[None, :]

    def log_sum(generators):
        """Of all ordered pairs of lines, from the whole Gram matrix."""
        lines = (generators[:, xor][:, :, None, :] * signs[None, None]).reshape(-1, d)
        gram = jnp.abs(jnp.matmul(lines, lines.T, precision="highest"))
        gram = jnp.where(jnp.eye(len(lines), dtype=bool), -jnp.inf, gram)
        return jax.nn.logsumexp(sharpness * gram) / sharpness

    x = jnp.asarray(generators)
    totals, pull = reduce_orbits(x, SmoothMaximum(jnp.float32(sharpness), jnp.float32(0.9)))
    assert float(totals.largest) == pytest.approx(orbit_coherence(generators), abs=1e-6)
    expected = sphere.tangent(x, jax.grad(log_sum)(x))
    found = sphere.tangent(x, pull)
    # A pair of one orbit is met d^2 times as often as reduced, one of two orbits twice that.
    if number == 1:
        ratio = np.sum(found * expected) / np.sum(expected**2)
        np.testing.assert_allclose(found, ratio * expected, atol=1e-5 * np.abs(found).max() + 1e-6)
    assert np.sum(found * expected) > 0.8 * np.linalg.norm(found) * np.linalg.norm(expected)


def test_one_generator_in_16_dimensions_gives_256_optimal_lines():
    best = min((pack_orbits(256, 16, steps=600, seed=seed) for seed in range(2)), key=lambda one: one.coherence)
    assert best.vectors.shape == (256, 16)
    assert best.coherence == pytest.approx(1 / 3, abs=1e-5)
    assert best.coherence == pytest.approx(helpers.coherence(best.vectors), abs=1e-6)


def test_any_number_of_lines_is_cut_from_whole_orbits():
    found = pack_orbits(37, 4, steps=50)
    assert found.vectors.shape == (37, 4)
    assert found.coherence == pytest.approx(helpers.coherence(found.vectors), abs=1e-6)
    assert found.coherence >= found.bound


@pytest.mark.parametrize("d", [3, 1, 512])
def test_dimensions_without_the_group_are_refused(d):
    with pytest.raises(InputError, match=f"d: {d} is no power of 2"):
        pack_orbits(100, d)


@pytest.mark.parametrize(("k", "d", "value"), [(4, 4, 0.0), (5, 4, 0.25), (6, 2, np.cos(np.pi / 6))])
def test_closed_forms_need_no_orbits(k, d, value):
    found = pack_orbits(k, d, steps=3)
    assert found.coherence == pytest.approx(value, abs=1e-12)
    assert found.steps == 0
