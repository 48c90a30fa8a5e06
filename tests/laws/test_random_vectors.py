"""The random law against its Beta law, our own draws, and the published best-of-1000 table."""

from __future__ import annotations

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from superjax.core.errors import InputError
from superjax.laws import (
    cosine_density,
    cosine_tail,
    gumbel_cdf,
    gumbel_holds,
    gumbel_mean,
    max_coherence_cdf,
    max_coherence_mean,
    max_coherence_quantile,
    published_packings,
)
from superjax.laws.tail import log_tail

BEST_KNOWN = json.loads((Path(__file__).parent / "data" / "best_known.json").read_text())


def test_the_squared_cosine_is_beta():
    x = np.linspace(0.001, 0.99, 40)
    for d in (3, 32, 768):
        np.testing.assert_allclose(cosine_tail(x, d), stats.beta(0.5, (d - 1) / 2).sf(x**2), rtol=1e-10, atol=1e-300)
    assert 2 * integrate.quad(lambda t: cosine_density(t, 32), 0.25, 1)[0] == pytest.approx(cosine_tail(0.25, 32))


@pytest.mark.parametrize("d", [2, 2.05, 2.35, 2.5, 2.9, 3, 3.3, 4, 5.5, 64, 300.5, 1024])
def test_the_tail_to_thirteen_digits_in_any_dimension_whole_or_not(d):
    with mpmath.workdps(40):
        for x in (0.0, 0.01, 0.1, 0.457, 0.7, 0.9, 0.99):
            beta = mpmath.betainc((mpmath.mpf(d) - 1) / 2, 0.5, 0, 1 - mpmath.mpf(x) ** 2, regularized=True)
            if d * x**2 < 2000:
                assert log_tail(x, d) == pytest.approx(float(mpmath.log(beta)), rel=1e-13, abs=1e-13)


def test_every_published_random_cell_within_three_and_a_half_percent():
    k, d, coherence = published_packings("random")
    assert len(k) == 256
    ratios = coherence / max_coherence_mean(k, d, draws=1000)
    assert ratios.min() > 1 - 0.035
    assert ratios.max() < 1 + 0.035
    assert abs(np.median(ratios) - 1) < 0.02


def test_the_mean_of_the_166_published_cells():
    k, d, mean = (np.array([row[place] for row in BEST_KNOWN["headroom"]], float) for place in (0, 1, 4))
    np.testing.assert_allclose(max_coherence_mean(k, d), mean, rtol=1e-4)


@pytest.mark.parametrize(("k", "d"), [(100, 32), (60, 48)])
def test_our_own_float32_draws_within_half_a_percent(k, d):
    rng = np.random.default_rng(k)
    found = np.empty(3000)
    for draw in range(len(found)):
        rows = rng.standard_normal((k, d), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        gram = rows @ rows.T
        np.fill_diagonal(gram, 0)
        found[draw] = max(gram.max(), -gram.min())
    assert found.mean() == pytest.approx(max_coherence_mean(k, d), rel=0.005)
    best_of_ten = found.reshape(-1, 10).min(axis=1)
    assert best_of_ten.mean() == pytest.approx(max_coherence_mean(k, d, draws=10), rel=0.005)
    assert np.mean(found <= max_coherence_quantile(0.3, k, d)) == pytest.approx(0.3, abs=0.03)


def test_two_directions_are_the_law_of_one_cosine():
    assert max_coherence_mean(2, 3) == pytest.approx(0.5)  # |cosine| is uniform in R^3
    assert max_coherence_cdf(0.25, 2, 3) == pytest.approx(0.25)
    assert max_coherence_cdf(0.25, 2, 3, draws=3) == pytest.approx(1 - 0.75**3)


def test_quantile_inverts_the_cdf():
    p = np.array([1e-6, 0.1, 0.5, 0.999999])
    for draws in (1, 1000):
        x = max_coherence_quantile(p, 2000, 256, draws)
        np.testing.assert_allclose(max_coherence_cdf(x, 2000, 256, draws), p, rtol=1e-6)


def test_the_mean_is_the_integral_of_the_survival_function():
    for k, d, draws in ((50, 8, 1), (2000, 64, 100)):
        expected = integrate.quad(lambda x, a=(k, d, draws): 1 - max_coherence_cdf(x, *a), 0, 1, limit=400)[0]
        assert max_coherence_mean(k, d, draws) == pytest.approx(expected, rel=1e-7)


def test_gumbel_form_and_its_range():
    assert gumbel_mean(32000, 4096) == pytest.approx(0.09515, abs=1e-5)
    assert gumbel_mean(32000, 768) == pytest.approx(0.21974, abs=1e-5)
    k, d = (column.ravel() for column in np.meshgrid([100, 2000, 32000, 10**6], [64, 256, 1024, 4096, 16384]))
    inside = gumbel_holds(k, d)
    error = np.abs(gumbel_mean(k, d) / max_coherence_mean(k, d) - 1)
    assert inside.any()
    assert error[inside].max() < 0.025
    assert error[~inside].max() > 0.05
    assert gumbel_cdf(max_coherence_quantile(0.5, 32000, 4096), 32000, 4096) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("draws", [1, 1000])
def test_pairs_beyond_a_float_are_counted_in_logarithms(draws):
    """The median x solves P(x) = ln 2 / pairs (one draw), in R^3 where P = 1 - x and in R^300 by its logarithm."""
    k, d = 1e200, 300
    x = max_coherence_quantile(0.5, k, d, draws)
    rate = -np.log1p(-(0.5 ** (1 / draws)))  # of 1 - F, the smallest of several draws
    assert log_tail(x, d) == pytest.approx(np.log(rate) - 2 * np.log(k) + np.log(2), rel=1e-9)
    assert max_coherence_cdf(x, k, d, draws) == pytest.approx(0.5, rel=1e-6)
    assert 0 < x < max_coherence_mean(k, 300) * 1.001 < 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: max_coherence_mean(1, 5),
        lambda: max_coherence_mean(float("nan"), 5),
        lambda: max_coherence_mean(10**400, 5),
        lambda: max_coherence_mean(100, 1),
        lambda: max_coherence_quantile(0.5, 10, 5, 0),
        lambda: max_coherence_cdf(0.5, 10, 5, 1.5),
    ],
)
def test_random_refusals(call):
    with pytest.raises(InputError):
        call()
