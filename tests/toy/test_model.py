"""Loss and gradients against float64 NumPy, closed forms and each other."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superjax.core import keys
from superjax.toy import Params, activation_probabilities, loss, sampling
from superjax.toy.model import dense_gradient, sparse_gradient


def _loss_and_gradient(W, b, x, importance, activation):
    """Float64 NumPy, from the definition."""
    W, b, x = (np.asarray(a, np.float64) for a in (W, b, x))
    z = x @ W @ W.T + b
    y, slope = (np.maximum(z, 0), z > 0) if activation == "relu" else (z, np.ones_like(z))
    value = (importance * (y - x) ** 2).sum() / len(x)
    dz = 2 * importance * (y - x) * slope / len(x)
    return value, x.T @ (dz @ W) + dz.T @ (x @ W), dz.sum(axis=0)


@pytest.mark.parametrize("activation", ["relu", "linear"])
@pytest.mark.parametrize(("n", "m", "size", "density"), [(100, 7, 64, 1.0), (300, 20, 2048, 4.0), (64, 64, 5, 0.1)])
def test_both_gradients_equal_the_definition(n, m, size, density, activation):
    rng = np.random.default_rng(0)
    p = activation_probabilities("power", n, alpha=1.0, density=density)
    table = sampling.event_table(p, size, 2.0)
    batch = sampling.draw_events(keys.stream(3, keys.DATA), table, size, table.slots + 10)
    x = sampling.to_dense(batch, size, n)
    params = Params(
        jnp.asarray(rng.standard_normal((n, m)) / m**0.5, jnp.float32),
        jnp.asarray(0.3 * rng.standard_normal(n), jnp.float32),
    )
    importance = jnp.asarray(rng.random(n), jnp.float32)
    expected = _loss_and_gradient(params.W, params.b, x, np.asarray(importance, np.float64), activation)
    found = [
        dense_gradient(params, x, importance, activation),
        jax.jit(sparse_gradient, static_argnums=(2, 4))(params, batch, size, importance, activation),
    ]
    for value, gradient in found:
        assert float(value) == pytest.approx(expected[0], rel=2e-5)
        for ours, theirs in zip(gradient, expected[1:], strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-6 * np.abs(theirs).max())


def test_a_batch_without_entries_gives_the_loss_of_the_bias_alone():
    n, m = 70, 3
    batch = sampling.SparseBatch(
        *(jnp.zeros(64, jnp.int32),) * 2, *(jnp.zeros(64, jnp.float32),) * 2, filled=jnp.int32(0)
    )
    b = jnp.linspace(-1, 1, n)
    value, gradient = sparse_gradient(Params(jnp.ones((n, m)), b), batch, 32, jnp.ones(n))
    positive = np.maximum(np.asarray(b, np.float64), 0)
    assert float(value) == pytest.approx((positive**2).sum())
    assert not np.any(gradient.W)
    np.testing.assert_allclose(gradient.b, 2 * positive, rtol=1e-6)


def test_loss_of_the_ideal_model_without_superposition():
    # W = diag(I_m, 0), b = (0, p): sum over ignored features of 4/3 p - p^2.
    n, m, size = 100, 10, 4096
    p = activation_probabilities("power", n, alpha=1.0)
    params = Params(jnp.eye(n, m), jnp.asarray(np.where(np.arange(n) < m, 0, p), jnp.float32))
    table = sampling.event_table(p, size, 2.0)

    def one(index):
        batch = sampling.draw_events(jax.random.fold_in(keys.stream(0, keys.DATA), index), table, size, table.slots)
        return sparse_gradient(params, batch, size, jnp.ones(n))[0]

    found = np.asarray(jax.lax.map(one, jnp.arange(200)), np.float64).mean()
    tail = p[m:].astype(np.float64)
    assert found == pytest.approx((4 / 3 * tail - tail**2).sum(), rel=0.01)


@pytest.mark.parametrize("s", [0.3, 4 / 7, 0.9])
def test_closed_forms_of_two_features_in_one_dimension(s):
    # Wattenberg's closed forms for values uniform on (0, 1): two unit features, activation density s each.
    table = sampling.dense_table(np.array([s, s]), 1.0)
    x = sampling.draw_dense(keys.stream(0, keys.DATA), table, 400_000)
    ones = jnp.ones(2)
    ignore = Params(jnp.array([[1.0], [0.0]]), jnp.array([0.0, s / 2]))
    antipodal = Params(jnp.array([[1.0], [-1.0]]), jnp.zeros(2))
    assert float(loss(ignore, x, ones)) == pytest.approx(s / 3 - s**2 / 4, rel=0.01)
    assert float(loss(antipodal, x, ones)) == pytest.approx(s**2 / 3, rel=0.01)
    weighted = jnp.array([1.0, 0.5])
    assert float(loss(ignore, x, weighted)) == pytest.approx(0.5 * (s / 3 - s**2 / 4), rel=0.01)
    assert float(loss(antipodal, x, weighted)) == pytest.approx(1.5 * s**2 / 6, rel=0.01)
