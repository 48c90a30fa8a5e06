"""Figures of the bracket: constructions as steps, bounds below what is built, published points where there are some."""

from __future__ import annotations

import math

import numpy as np
import pytest

from superjax.figures import bracket as draw
from superjax.figures import save
from superjax.laws import best_construction, epsilon_for, largest_construction, published_packings


def test_the_bracket_steps_where_a_construction_begins(tmp_path):
    figure = draw.bracket_figure(256, draw.bracket_curves(256, mark=0.07, points=30), mark=0.07)
    (axes,) = figure.axes
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    built = next(line for line in axes.lines if "built" in str(line.get_label()))
    x, y = built.get_xdata(), built.get_ydata()
    place = list(x).index(1 / 16)
    assert y[place] == pytest.approx(math.log10(33_024))
    assert y[place - 1] == pytest.approx(math.log10(largest_construction(256, x[place - 1]).k))
    assert np.all(np.diff(y) >= 0)
    assert sum("form" in str(line.get_label()) for line in axes.lines) == 2
    assert save(figure, tmp_path, "bracket")[0].stat().st_size > 10_000


def test_epsilon_against_k_holds_the_published_points_between_bound_and_random(tmp_path):
    curves = draw.epsilon_curves(64, mark=3000, points=20)
    figure = draw.epsilon_figure(64, curves, mark=3000)
    (axes,) = figure.axes
    lines = {str(line.get_label()): line.get_data() for line in axes.lines}
    k, d, coherence = published_packings("optimised")
    same = (d == 64) & (k <= curves["k"][-1])
    np.testing.assert_array_equal(lines["published optima"], [k[same], coherence[same]])
    for name in ("impossible", "random"):
        inside = np.interp(k[same], curves["k"], curves[name])
        assert np.all((coherence[same] > inside) == (name == "impossible"))
    at, built = lines["built (explicit constructions)"]
    assert built[7] == best_construction(int(at[7]), 64).value
    np.testing.assert_allclose(lines["full form"][1], np.maximum(epsilon_for(curves["k"], 64.0), curves["impossible"]))
    save(figure, tmp_path, "epsilon")


@pytest.mark.parametrize(("d", "mark"), [(2, 5), (4096, 10**30)])
def test_small_dimensions_and_huge_numbers_draw_without_a_warning(d, mark, tmp_path):
    figure = draw.epsilon_figure(d, draw.epsilon_curves(d, mark=mark, points=12), mark=mark)
    save(figure, tmp_path, "epsilon")
