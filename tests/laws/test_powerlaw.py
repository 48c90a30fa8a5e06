"""Power laws, offsets and the exponent of width: published slopes, drawn constants, closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from superjax.core.errors import InputError
from superjax.laws import fit_offset, fit_power, width_exponent

WIDTHS = np.array([8, 16, 32, 64, 128, 256, 512, 1024.0])
# read off Figure 1 of arXiv 2505.10465; slope, standard error, R2 as published there
FIGURE_ONE = [
    ([1.290, 0.941, 0.565, 0.187, 0.114, 0.0461, 0.0334, 0.0102], None, -1.005, 0.052, 0.984),
    ([0.547, 0.414, 0.312, 0.158, 0.0882, 0.0290, 0.0307, 0.0088], (32, 1024), -0.984, 0.096, 0.963),
    ([1.332, 1.242, 0.956, 0.670, 0.335, 0.166, 0.0752, 0.0554], (32, 1024), -0.886, 0.052, 0.987),
    ([1.329, 1.279, 1.274, 1.172, 1.022, 0.898, 0.693, 0.399], None, -0.218, 0.044, 0.802),
    ([0.683, 0.880, 0.927, 0.942, 0.681, 0.557, 0.384, 0.267], (64, 1024), -0.446, 0.025, 0.991),
    ([1.342, 1.335, 1.304, 1.247, 1.222, 1.125, 1.027, 0.880], None, -0.081, 0.013, 0.867),
]


@pytest.mark.parametrize(("loss", "window", "slope", "error", "r2"), FIGURE_ONE)
def test_published_slopes(loss, window, slope, error, r2):
    fit = fit_power(WIDTHS, loss, window=window)
    assert fit.exponent == pytest.approx(slope, abs=0.0015)
    assert fit.exponent_stderr == pytest.approx(error, abs=0.0006)
    assert fit.r2 == pytest.approx(r2, abs=0.002)
    x, y = (
        (WIDTHS, np.array(loss))
        if window is None
        else (WIDTHS[window[0] <= WIDTHS], np.array(loss)[window[0] <= WIDTHS])
    )
    oracle = stats.linregress(np.log(x), np.log(y))
    assert (fit.exponent, fit.exponent_stderr) == pytest.approx((oracle.slope, oracle.stderr))
    assert fit.scale == pytest.approx(np.exp(oracle.intercept))
    assert fit.r2 == pytest.approx(oracle.rvalue**2)
    assert fit.interval[0] < fit.exponent < fit.interval[1]


def test_the_bootstrap_interval_covers_a_drawn_exponent():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(60):
        x = np.geomspace(8, 1024, 25)
        fit = fit_power(x, 3 * x**-0.7 * np.exp(0.1 * rng.standard_normal(25)), draws=200)
        covered += fit.interval[0] <= -0.7 <= fit.interval[1]
    assert covered >= 50  # nominally 57 of 60
    np.testing.assert_allclose(fit.predict(x), fit.scale * x**fit.exponent)


def test_power_refusals():
    with pytest.raises(InputError, match="positive finite"):
        fit_power([1, 2, 3], [1, 0, 1])
    with pytest.raises(InputError, match="fewer than two different x"):
        fit_power([1, 2, 3], [1, 2, 3], window=(2, 2.5))


def draw(alpha, scale, noise, seed):
    rng = np.random.default_rng(seed)
    offsets = {(c, s): rng.uniform(1.4, 2.4) for c in ("OPT", "GPT-2", "Qwen", "Pythia") for s in "abcd"}
    rows = [(m, group) for group in offsets for m in (512, 768, 1024, 2048, 2560, 4096, 5120)]
    m = np.array([row[0] for row in rows], float)
    groups = [row[1] for row in rows]
    loss = scale / m**alpha + np.array([offsets[group] for group in groups]) + noise * rng.standard_normal(len(m))
    return m, loss, groups, offsets


def test_offsets_without_noise_are_exact():
    m, loss, groups, offsets = draw(0.9098, 476.08, 0.0, 1)
    fit = fit_offset(m, loss, groups, draws=0)
    assert (fit.alpha, fit.scale) == pytest.approx((0.9098, 476.08), rel=1e-6)
    assert fit.offsets == pytest.approx(offsets, abs=1e-6)
    np.testing.assert_allclose(fit.predicted, loss, atol=1e-9)


def test_drawn_constants_lie_within_their_errors():
    misses, covered = [], 0
    for seed in range(24):
        m, loss, groups, _ = draw(0.9098, 476.08, 0.05, seed)
        fit = fit_offset(m, loss, groups, draws=60)
        misses.append((fit.alpha - 0.9098) / fit.alpha_stderr)
        covered += fit.interval[0] <= 0.9098 <= fit.interval[1]
    assert 0.6 < np.std(misses) < 1.5
    assert abs(np.mean(misses)) < 0.6
    assert covered >= 19
    assert fit.mse == pytest.approx(0.05**2, rel=0.5)


def test_the_standard_errors_are_those_of_an_independent_least_squares():
    from scipy.optimize import curve_fit

    m, loss, groups, _ = draw(0.9098, 476.08, 0.05, 3)
    labels = sorted(set(groups))
    member = np.array([labels.index(group) for group in groups])

    def model(widths, scale, alpha, *offsets):
        return scale / widths**alpha + np.array(offsets)[member]

    start = (400.0, 0.9, *[2.0] * len(labels))
    constants, covariance = curve_fit(model, m, loss, p0=start, xtol=1e-14, ftol=1e-14, maxfev=50000)
    fit = fit_offset(m, loss, groups, draws=0)
    assert fit.alpha == pytest.approx(constants[1], rel=1e-4)
    assert fit.alpha_stderr == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-2)
    assert fit.scale_stderr == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-2)


def test_offset_refusals():
    with pytest.raises(InputError, match="do not fix A, alpha and 1 offsets"):
        fit_offset([64, 64, 64, 64, 64], [1, 1, 1, 1, 1], ["a"] * 5)
    with pytest.raises(InputError, match="widths must be positive"):
        fit_offset([0, 1, 2, 3], [1, 1, 1, 1], ["a"] * 4)


@pytest.mark.parametrize(
    ("m", "loss", "groups", "message"),
    [
        ([64, 128, 256, 512, 1024], [2, 2, 2, 2, 2], "aaaaa", "do not vary within any group"),
        ([64, 64, 128, 128, 256, 256], [2, 2.1, 1.5, 1.6, 1.2, 1.25], "aabbcc", "do not fix A, alpha and 3 offsets"),
        ([64, 128, 64, 128, 256, 256], [2, 1.5, 2.1, 1.6, 1, 1.1], "aabbcc", "do not fix A, alpha and 3 offsets"),
        ([64, 128, 256, 512, 1024], np.log([64, 128, 256, 512, 1024]), "aaaaa", "at an end of the range searched"),
        ([1, 2, 3, 4, 5, 6], 100 * np.arange(1.0, 7) ** -12 + 1, "aaaaaa", "at an end of the range searched"),
        ([1e-300, 2e-200, 1e100, 1e200, 1e300], [5, 4, 3, 2, 1.5], "aaaaa", "widths must be positive"),
    ],
)
def test_offsets_that_the_rows_do_not_fix(m, loss, groups, message):
    with pytest.raises(InputError, match=message):
        fit_offset(m, loss, list(groups))


def test_the_exponent_of_width():
    alpha, error = width_exponent(0.35, 0.02)
    assert alpha == pytest.approx(0.35 * 2.52)
    assert error == pytest.approx(np.hypot(2.52 * 0.02, 0.35 * 0.03))
