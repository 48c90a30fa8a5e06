"""The log tail of a cosine and its inverse, on the host and under JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superjax.laws.tail import inverse_log_tail, log_tail
from tests.laws import oracles


@pytest.mark.parametrize("d", [2, 3, 4, 5, 32, 768, 16384])
@pytest.mark.parametrize("x", [1e-6, 0.01, 0.0645, 0.3, 0.7, 0.999])
def test_the_tail_is_the_regularised_beta_function_in_both_worlds(x, d):
    expected = oracles.log_tail(x, d)
    assert log_tail(x, d) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    single = log_tail(jnp.float32(x), d)
    assert single.dtype == jnp.float32
    assert float(single) == pytest.approx(oracles.log_tail(float(np.float32(x)), d), rel=1e-5, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-4, 0.9999), st.integers(2, 5000))
def test_the_inverse_finds_the_cosine(x, d):
    assert inverse_log_tail(log_tail(x, d), d) == pytest.approx(x, rel=1e-9)


def test_probabilities_no_float_holds_are_inverted():
    assert log_tail(inverse_log_tail(-5000.0, 4096), 4096) == pytest.approx(-5000.0, rel=1e-12)


def test_derivatives_in_x_and_d_are_those_of_the_float64_tail():
    h = 1e-5
    for function, at in ((log_tail, 0.3), (inverse_log_tail, -9.0)):
        slopes = jax.grad(function, argnums=(0, 1))(jnp.float32(at), jnp.float32(64.0))
        by_x = (function(at + h, 64) - function(at - h, 64)) / (2 * h)
        by_d = (function(at, 64 + h) - function(at, 64 - h)) / (2 * h)
        np.testing.assert_allclose(slopes, (by_x, by_d), rtol=2e-4)
