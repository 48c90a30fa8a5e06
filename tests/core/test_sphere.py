"""The sphere: exact norms, finite derivatives at zero, tangency, second-order retraction, uniform draws."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superjax.core import sphere


@pytest.mark.parametrize("scale", [1e-33, 1e-20, 1.0, 1e20, 1e37])
def test_normalise_agrees_with_float64_at_any_scale(scale):
    x = np.random.default_rng(0).normal(size=(50, 7))
    expected = x / np.linalg.norm(x, axis=1, keepdims=True)
    found = sphere.normalise(jnp.asarray(x * scale, jnp.float32))
    np.testing.assert_allclose(found, expected, atol=3e-7)


def test_a_zero_row_stays_zero_and_has_a_finite_derivative():
    x = jnp.zeros((3, 4)).at[1].set(jnp.arange(4.0))
    assert np.all(np.asarray(sphere.normalise(x))[[0, 2]] == 0)
    gradient = jax.grad(lambda x: jnp.sum(sphere.normalise(x) @ jnp.arange(4.0)))(x)
    assert np.all(np.isfinite(gradient))


def test_the_derivative_of_normalise_is_the_tangent_projection_over_the_norm():
    rng = np.random.default_rng(1)
    x, g = rng.normal(size=(2, 20, 5))
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    unit = x / norm
    expected = (g - np.sum(g * unit, 1, keepdims=True) * unit) / norm
    _, pull = jax.vjp(sphere.normalise, jnp.asarray(x, jnp.float32))
    np.testing.assert_allclose(pull(jnp.asarray(g, jnp.float32))[0], expected, atol=1e-6)
    projected = sphere.tangent(jnp.asarray(unit, jnp.float32), jnp.asarray(g, jnp.float32))
    np.testing.assert_allclose(projected, expected * norm, atol=2e-6)


def test_retraction_follows_the_geodesic_to_second_order():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(10, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    v = rng.normal(size=x.shape)
    v -= np.sum(v * x, 1, keepdims=True) * x
    errors = []
    for h in (0.1, 0.05):
        speed = h * np.linalg.norm(v, axis=1, keepdims=True)
        geodesic = np.cos(speed) * x + np.sin(speed) * h * v / speed
        errors.append(np.abs(np.asarray(sphere.retract(jnp.asarray(x), jnp.asarray(h * v))) - geodesic).max())
    assert errors[1] < errors[0] / 6  # third order: a factor of 8


def test_uniform_points_are_unit_and_have_the_law_of_the_sphere():
    x = np.asarray(sphere.uniform(jax.random.key(3), 20000, 3), np.float64)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, atol=3e-7)
    for axis in range(3):  # on the 2-sphere every coordinate is uniform in [-1, 1]: Kolmogorov-Smirnov
        ordered = np.sort(x[:, axis])
        gap = np.abs((ordered + 1) / 2 - np.arange(len(ordered)) / len(ordered)).max()
        assert gap < 1.95 / np.sqrt(len(ordered))
