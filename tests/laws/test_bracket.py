"""Brackets: their three sides agree, worked answers, uncertainty carried to k, sensitivities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from superjax.core.errors import InputError
from superjax.laws import (
    LAWS,
    capacity,
    capacity_bracket,
    dimension_bracket,
    epsilon_bracket,
    epsilon_for,
    log10_capacity,
    lower_bound,
    sensitivity,
    shipped_fits,
)
from superjax.laws.uncertainty import carry


def test_llama_two_in_4096_dimensions():
    found = capacity_bracket(4096, 0.0645)
    assert found.expected["full"] == pytest.approx(3.99e7, rel=0.005)
    assert found.expected["ratio"] == pytest.approx(2.2e9, rel=0.03)
    assert found.constructed == 2**45 + 4096  # more than the 1.7e10 of r = 1
    assert found.log10_bound == pytest.approx(23.3, abs=0.05)
    # the Johnson-Lindenstrauss answers, 277 and 8.4, lie below the 4096 orthonormal directions
    assert 10 ** found.laws["jl_random"].formula == pytest.approx(277, abs=0.5)
    assert 10 ** found.laws["jl_proven"].formula == pytest.approx(8.4, abs=0.05)
    assert found.expected["jl_random"] == found.expected["jl_proven"] == 4096.0
    assert all(found.laws[name].extrapolated for name in LAWS if name != "jl_proven")


def test_at_one_sixty_fourth_what_is_built_is_what_is_possible():
    found = capacity_bracket(4096, 1 / 64)
    assert found.constructed == found.bound == 8_392_704
    assert found.construction.name == "Kerdock set in R^4096"
    assert found.expected["full"] == pytest.approx(9600, rel=0.01)
    assert found.log10_expected["full"] < found.log10_constructed


@pytest.mark.parametrize("d", [2, 3, 8, 24, 100, 512, 4096, 20000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.03, 0.11, 0.3, 0.62, 0.95])
def test_the_sides_never_cross(d, epsilon):
    found = capacity_bracket(d, epsilon)
    assert d <= found.constructed
    assert found.log10_constructed <= found.log10_bound + 1e-12
    for name in LAWS:
        assert math.log10(d) - 1e-12 <= found.log10_expected[name] <= found.log10_bound + 1e-12
        assert found.laws[name].formula == pytest.approx(log10_capacity(d, epsilon, name))
        assert not math.isnan(found.expected[name])


@pytest.mark.parametrize(("k", "d"), [(1, 2), (2, 2), (3, 3), (10, 3), (32000, 4096), (10**6, 64), (10**30, 300)])
def test_the_sides_of_a_coherence_never_cross(k, d):
    found = epsilon_bracket(k, d)
    assert 0 <= found.bound <= found.constructed * (1 + 1e-12) <= 1 + 1e-12
    assert found.bound == lower_bound(k, d).value
    for name in LAWS:
        assert found.bound <= found.expected[name] <= 1
        assert found.laws[name].formula == epsilon_for(k, d, name)
    if k <= d:
        assert found.constructed == found.bound == 0
        assert set(found.expected.values()) == {0.0}


def test_a_planner_for_32000_directions():
    found = dimension_bracket(32000, 0.0645)
    assert found.constructed == 256  # 33,024 lines at 1/16
    assert lower_bound(32000, found.bound).value <= 0.0645 < lower_bound(32000, found.bound - 1).value
    assert found.bound <= found.constructed < found.expected["full"]
    for name in LAWS:
        assert capacity(found.expected[name], 0.0645, name) == pytest.approx(32000, rel=1e-6)
        if found.laws[name].interval is not None and name != "quantile":
            low, high = found.laws[name].interval.covariance
            assert low < found.expected[name] < high


@pytest.mark.parametrize(("k", "epsilon"), [(1, 0.5), (2, 0.5), (5, 0.1), (10**9, 0.05), (10**12, 1e-4)])
def test_a_planner_never_asks_for_more_than_k_nor_less_than_is_possible(k, epsilon):
    found = dimension_bracket(k, epsilon)
    assert 1 <= found.bound <= found.constructed <= k
    for name in LAWS:
        assert found.bound <= found.expected[name] <= k * (1 + 1e-9)
    assert found.construction.coherence <= epsilon * (1 + 1e-12)
    assert found.construction.k >= k


class TestUncertainty:
    def test_first_order_of_the_ratio_form_in_closed_form(self):
        record = shipped_fits()["ratio"]
        C, error = record["constants"]["C"], math.sqrt(record["covariance"][0][0])
        log10_k = math.log10(4096 * math.exp(4096 * 0.0645**2 / C))
        slope = 4096 * 0.0645**2 / C**2 / math.log(10)
        low, high = capacity_bracket(4096, 0.0645).laws["ratio"].interval.covariance
        assert (low, high) == pytest.approx((log10_k - 1.959964 * slope * error, log10_k + 1.959964 * slope * error))

    def test_bootstrap_draws_are_carried_one_by_one(self):
        draws = np.array(shipped_fits()["full"]["bootstrap"])
        C, a, b, c = draws.T
        answers = (math.log(4096) + (4096**c * 0.0645**2 / C) ** (1 / b)) / a / math.log(10)
        expected = np.quantile(answers, [0.025, 0.975])
        found = capacity_bracket(4096, 0.0645).laws["full"].interval
        assert found.bootstrap == pytest.approx(tuple(expected), rel=1e-8)
        assert found.bootstrap[0] < found.covariance[0] < found.covariance[1] < found.bootstrap[1]

    def test_a_theorem_has_no_interval_and_the_quantile_law_has_its_spread(self):
        laws = capacity_bracket(4096, 0.0645).laws
        assert laws["jl_proven"].interval is None
        assert laws["quantile"].interval.covariance is None
        low, high = laws["quantile"].interval.bootstrap
        assert low < high < laws["quantile"].formula  # published optima lie 1.5 to 14 % above the quantile

    def test_a_constant_answer_has_no_spread(self):
        found = carry("full", lambda form: 1.0)
        assert found.covariance == found.bootstrap == (1.0, 1.0)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("d", "epsilon"), [(4096, 0.0645), (300, 0.2), (2, 0.5)])
def test_sensitivities_are_finite_differences(name, d, epsilon):
    by_epsilon, by_d = sensitivity(d, epsilon, name)
    h = 1e-4
    up, down = log10_capacity(d, epsilon * (1 + h), name), log10_capacity(d, epsilon * (1 - h), name)
    assert by_epsilon == pytest.approx((up - down) / (2 * h), rel=1e-4)
    here, one, two = (log10_capacity(d * (1 + step), epsilon, name) for step in (0, h, 2 * h))
    assert by_d == pytest.approx((4 * one - 3 * here - two) / (2 * h), rel=2e-4)  # one-sided, second order


def test_marks_and_intervals_of_a_coherence():
    found = epsilon_bracket(32000, 4096)
    assert not found.laws["full"].extrapolated
    assert not found.laws["ratio"].extrapolated
    assert found.laws["quantile"].extrapolated  # k/d below 16
    assert not epsilon_bracket(32000, 1000).laws["quantile"].extrapolated
    assert epsilon_bracket(64000, 1000).laws["full"].extrapolated
    assert not epsilon_bracket(1000, 4096).laws["full"].extrapolated  # k <= d: 0, by no law
    record = shipped_fits()["ratio"]
    C, error = record["constants"]["C"], math.sqrt(record["covariance"][0][0])
    epsilon = math.sqrt(C * math.log(32000 / 4096) / 4096)
    low, high = found.laws["ratio"].interval.covariance
    expected = epsilon - 1.959964 * epsilon * error / (2 * C), epsilon + 1.959964 * epsilon * error / (2 * C)
    assert (low, high) == pytest.approx(expected, rel=1e-8)
    draws = np.sqrt(np.array(record["bootstrap"])[:, 0] * math.log(32000 / 4096) / 4096)
    assert found.laws["ratio"].interval.bootstrap == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), rel=1e-8)


def test_marks_and_intervals_of_a_dimension():
    found = dimension_bracket(32000, 0.0645)
    assert not found.laws["full"].extrapolated
    assert not found.laws["ratio"].extrapolated
    assert not found.laws["jl_proven"].extrapolated
    assert found.laws["jl_optimised"].extrapolated == (found.laws["jl_optimised"].formula > 4096)
    assert all(dimension_bracket(10**6, 0.0645).laws[name].extrapolated for name in LAWS if name != "jl_proven")
    for name in ("full", "ratio"):
        low, high = found.laws[name].interval.bootstrap
        assert low < found.laws[name].formula < high


def test_what_is_expected_is_never_more_than_is_possible():
    found = capacity_bracket(3, 0.5)
    assert found.bound == 6
    assert capacity(3, 0.5) > 10
    assert found.expected["full"] == 6
    assert 10 ** found.log10_expected["full"] == pytest.approx(6)


@pytest.mark.parametrize(("k", "d"), [(10**160, 300), (10**300, 300), (10**300, 3), (10**30, 2), (10**300, 10**9)])
def test_the_random_mean_of_any_number_of_directions(k, d):
    found = epsilon_bracket(k, d)
    assert found.bound <= found.random <= 1
    if d == 300:  # 1/P pairs: (1 - x^2)^((d-1)/2) is P to a factor that hardly counts
        assert 1 - found.random**2 == pytest.approx(k ** (-4 / 299) if k < 10**200 else 10 ** (-1200 / 299), rel=0.1)


def test_sensitivity_is_the_closed_derivative_of_the_ratio_form():
    C = shipped_fits()["ratio"]["constants"]["C"]
    exponent = 4096 * 0.0645**2 / C
    expected = (2 * exponent / math.log(10), (1 + exponent) / math.log(10))
    assert sensitivity(4096, 0.0645, "ratio") == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    "call",
    [
        lambda: capacity_bracket(1, 0.5),
        lambda: capacity_bracket(4.5, 0.5),
        lambda: capacity_bracket(4096, 0.0),
        lambda: capacity_bracket(4096, 1.0),
        lambda: epsilon_bracket(0, 4),
        lambda: epsilon_bracket(4, 1),
        lambda: dimension_bracket(10, float("nan")),
        lambda: dimension_bracket(float("inf"), 0.1),
        lambda: dimension_bracket(10**400, 0.1),
        lambda: epsilon_bracket(10**400, 300),
    ],
)
def test_bad_arguments(call):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
