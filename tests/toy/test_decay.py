"""Decay, growth and schedule: exact values of the published procedure."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from superjax.toy import Params, norm_decay, warmup_cosine
from superjax.toy.decay import decayed, optimiser

W = np.random.default_rng(0).standard_normal((50, 7)).astype(np.float32)


@pytest.mark.parametrize(("gamma", "eta"), [(-1.0, 0.01), (-0.3, 0.5), (-1.0, 1.0)])
def test_growth_keeps_directions_and_moves_norms_towards_one(gamma, eta):
    after = W + np.asarray(decayed(jnp.asarray(W), eta * gamma))
    r, new = np.linalg.norm(W, axis=1), np.linalg.norm(after, axis=1)
    np.testing.assert_allclose(new, r + abs(gamma) * eta * (1 - r), atol=1e-6)
    np.testing.assert_allclose(after / new[:, None], W / r[:, None], atol=1e-6)


@pytest.mark.parametrize(("gamma", "eta"), [(0.0, 0.1), (0.7, 0.01), (1.0, 0.5)])
def test_decay_shrinks_norms(gamma, eta):
    after = W + np.asarray(decayed(jnp.asarray(W), eta * gamma))
    np.testing.assert_allclose(after, W * (1 - gamma * eta), atol=1e-6)


def test_growth_leaves_a_row_of_zeros_where_it_is():
    assert not np.any(decayed(jnp.zeros((3, 2)), -0.5))


def test_transformation_adds_to_directions_alone_and_reads_the_parameters_before_the_step():
    params = Params(jnp.asarray(W), jnp.ones(50))
    updates = Params(jnp.full_like(params.W, 0.25), jnp.full(50, 0.5))
    transformation = norm_decay(0.1)
    found, _ = transformation.update(updates, transformation.init(params), params)
    np.testing.assert_allclose(found.W, 0.25 - 0.1 * W, rtol=1e-6)
    assert np.array_equal(found.b, updates.b)


def test_rates_may_be_traced_and_vmapped():
    rates = jnp.array([-0.2, 0.0, 0.3])
    found = jax.jit(jax.vmap(lambda rate: decayed(jnp.asarray(W), rate)))(rates)
    for each, rate in zip(found, rates, strict=True):
        np.testing.assert_allclose(each, decayed(jnp.asarray(W), rate), atol=1e-7)


def test_optimiser_with_no_decay_is_optax_adam():
    params = Params(jnp.asarray(W), jnp.ones(50))
    ours, theirs = optimiser(jnp.float32(0.02), jnp.float32(0.02), jnp.float32(0)), optax.adam(0.02)
    states = ours.init(params), theirs.init(params)
    for step in range(5):
        gradient = Params(jnp.asarray(W) * step, jnp.full(50, 0.1 * step))
        mine, first = ours.update(gradient, states[0], params)
        other, second = theirs.update(gradient, states[1], params)
        states = first, second
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), mine, other)


@pytest.mark.parametrize(
    ("step", "rate"), [(1, 5e-6), (1000, 5e-3), (1999, 9.995e-3), (2000, 1e-2), (11_000, 5.25e-3), (20_000, 5e-4)]
)
def test_schedule_of_the_small_setting(step, rate):
    assert float(1e-2 * warmup_cosine(step - 1, 20_000, 0.1, 0.05)) == pytest.approx(rate, rel=1e-5)


@pytest.mark.parametrize(("step", "share"), [(500, 0.5), (1000, 1.0), (10_500, 0.525), (20_000, 0.05)])
def test_schedule_of_the_large_setting(step, share):
    assert float(warmup_cosine(step - 1, 20_000, 0.05, 0.05)) == pytest.approx(share, rel=1e-5)


def test_a_constant_rate():
    assert [float(warmup_cosine(step, 10, 0.0, 1.0)) for step in (0, 5, 9)] == [1.0, 1.0, 1.0]
