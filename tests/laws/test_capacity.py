"""Published laws: constants, the 45-model table, inverses, derivatives, ranges and refusals."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superjax.core.errors import InputError
from superjax.laws import (
    LAWS,
    assess,
    capacity,
    dimension_for,
    epsilon_for,
    is_extrapolated,
    law,
    log10_capacity,
    published_models,
    representational_class,
)
from superjax.laws.tail import log_tail

FULL = {"C": 0.45809143, "a": 1.0668005, "b": 1.44738666, "c": 0.97197234}
SCALES = {"jl_proven": 8.0, "jl_random": 3.029479, "jl_optimised": 0.7067605, "ratio": 1.2934008}


def published(d, epsilon, name):
    """The formulas of arXiv 2606.02765 with its constants, written out."""
    if name == "full":
        return (d * np.exp((d ** FULL["c"] * epsilon**2 / FULL["C"]) ** (1 / FULL["b"]))) ** (1 / FULL["a"])
    return np.exp(d * epsilon**2 / SCALES[name]) * (d if name == "ratio" else 1)


def test_every_row_of_the_model_table_is_met_within_two_percent():
    rows = published_models()
    assert len(rows) == 45
    with_capacity = [row for row in rows if row.capacity is not None]
    assert len(with_capacity) == 31  # capacity.md speaks of 29; the table has 31
    for row in with_capacity:
        assert capacity(row.d_model, row.epsilon) == pytest.approx(row.capacity, rel=0.02), row
        assert assess(row.d_model, row.epsilon).label == "2"
    for row in rows:
        if row.capacity is None:
            assert assess(row.d_model, row.epsilon).label == "1"
            assert assess(row.d_model, row.epsilon).capacity is None


@pytest.mark.parametrize("name", [*SCALES, "full"])
@pytest.mark.parametrize(("d", "epsilon"), [(4096, 0.0645), (768, 0.09), (8192, 0.05)])
def test_laws_are_the_published_formulas(name, d, epsilon):
    assert capacity(d, epsilon, name) == pytest.approx(published(d, epsilon, name), rel=2e-4)


def test_quoted_sensitivities():
    assert capacity(8192, 0.05) == pytest.approx(2.4e8, rel=0.03)
    assert capacity(8192, 0.09) == pytest.approx(2.0e14, rel=0.03)
    assert capacity(2048, 0.09) == pytest.approx(2.0e7, rel=0.03)
    assert capacity(3072, 0.09) == pytest.approx(6.0e8, rel=0.03)


def test_the_quantile_law_counts_contacts():
    k, d = 32000, 256
    epsilon = epsilon_for(k, d, "quantile")
    assert epsilon == pytest.approx(0.15032, abs=5e-6)
    assert np.exp(log_tail(epsilon, d)) == pytest.approx((k * (d - 1) - d * (d - 1) / 2) / (k * (k - 1) / 2), rel=1e-9)
    # the published worked values of packing.md 4.4
    for (dim, count), value in {(8, 200): 0.6301, (16, 300): 0.4150, (32, 2000): 0.3766, (768, 32000): 0.0715}.items():
        assert epsilon_for(count, dim, "quantile") == pytest.approx(value, abs=6e-5)
    # in the plane the count of contacts is exact: k lines at equal angles
    assert epsilon_for(7, 2, "quantile") == pytest.approx(np.cos(np.pi / 7), rel=1e-9)


@pytest.mark.parametrize("name", LAWS)
@settings(max_examples=25, deadline=None)
@given(d=st.integers(2, 20000), excess=st.floats(0.05, 40.0))
def test_inverses_hold_above_d(name, d, excess):
    k = d * np.exp(excess)
    epsilon = epsilon_for(k, d, name)
    if 0 < epsilon < 0.9999:  # nearer to 1 a float no longer tells coherences apart
        assert log10_capacity(d, epsilon, name) == pytest.approx(np.log10(k), rel=1e-9)
        assert dimension_for(k, epsilon, name) == pytest.approx(d, rel=1e-8)


@pytest.mark.parametrize("name", LAWS)
def test_k_up_to_d_is_exactly_zero_and_the_planner_never_asks_for_more_than_k(name):
    assert np.all(epsilon_for(np.array([1, 2, 100, 4096]), 4096, name) == 0.0)
    assert epsilon_for(5000, 4096, name) > 0
    assert 990 < dimension_for(1000, 1e-6, name) <= 1000
    assert dimension_for(1, 0.5, name) == pytest.approx(1)


def test_capacity_overflows_to_infinity_and_its_logarithm_does_not():
    assert capacity(10**6, 0.5, "ratio") == np.inf
    assert log10_capacity(10**6, 0.5, "ratio") == pytest.approx(
        6 + 10**6 * 0.25 / SCALES["ratio"] / np.log(10), rel=1e-5
    )
    assert np.isfinite(log10_capacity(10**6, 0.9, "quantile"))


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_vectorised_jitted_and_differentiable(name):
    d, epsilon = np.array([256.0, 512.0, 768.0]), np.array([0.12, 0.1, 0.08])
    host = log10_capacity(d, epsilon, name)
    assert host.dtype == np.float64
    traced = jax.jit(lambda a, b: log10_capacity(a, b, name))(jnp.asarray(d), jnp.asarray(epsilon))
    assert traced.dtype == jnp.float32
    np.testing.assert_allclose(traced, host, rtol=2e-5)
    np.testing.assert_allclose(capacity(d[:, None], epsilon[None, :], name).shape, (3, 3))

    def log_k(b):
        return jnp.log(capacity(jnp.float32(512.0), b, name))

    h = 1e-6
    slope = (np.log(capacity(512, 0.1 + h, name)) - np.log(capacity(512, 0.1 - h, name))) / (2 * h)
    assert float(jax.grad(log_k)(jnp.float32(0.1))) == pytest.approx(slope, rel=1e-3)
    for function, at in ((epsilon_for, 512.0), (dimension_for, 0.1)):
        step = 1e-6 * at
        slope = (function(32000, at + step, name) - function(32000, at - step, name)) / (2 * step)
        found = jax.grad(lambda b, f=function: f(jnp.float32(32000.0), b, name))(jnp.float32(at))
        assert float(found) == pytest.approx(slope, rel=2e-3), function.__name__


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(
    ("k", "epsilon"), [(1000, 1e-6), (1000, 0.01), (1000, 0.1), (50000, 0.05), (10, 0.3), (1, 0.5)]
)
def test_the_planner_under_jax_is_the_hosts_also_where_it_is_capped(name, k, epsilon):
    host = dimension_for(k, epsilon, name)
    ask = jax.value_and_grad(lambda at: dimension_for(jnp.float32(k), at, name))
    found, slope = ask(jnp.float32(epsilon))
    assert float(found) == pytest.approx(host, rel=2e-5)
    step = 1e-6 * epsilon
    expected = (dimension_for(k, epsilon + step, name) - dimension_for(k, epsilon - step, name)) / (2 * step)
    if host >= k * (1 - 1e-12):
        assert expected == float(slope) == 0.0
    elif host < k * (1 - 1e-6):  # nearer to the cap float32 cannot tell it from the cap
        assert float(slope) == pytest.approx(expected, rel=3e-3)


def test_a_capped_answer_moves_with_its_cap():
    assert float(jax.grad(lambda k: dimension_for(k, jnp.float32(0.1), "jl_proven"))(jnp.float32(1000))) == (
        pytest.approx(1.0, rel=1e-5)
    )
    assert dimension_for(1000, 0.1, "jl_proven") == pytest.approx(1000)  # exp(1000 / 800) < 1000: no d serves but k


@pytest.mark.parametrize("d", [2.0, 2.5, 3.0, 64.0])
@pytest.mark.parametrize("k", [100.0, 1e4, 1e30])
def test_the_quantile_laws_gradient_is_finite_down_to_the_plane(d, k):
    for argument in (0, 1):
        slope = jax.grad(lambda *a: epsilon_for(*a, "quantile"), argument)(jnp.float32(k), jnp.float32(d))
        assert np.isfinite(float(slope))
    assert float(epsilon_for(jnp.float32(k), jnp.float32(d), "quantile")) == pytest.approx(
        epsilon_for(k, d, "quantile"), rel=1e-4
    )


def test_one_direction_more_than_a_large_dimension():
    d = 10**7
    expected = np.sqrt(SCALES["ratio"] * np.log1p(1 / d) / d)
    assert epsilon_for(d + 1, d, "ratio") == pytest.approx(expected, rel=1e-6)
    for name in ("ratio", "jl_optimised", "full"):
        assert capacity(2 * 10**6, epsilon_for(2 * 10**6 + 1, 2 * 10**6, name), name) == pytest.approx(
            2 * 10**6 + 1, abs=1e-3
        )


def test_the_gradient_is_finite_where_the_answer_is_zero():
    for name in ("full", "quantile"):
        assert float(jax.grad(lambda k, n=name: epsilon_for(k, jnp.float32(512.0), n))(jnp.float32(100.0))) == 0.0


def test_the_global_precision_setting_is_left_alone():
    assert jnp.asarray(1.0).dtype == jnp.float32
    assert isinstance(capacity(4096, 0.0645), float)


def test_outside_the_fitted_range_is_marked():
    assert not is_extrapolated(1024, 0.05)
    assert is_extrapolated(1024, 0.08)  # k beyond 32000
    assert is_extrapolated(8192, 0.03)  # d beyond 4096
    assert not is_extrapolated(8192, 0.5, "jl_proven")
    assert is_extrapolated(4096, 0.02, "quantile")  # k/d below 16
    np.testing.assert_array_equal(is_extrapolated(np.array([1024, 8192]), np.array([0.05, 0.05])), [False, True])
    assert "k 2000 to 32000, d 256 to 4096" in str(law("jl_random").range)


def test_classes_of_an_embedding():
    assert [representational_class(value) for value in (0.2, 0.2001, 0.1, 0.0999, -0.1)] == [
        "between",
        "1",
        "between",
        "2",
        "2",
    ]
    assert assess(384, -0.01).capacity == 384
    assert assess(384, 0.15).capacity == pytest.approx(capacity(384, 0.15))
    with pytest.raises(InputError, match="not a number"):
        representational_class(float("nan"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: capacity(4096, 0.0), "epsilon: 0 is not inside"),
        (lambda: capacity(4096, [0.5, 1.0]), "epsilon: 1 is not inside"),
        (lambda: capacity(1, 0.5), "d: 1 is not"),
        (lambda: capacity(4096, float("nan")), "epsilon: nan"),
        (lambda: epsilon_for(0.5, 4), "k: 0.5 is not"),
        (lambda: dimension_for(float("inf"), 0.1), "k: inf is not"),
        (lambda: dimension_for(10**400, 0.1), "k: is beyond what a float holds"),
        (lambda: capacity("a", 0.1), "d: 'a' is not a number"),
        (lambda: capacity(4096, 0.1, "foo"), "choose one of jl_proven"),
    ],
)
def test_bad_arguments_are_named_in_one_line(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
