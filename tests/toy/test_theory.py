"""Theory and frequencies against published numbers and against each other."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.core.errors import InputError
from superjax.toy import (
    activation_probabilities,
    fit_exponent,
    ideal_weak_loss,
    preset,
    random_overlap_moments,
    strong_exponent,
    trivial_loss,
    welch_overlap,
)

M = [10, 15, 25, 39, 63, 100]


@pytest.mark.parametrize(
    ("distribution", "n", "alpha", "loss"),
    [
        ("exponential", 10_240, 1.0, 1.3321),
        ("power", 10_240, 1.2, 1.2734),
        ("linear", 10_240, 1.0, 1.3332),
        ("power", 1000, 0.0, 1.3323),
        ("power", 1000, 1.0, 1.3040),
        ("power", 1000, 2.0, 0.9328),
    ],
)
def test_trivial_losses(distribution, n, alpha, loss):
    assert trivial_loss(activation_probabilities(distribution, n, alpha=alpha)) == pytest.approx(loss, abs=6e-5)


@pytest.mark.parametrize(
    ("distribution", "alpha", "largest"),
    [("power", 1.2, 0.20821), ("exponential", 1.0, 0.0024969), ("linear", 1.0, 1.9529e-4)],
)
def test_largest_probabilities_of_the_large_setting(distribution, alpha, largest):
    p = activation_probabilities(distribution, 10_240, alpha=alpha)
    assert p[0] == pytest.approx(largest, rel=1e-4)
    assert p.dtype == np.float32
    assert p.astype(np.float64).sum() == pytest.approx(1, rel=1e-6)


def test_grid_of_the_published_sweeps():
    assert preset("liu_small").sweep.m == tuple(M)
    assert preset("liu_large").sweep.m == (8, 16, 32, 64, 128, 256, 512, 1024)
    density = preset("liu_density").sweep.density
    assert density[-1] == pytest.approx(7.48547, abs=1e-5)
    np.testing.assert_allclose(density, 1 + np.linspace(0, 1, 9) * (density[-1] - 1))
    assert activation_probabilities("power", 1000, density=density[-1])[0] == pytest.approx(1.0)
    np.testing.assert_allclose(preset("liu_small").sweep.decay, np.linspace(-1, 1, 10), atol=1e-15)
    np.testing.assert_allclose(preset("liu_small").sweep.alpha, np.arange(17) / 8, atol=1e-15)
    assert len(preset("liu_small").sweep.members()) == 1020
    assert len(preset("liu_density").sweep.members()) == 540
    assert len(preset("liu_large").sweep.members()) == 48
    assert len(preset("quick").sweep.members()) == 120


def test_rates_of_the_large_setting():
    members = {member.m: member for member in preset("liu_large").sweep.members()}
    assert members[8].learning_rate == pytest.approx(0.02)
    assert members[8].bias_rate == pytest.approx(0.25)
    assert members[128].learning_rate == pytest.approx(0.01)
    assert members[1024].bias_rate == pytest.approx(2 / 1024)
    assert members[8].loss_scale == pytest.approx(100 / 10_240)


@pytest.mark.parametrize(
    ("alpha", "exponent"), [(1.0, 0.294), (1.25, 0.434), (1.5, 0.606), (1.75, 0.804), (2.0, 1.020)]
)
def test_ideal_weak_exponents_at_finite_n(alpha, exponent):
    losses = ideal_weak_loss(activation_probabilities("power", 1000, alpha=alpha), M)
    assert fit_exponent(np.array(M), losses).exponent == pytest.approx(exponent, abs=6e-4)


def test_ideal_weak_losses_of_the_large_setting():
    published = [0.684, 0.573, 0.473, 0.384, 0.307, 0.239, 0.180, 0.128]
    losses = ideal_weak_loss(activation_probabilities("power", 10_240, alpha=1.2), [2**i for i in range(3, 11)])
    np.testing.assert_allclose(losses, published, atol=6e-4)


def test_strong_exponents_cross_at_three_halves():
    assert [strong_exponent(alpha) for alpha in (0, 1.5, 1.75, 2)] == [1, 1, 1.5, 2]


@pytest.mark.parametrize("m", [3, 10, 100])
def test_overlaps_of_random_directions_follow_the_beta_law(m):
    rows = np.random.default_rng(0).standard_normal((1500, m))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    squares = (rows @ rows.T)[np.triu_indices(1500, 1)] ** 2
    mean, variance = random_overlap_moments(m)
    assert squares.mean() == pytest.approx(mean, rel=0.01)
    assert squares.var() == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize(("m", "squared"), list(zip(M, [0.0816, 0.0583, 0.0369, 0.0244, 0.0149, 0.0090], strict=True)))
def test_welch_values_of_the_published_guide_line(m, squared):
    nu = min(1000, m * m / 2)
    assert welch_overlap(int(nu), m) == pytest.approx(squared, abs=6e-4)


def test_exponent_against_scipy_and_its_bootstrap():
    from scipy.stats import linregress

    rng = np.random.default_rng(1)
    m = np.array(M)
    losses = 3 * m**-0.9 * np.exp(0.1 * rng.standard_normal((5, len(m))))
    fit = fit_exponent(m, losses)
    expected = linregress(np.log(m), np.log(losses.mean(axis=0)))
    assert fit.exponent == pytest.approx(-expected.slope)
    assert fit.stderr == pytest.approx(expected.stderr)
    assert fit.r2 == pytest.approx(expected.rvalue**2)
    assert fit.interval[0] < fit.exponent < fit.interval[1]
    assert 0.01 < fit.interval[1] - fit.interval[0] < 0.3
    assert np.isnan(fit_exponent(m, losses[0]).interval[0])


def test_exponent_windows_and_missing_losses():
    m, losses = np.array([8, 16, 32, 64]), np.array([100.0, 4.0, 2.0, 1.0])
    assert fit_exponent(m, losses, window=(16, 64)).exponent == pytest.approx(1)
    assert fit_exponent(m, np.array([np.nan, 4.0, 2.0, 1.0])).points == 3
    with pytest.raises(InputError, match="m: an exponent needs"):
        fit_exponent(m, np.array([np.nan, np.nan, 2.0, np.nan]))


def test_presets_have_names():
    with pytest.raises(InputError, match="preset: 'liu' is unknown"):
        preset("liu")
