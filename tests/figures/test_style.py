"""The house style: applied within, gone without, and legible to all."""

from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pytest

from superjax.figures import DPI, INK, PALETTE, house_style, new_figure, plain_log, save


def test_settings_are_the_users_again_afterwards():
    before = dict(matplotlib.rcParams)
    with house_style():
        assert matplotlib.rcParams["text.color"] == INK
        axes = new_figure().subplots()
        (line,) = axes.plot([0, 1])
        assert line.get_color() == PALETTE[0]
    assert dict(matplotlib.rcParams) == before


def test_it_decorates_a_function_that_draws():
    @house_style()
    def draw():
        figure = new_figure()
        return figure, figure.subplots().plot([0, 1], [0, 1], [0, 1], [1, 0])

    for _ in range(2):
        _, (first, second) = draw()
        assert (first.get_color(), second.get_color()) == PALETTE[:2]


def test_saving_gives_a_png_of_the_stated_size_and_an_svg(tmp_path):
    from matplotlib.image import imread

    with house_style():
        figure = new_figure(3.0, 2.0)
        figure.subplots().plot([0, 1])
    png, svg = save(figure, tmp_path / "figures", "line")
    assert imread(png).shape[:2] == (2 * DPI, 3 * DPI)
    assert "<svg" in svg.read_text()
    again = save(figure, tmp_path / "again", "line")
    assert [path.read_bytes() for path in again] == [png.read_bytes(), svg.read_bytes()], "a figure is reproducible"


def test_no_window_system_and_no_pyplot():
    code = (
        "import sys; from superjax.figures import new_figure, save; from pathlib import Path; import tempfile\n"
        "save(new_figure(), Path(tempfile.mkdtemp()), 'x'); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


@pytest.mark.parametrize("colour", PALETTE[:4])
def test_line_colours_stand_out_from_white(colour):
    """Contrast of at least 2.8 : 1 (WCAG 2.1 relative luminance)."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    assert 1.05 / (linear @ [0.2126, 0.7152, 0.0722] + 0.05) > 2.8


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([10, 15, 25, 39, 63, 100], ["10", "15", "25", "39", "63", "100"]),
        ([1, 1.01, 1000], ["1", "1000"]),
        ([7], ["7"]),
    ],
)
def test_ticks_are_the_values_themselves_where_they_do_not_crowd(values, labels):
    axes = new_figure().subplots()
    axes.plot(values, values, "o")
    plain_log(axes.xaxis, values)
    assert [label.get_text() for label in axes.get_xticklabels()] == labels


@pytest.mark.parametrize(("low", "high"), [(0.2, 0.9), (8, 64), (0.11, 0.14), (1, 900)])
def test_an_axis_of_few_decades_has_plain_numbers(low, high):
    figure = new_figure()
    axes = figure.subplots()
    axes.plot([1, 2], [low, high])
    plain_log(axes.yaxis)
    figure.canvas.draw()
    inside = [
        label.get_text() for label in axes.get_yticklabels() if low * 0.9 <= label.get_position()[1] <= high * 1.1
    ]
    assert len([float(text) for text in inside if text]) >= 2
