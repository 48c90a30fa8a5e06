"""Figures of the laws show the data they are given, with labelled axes, and draw without a warning."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.figures import laws as draw
from superjax.figures import save
from superjax.laws import fit_law, fit_offset, fit_power


@pytest.fixture(scope="module")
def fits():
    k, d = (column.ravel() for column in np.meshgrid([1000.0, 4000, 16000], [32.0, 64, 128, 256]))
    coherence = np.sqrt(1.2 * np.log(k / d) / d) * np.linspace(0.98, 1.02, len(k))
    return [fit_law(k, d, coherence, law, draws=0) for law in ("ratio", "full")]


def labelled(figure):
    return all(axes.get_xlabel() for axes in figure.axes)


def test_surfaces_hold_the_tables_points(fits, tmp_path):
    figure = draw.surface_figure(fits)
    assert len(figure.axes) == 2
    points = figure.axes[0].collections[1]
    assert len(points.get_offsets()) == len(fits[0].k)
    assert labelled(figure)
    save(figure, tmp_path, "surfaces")


def test_residuals_are_percentages(fits, tmp_path):
    figure = draw.residual_figure(fits)
    shown = np.concatenate([line.get_ydata() for line in figure.axes[0].lines[:-1]])
    fit = fits[0]
    expected = 100 * (fit.coherence - fit.predicted) / fit.coherence
    np.testing.assert_allclose(np.sort(shown), np.sort(expected))
    assert labelled(figure)
    save(figure, tmp_path, "residuals")


def test_power_and_offset_figures(tmp_path):
    x = np.array([8.0, 16, 32, 64])
    figure = draw.power_figure(fit_power(x[1:], 3 / x[1:]), x, 3 / x, ("m", "loss"))
    inside, outside, line = figure.axes[0].lines
    assert (len(inside.get_xdata()), len(outside.get_xdata())) == (3, 1)
    np.testing.assert_allclose(line.get_ydata(), 3 / np.array([16.0, 64.0]))
    save(figure, tmp_path, "power")

    m, groups = np.tile([64.0, 128, 256, 512], 2), ["a"] * 4 + ["b"] * 4
    loss = 30 / m + np.repeat([1.0, 2.0], 4)
    figure = draw.offset_figure(fit_offset(m, loss, groups, draws=0), m, loss, groups)
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), 30 / m[:4], rtol=1e-6)
    assert labelled(figure)
    save(figure, tmp_path, "offset")


def test_curves_are_the_fits_and_points_the_tables(fits, tmp_path):
    figure = draw.curves_figure(fits)
    for axes, fit in zip(figure.axes, fits, strict=True):
        points, curve = axes.lines[0], axes.lines[1]
        rows = fit.d == 32
        np.testing.assert_array_equal(points.get_data(), [fit.k[rows], fit.coherence[rows]])
        k, shown = curve.get_data()
        np.testing.assert_allclose(shown, fit.predict(k, np.full_like(k, 32.0)))
    assert labelled(figure)
    save(figure, tmp_path, "curves")


def test_a_power_law_over_six_hundred_decades_draws_without_a_warning(tmp_path):
    x = np.array([1e-300, 1e-150, 1.0, 1e300])
    figure = draw.power_figure(fit_power(x, 1 / x), x, 1 / x, ("m", "loss $"))
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xdata(), [-300, -150, 0, 300])
    assert "log" in figure.axes[0].get_xlabel()
    save(figure, tmp_path, "wide")


def test_a_power_figure_has_its_sizes_as_ticks_and_says_its_group():
    x = np.array([4.0, 8, 16])
    axes = draw.power_figure(fit_power(x, 3 / x), x, 3 / x, ("m", "loss"), "decay -1.0").axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4", "8", "16"]
    assert axes.get_title(loc="left").startswith("decay -1.0\nexponent")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["fitted", "exponent -1.000"]


def test_every_panel_of_residuals_and_every_single_point_is_labelled():
    k, d = np.array([800.0, 1600, 800, 3200]), np.array([16.0, 16, 32, 16])
    fit = fit_law(k, d, np.sqrt(np.log(k / d) / d), "ratio", draws=0)
    assert [axes.get_ylabel() for axes in draw.residual_figure([fit, fit]).axes] == ["measured - fitted, %"] * 2
    [panel] = draw.curves_figure([fit]).axes
    assert len(panel.get_lines()) == 4  # points and a curve for each d, one of which has a single point
