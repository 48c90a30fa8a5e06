"""Fits of the capacity laws: the published constants, drawn constants recovered, intervals, and what ships."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import curve_fit

from superjax.core.errors import InputError
from superjax.laws import fit_law, percentage_errors, published_packings, shipped_fits
from superjax.laws.fitting import shipped_records


def significant(value, digits=4):
    return float(f"{value:.{digits}g}")


@pytest.mark.parametrize(
    ("law", "kind", "low_k", "constants", "r2", "mape"),
    [
        ("jl", "random", "formula", {"C": 3.029479}, 0.99849, 1.309),
        ("jl", "optimised", "formula", {"C": 0.7067605}, 0.963, 975),
        ("ratio", "optimised", "zero", {"C": 1.2934008}, 0.99835, 7.949),
        ("full", "optimised", "zero", {"C": 0.45809, "a": 1.0668, "b": 1.44739, "c": 0.97197}, 0.99977, 5.351),
    ],
)
def test_the_four_published_sets_of_constants(law, kind, low_k, constants, r2, mape):
    fit = fit_law(*published_packings(kind), law, low_k=low_k, draws=0)
    assert {name: significant(value) for name, value in fit.constants.items()} == {
        name: significant(value) for name, value in constants.items()
    }
    assert fit.r2 == pytest.approx(r2, abs=1.1e-5 if r2 != 0.963 else 6e-4)
    assert fit.mape == pytest.approx(mape, rel=5e-4)
    assert len(fit.low_rows) == {"optimised": 6, "random": 10}[kind]


@pytest.mark.parametrize(("law", "median"), [("jl", 35.6), ("ratio", 3.58), ("full", 1.28)])
def test_medians_with_low_k_left_out(law, median):
    fit = fit_law(*published_packings("optimised"), law, draws=0)
    assert fit.n == 160
    assert fit.median_ape == pytest.approx(median, abs=0.05 if law == "jl" else 0.006)
    assert (4000, 4096) in fit.low_rows


def test_medians_with_low_k_as_published():
    for law, low_k, median in (("jl", "formula", 38.7), ("ratio", "zero", 3.77), ("full", "zero", 1.29)):
        fit = fit_law(*published_packings("optimised"), law, low_k=low_k, draws=0)
        assert fit.median_ape == pytest.approx(median, abs=0.06 if law == "jl" else 0.006)


def grid(seed=0):
    k, d = (column.ravel() for column in np.meshgrid(np.linspace(1000, 60000, 9), [32.0, 64, 128, 256, 512, 1024]))
    return k[k > d], d[k > d], np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("law", "constants"),
    [("jl", (2.7,)), ("ratio", (1.1,)), ("full", (0.6, 1.05, 1.3, 0.98)), ("quantile", (0.93,))],
)
def test_drawn_constants_are_recovered(law, constants):
    from superjax.laws.fitting import _predict, _rows

    k, d, rng = grid()
    truth = _predict(law, np.array(constants), _rows(law, k, d, np.zeros_like(k), "exclude"))
    exact = fit_law(k, d, truth, law, draws=0)
    np.testing.assert_allclose(list(exact.constants.values()), constants, rtol=1e-7)
    assert exact.mape < 1e-6
    noisy = fit_law(k, d, truth * (1 + 0.01 * rng.standard_normal(len(k))), law, draws=200)
    for place, name in enumerate(noisy.constants):
        assert abs(noisy.constants[name] - constants[place]) < 4 * noisy.stderr[name]
        low, high = noisy.interval(name)
        assert low < noisy.constants[name] < high
    assert noisy.leave_one_d_out >= 0.95 * noisy.mape


def test_covariance_and_aic_are_those_of_an_independent_least_squares():
    k, d, coherence = published_packings("optimised")
    keep = k > d
    k, d, coherence = k[keep], d[keep], coherence[keep]

    def full(columns, C, a, b, c):
        return np.sqrt(C * np.log(columns[0] ** a / columns[1]) ** b / columns[1] ** c)

    constants, covariance = curve_fit(full, (k, d), coherence, p0=(0.5, 1.1, 1.4, 1.0), xtol=1e-13, ftol=1e-13)
    fit = fit_law(k, d, coherence, "full", draws=0)
    np.testing.assert_allclose(list(fit.constants.values()), constants, rtol=1e-5)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-3)
    rss = np.sum((coherence - full((k, d), *constants)) ** 2)
    assert fit.aic == pytest.approx(len(k) * np.log(rss / len(k)) + 2 * 5, rel=1e-9)
    assert fit.aic < fit_law(k, d, coherence, "ratio", draws=0).aic


def test_leave_one_d_out_of_the_ratio_form_by_hand():
    k, d, rng = grid()
    coherence = np.sqrt(1.3 * np.log(k / d) / d) * (1 + 0.02 * rng.standard_normal(len(k)))
    errors = []
    for value in np.unique(d):
        out = d == value
        shape = np.sqrt(np.log(k / d) / d)
        root = np.linalg.lstsq(shape[~out, None], coherence[~out], rcond=None)[0][0]
        errors += list(100 * np.abs(root * shape[out] - coherence[out]) / coherence[out])
    assert fit_law(k, d, coherence, "ratio", draws=0).leave_one_d_out == pytest.approx(np.mean(errors), rel=1e-9)


def test_a_coherence_of_exactly_zero_has_no_percentage_but_counts_in_the_fit():
    k, d, _ = grid()
    coherence = np.sqrt(1.3 * np.log(k / d) / d)
    fit = fit_law(np.append(k, 30.0), np.append(d, 32.0), np.append(coherence, 0.0), "ratio", low_k="zero", draws=0)
    assert fit.n == len(k) + 1
    assert fit.mape < 1e-9
    assert fit.low_rows == ((30, 32),)


def test_errors_of_given_constants():
    k, d, coherence = published_packings("optimised")
    mean, median = percentage_errors(k, d, coherence, "ratio", (1.2934008,))
    fit = fit_law(k, d, coherence, "ratio", draws=0)
    assert (mean, median) == pytest.approx((fit.mape, fit.median_ape), rel=1e-5)


def test_what_ships_is_what_the_fit_gives():
    shipped, fresh = shipped_fits(), shipped_records()
    assert shipped.keys() == fresh.keys()
    for name in shipped:
        assert shipped[name].keys() == fresh[name].keys()
        for entry in ("covariance", "bootstrap", "spread"):
            if entry in shipped[name]:
                np.testing.assert_allclose(shipped[name][entry], fresh[name][entry], rtol=1e-3)
        for entry in ("constants", "recommended"):
            if entry in shipped[name]:
                assert shipped[name][entry] == pytest.approx(fresh[name][entry], rel=1e-6)
        assert shipped[name]["range"] == fresh[name]["range"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("jls", "exclude"), "law: 'jls' is unknown; choose one of jl, ratio"),
        (("jl", "drop"), "low_k: 'drop' is unknown; choose one of formula"),
        (("full", "exclude"), "4 rows are left for the full law"),
    ],
)
def test_bad_arguments(arguments, message):
    law, low_k = arguments
    with pytest.raises(InputError, match=message):
        fit_law([100, 200, 300, 400], [10, 10, 10, 10], [0.4, 0.5, 0.5, 0.6], law, low_k=low_k)


def table_of(*ds, law=lambda k, d: np.sqrt(1.2 * np.log(k / d) / d)):
    k, d = (column.ravel() for column in np.meshgrid([1000.0, 2000, 4000, 8000], ds))
    noise = 1 + 0.01 * ((k // 1000 + d) % 3 - 1)
    return k, d, np.where(k > d, law(k, np.minimum(d, k)) * noise, 0.001)


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("low_k", ["zero", "exclude", "formula"])
def test_a_dimension_without_a_row_above_it_tells_nothing_and_harms_nothing(seed, low_k):
    k, d, coherence = table_of(32, 64, 128)
    with_low = np.append(k, [1000, 2000]), np.append(d, [4096, 4096]), np.append(coherence, [0.001, 0.0012])
    fit = fit_law(*with_low, "ratio", low_k=low_k, draws=100, seed=seed)
    assert np.all(np.isfinite(fit.bootstrap))
    assert fit.bootstrap.shape == (100, 1)
    assert fit.constants["C"] == pytest.approx(1.2, rel=0.05)
    if low_k == "exclude":
        assert fit.leave_one_d_out == fit_law(k, d, coherence, "ratio", draws=0).leave_one_d_out


def test_one_dimension_of_two_is_left_out_where_the_other_says_nothing():
    fit = fit_law([1000, 2000, 1000, 2000], [32, 32, 4096, 4096], [0.36, 0.39, 0.001, 0.002], "ratio", low_k="zero")
    assert fit.leave_one_d_out == pytest.approx(100)  # 4096 predicted 0; 32 cannot be left out
    assert np.all(fit.bootstrap > 0)


@pytest.mark.parametrize(
    ("k", "d", "coherence", "law"),
    [
        ([1000, 2000, 3000], [4096] * 3, [0.1, 0.1, 0.1], "ratio"),
        ([1000, 2000, 4000], [32] * 3, [0.0] * 3, "ratio"),
        ([1000, 2000, 4000], [32] * 3, [0.0] * 3, "jl"),
        ([1000, 2000, 4000], [32] * 3, [0.0] * 3, "quantile"),
        (*table_of(64), "full"),
        (*table_of(32, 64), "full"),
        ([1000] * 8, [32] * 8, [0.36] * 8, "full"),
        ([1000] * 6, [32, 32, 64, 64, 128, 128], [0.36, 0.36, 0.2, 0.2, 0.15, 0.15], "full"),
    ],
)
def test_rows_that_do_not_fix_the_constants_are_refused(k, d, coherence, law):
    with pytest.raises(InputError, match=f"do not fix the {law} law's constants|fewer than its constants"):
        fit_law(k, d, coherence, law, low_k="zero")


def test_short_samples_of_the_full_law_are_drawn_again():
    law = lambda k, d: np.sqrt(0.6 * np.log(k**1.05 / d) ** 1.3 / d**0.98)  # noqa: E731
    k, d, coherence = table_of(32, 64, 96, 128, law=law)
    keep = (d != 128) | (k == 8000)
    fit = fit_law(k[keep], d[keep], coherence[keep], "full", draws=30)
    assert fit.bootstrap.shape == (30, 4)
    assert np.all(np.isfinite(fit.bootstrap))


def test_a_fit_predicts_zero_up_to_d_by_every_law():
    for law in ("jl", "ratio", "full", "quantile"):
        fit = fit_law(*table_of(32, 64, 128), law, draws=0)
        low, high = fit.predict(np.array([100.0, 128, 4000]), np.array([128.0, 128, 128])), fit.predict([4000], [128])
        assert low[0] == low[1] == 0.0
        assert low[2] == high[0] > 0


def test_errors_of_given_constants_leave_out_k_up_to_d():
    k, d, coherence = table_of(32, 64, 128)
    expected = percentage_errors(k, d, coherence, "jl", (0.7,))
    found = percentage_errors(np.append(k, 128), np.append(d, 128), np.append(coherence, 0.9), "jl", (0.7,))
    assert found == expected
    with pytest.raises(InputError, match="no row has k > d"):
        percentage_errors(np.array([4.0]), np.array([4.0]), np.array([0.1]), "ratio", (1.2,))


def test_dimensions_that_all_must_be_drawn_give_no_interval():
    """Three dimensions tell the full law only together: each resample would be the table itself."""
    k, d, rng = grid()
    coherence = np.sqrt(np.log(k / d) / d) * (1 + 0.02 * rng.standard_normal(len(k)))
    few = d <= 128
    full = fit_law(k[few], d[few], coherence[few], "full", draws=20)
    assert full.bootstrap.shape == (0, 4)
    assert np.isnan(full.interval("C")).all()
    assert full.stderr["C"] > 0
    two = d <= 64
    assert np.isnan(fit_law(k[two], d[two], coherence[two], "ratio", draws=50).interval("C")).all()
    low, high = fit_law(k[few], d[few], coherence[few], "ratio", draws=50).interval("C")
    assert low < high
    low, high = fit_law(k, d, coherence, "full", draws=20).interval("C")
    assert low < high
