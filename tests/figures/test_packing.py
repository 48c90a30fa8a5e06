"""Packing figures show the numbers they are given."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.figures import packing as draw
from superjax.figures.packing_grid import coherence_figure
from superjax.laws import published_packings

ROW = {
    "objective": "coherence", "k": 20, "d": 3, "value": 0.85, "lower_bound": 0.8, "bound_name": "cap",
    "published": None, "construction": 0.9, "random_mean": 0.99,
}  # fmt: skip


def line(axes, label):
    (found,) = [one for one in axes.lines if one.get_label() == label]
    return found


def test_steps_show_history_and_references():
    history = np.array([0.9, 0.95, 0.86, 0.87])
    (axes,) = draw.steps_figure(history, ROW).axes
    np.testing.assert_array_equal(line(axes, "at this step").get_ydata(), history)
    np.testing.assert_array_equal(line(axes, "least so far").get_ydata(), [0.9, 0.9, 0.86, 0.86])
    assert axes.get_xscale() == "linear"
    assert line(axes, "proven bound (caps), 0.8").get_ydata()[0] == 0.8
    assert line(axes, "best construction, 0.9").get_ydata()[0] == 0.9
    assert not [one for one in axes.lines if str(one.get_label()).startswith("published")]


@pytest.mark.parametrize("start", [None, np.array([0, 3, 4, 3])])
def test_the_gram_histogram_is_a_density_beside_the_random_law(start):
    counts = np.array([1, 4, 4, 1])
    (axes,) = draw.gram_figure(counts, start, ROW).axes
    heights = next(patch for patch in axes.patches if patch.get_label() == "packed").get_data()
    assert np.sum(heights.values * np.diff(heights.edges)) == pytest.approx(1)
    np.testing.assert_allclose(line(axes, "random law").get_ydata(), 0.5)  # d = 3: uniform
    assert line(axes, "bound on the largest |cosine|")
    assert sorted(one.get_xdata()[0] for one in axes.lines if len(one.get_xdata()) == 2) == [-0.8, 0.8]


def test_the_gram_histogram_of_points_has_one_bound_and_no_law_below_its_axis():
    counts = np.zeros(400, int)
    counts[266] = 3  # one pair in a bin is denser than the random law's 0.5 everywhere
    row = {**ROW, "objective": "spherical", "lower_bound": 1 / 3}
    (axes,) = draw.gram_figure(counts, None, row).axes
    assert [one.get_label() for one in axes.lines] == ["bound on the largest cosine"]


def test_orthogonal_lines_have_the_whole_axis_of_cosines():
    counts = np.zeros(400, int)
    counts[200] = 3
    row = {**ROW, "k": 3, "value": 0.0, "lower_bound": 0.0}
    (axes,) = draw.gram_figure(counts, None, row).axes
    assert axes.get_xlim() == pytest.approx((-1.05, 1.05))


def test_pictures_join_the_nearest_pairs_and_fade_those_behind():
    octahedron = np.eye(3)
    figure = draw.picture_figure(octahedron, {**ROW, "k": 3, "value": 0.0})
    (axes,) = figure.axes
    assert len(axes.lines) == 12  # the edges of the octahedron of +- axes
    alphas = [one.get_alpha() for one in axes.lines]
    assert 0 < sum(alpha < 1 for alpha in alphas) < 12
    assert figure.get_suptitle() == r"3 lines in $\mathbf{R}^{3}$ (both ends drawn): coherence 0"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["nearest pairs"]


def square(angle):
    """[4, 3] points a quarter of a turn apart on the equator, one of them moved by an angle."""
    turns = np.array([0, 0.5, 1, 1.5]) * np.pi + np.array([angle, 0, 0, 0])
    return np.stack([np.cos(turns), np.sin(turns), np.zeros(4)], axis=1)


@pytest.mark.parametrize(
    ("angle", "number", "words"),
    [(0, 4, "nearest pairs"), (0.005, 4, "pairs within 1 %"), (0.1, 4, "pairs within 20 %"), (0.7, 0, "")],
)
def test_nearly_nearest_pairs_are_joined_but_never_a_single_one(angle, number, words):
    pairs, meaning = draw.nearest_pairs(square(angle), "riesz")
    assert (len(pairs), meaning.startswith(words)) == (number, True)


@pytest.mark.parametrize("objective", ["coherence", "spherical"])
def test_coherence_against_k(objective):
    rows = [{**ROW, "objective": objective, "k": k, "value": v} for k, v in ((20, 0.85), (4, 1 / 3))]
    figure = coherence_figure(rows)
    (axes,) = figure.axes
    packed = line(axes, "packed")
    np.testing.assert_array_equal(packed.get_xdata(), [4, 20])
    np.testing.assert_allclose(packed.get_ydata(), [1 / 3, 0.85])
    assert packed.get_linestyle() == "None"  # a join would run below the bound between
    np.testing.assert_array_equal(line(axes, "proven bound").get_xdata(), np.arange(4, 21))
    assert "$d = 3$" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_points_with_cosines_of_zero_and_below_are_shown():
    values = {4: -1 / 3, 6: 0.0, 8: 0.3}
    rows = [{**ROW, "objective": "spherical", "k": k, "value": value} for k, value in values.items()]
    (axes,) = coherence_figure(rows).axes
    np.testing.assert_array_equal(line(axes, "packed").get_ydata(), list(values.values()))
    np.testing.assert_allclose(line(axes, "proven bound").get_ydata()[:3], [-1 / 3, 0, 0])
    assert axes.get_yscale() == "linear"
    assert axes.get_title(loc="left") == "Largest cosine against the number of points"
    assert axes.get_xlabel() == "number of points $k$"


def test_orthogonal_lines_are_left_out_of_a_logarithmic_axis_and_that_is_said():
    rows = [{**ROW, "k": k, "value": value} for k, value in ((2, 0.0), (3, 1e-16), (4, 0.34))]
    (axes,) = coherence_figure(rows).axes
    np.testing.assert_array_equal(line(axes, "packed").get_xdata(), [4])
    assert axes.get_yscale() == "log"
    assert "not shown" in axes.get_xlabel()
    (axes,) = coherence_figure(rows[:2]).axes  # nothing but zeros: a linear axis
    assert len(line(axes, "packed").get_xdata()) == 2


def test_many_dimensions_have_a_panel_each_on_common_axes():
    ks, ds, values = published_packings("optimised")
    few = np.flatnonzero(np.isin(ks, [2000, 8000, 32000]))
    rows = [{**ROW, "k": int(ks[i]), "d": int(ds[i]), "value": values[i], "published": values[i]} for i in few]
    figure = coherence_figure(rows)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"$d = {d:g}$" for d in np.unique(ds)]
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert all(len(axes.get_xticks()) <= 4 for axes in figure.axes)
    assert len(line(figure.axes[-1], "packed").get_xdata()) == 3


@pytest.mark.parametrize(("objective", "start"), [("coherence", "20 lines in"), ("riesz", "20 points in")])
def test_titles_say_lines_or_points(objective, start):
    row = {**ROW, "objective": objective, "lower_bound": None, "bound_name": None}
    (axes,) = draw.steps_figure(np.array([0.9, 0.86]), row).axes
    assert axes.get_title(loc="left").startswith(start + r" $\mathbf{R}^{3}$")
