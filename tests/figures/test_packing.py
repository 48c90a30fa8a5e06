"""Packing figures show the numbers they are given."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.figures import packing as draw

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
    assert line(axes, "proven bound (cap), 0.8").get_ydata()[0] == 0.8
    assert line(axes, "best construction, 0.9").get_ydata()[0] == 0.9
    assert not [one for one in axes.lines if str(one.get_label()).startswith("published")]


@pytest.mark.parametrize("start", [None, np.array([0, 3, 4, 3])])
def test_the_gram_histogram_is_a_density_beside_the_random_law(start):
    counts = np.array([1, 4, 4, 1])
    (axes,) = draw.gram_figure(counts, start, ROW).axes
    heights = next(patch for patch in axes.patches if patch.get_label() == "packed").get_data()
    assert np.sum(heights.values * np.diff(heights.edges)) == pytest.approx(1)
    np.testing.assert_allclose(line(axes, "random law").get_ydata(), 0.5)  # d = 3: uniform
    assert sorted(one.get_xdata()[0] for one in axes.lines if len(one.get_xdata()) == 2) == [-0.8, 0.8]


def test_pictures_join_the_nearest_pairs():
    octahedron = np.eye(3)
    (axes,) = draw.picture_figure(octahedron, {**ROW, "k": 3, "value": 0.0}).axes
    assert len(axes.lines) == 12  # the edges of the octahedron of +- axes


@pytest.mark.parametrize("objective", ["coherence", "spherical"])
def test_coherence_against_k(objective):
    rows = [{**ROW, "objective": objective, "k": k, "value": v} for k, v in ((20, 0.85), (4, 1 / 3))]
    (axes,) = draw.coherence_figure(rows).axes
    np.testing.assert_array_equal(line(axes, "d = 3").get_xdata(), [4, 20])
    np.testing.assert_allclose(line(axes, "d = 3").get_ydata(), [1 / 3, 0.85])
