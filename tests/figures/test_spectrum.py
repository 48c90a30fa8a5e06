"""Figures of a spectrum show the data they are given, with labelled axes, and draw without a warning."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.embeddings.spectrum import cosine_spectrum
from superjax.figures import save
from superjax.figures import spectrum as draw
from superjax.laws import log10_capacity


@pytest.fixture(scope="module")
def spectrum():
    return cosine_spectrum(np.random.default_rng(0).standard_normal((300, 20)), bins=100, neighbors=1)


def labelled(figure):
    return all(axes.get_xlabel() and (axes.get_ylabel() or axes.get_title()) for axes in figure.axes)


def test_distribution_shows_counts_as_a_density(spectrum, tmp_path):
    figure = draw.distribution(spectrum, "a model")
    assert labelled(figure)
    for axes in figure.axes:
        for steps in (patch.get_data() for patch in axes.patches):
            np.testing.assert_allclose(steps.values * np.diff(steps.edges) * spectrum.pairs, spectrum.counts)
        assert axes.patches
        dashed = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"]
        assert dashed == [spectrum.epsilon]
    assert figure.axes[0].get_xlim() == (-1, 1)
    assert all(path.stat().st_size > 1000 for path in save(figure, tmp_path, "distribution"))


def test_the_random_vector_law_is_drawn_as_a_density(spectrum):
    line = next(line for line in draw.distribution(spectrum, "a model").axes[0].lines if line.get_linestyle() == ":")
    cosines, density = line.get_data()
    assert np.trapezoid(np.nan_to_num(density), cosines) == pytest.approx(1, abs=1e-3)
    assert np.trapezoid(np.nan_to_num(density) * cosines**2, cosines) == pytest.approx(1 / 20, rel=1e-2)


def test_norms_and_partners_count_every_known_row(spectrum):
    assert sum(patch.get_height() for patch in draw.norms(spectrum, "m").axes[0].patches) == 300
    cosines = np.array([0.5, np.nan, -1.0, 1.0])
    assert sum(patch.get_height() for patch in draw.partners(cosines, "m").axes[0].patches) == 3


def test_hubs_are_in_order_and_labels_are_safe_to_draw(spectrum, tmp_path):
    labels = ["$x_1$ \u4e2d" if row % 2 else f"t{row}" for row in range(300)]
    figure = draw.hubs(spectrum, labels, "m", number=10)
    widths = [patch.get_width() for patch in figure.axes[0].patches]
    assert widths == sorted(spectrum.neighbors.hubness, reverse=True)[:10]
    save(figure, tmp_path, "hubs")


def test_models_are_drawn_over_the_published_ones(tmp_path):
    figure = draw.models([("ours", 384, 0.2), ("theirs", 4096, 0.06), ("centred pair", 3, -1.0)])
    for axes in figure.axes:
        published, ours, theirs, negative = axes.collections
        assert len(published.get_offsets()) == 45
        assert ours.get_offsets().tolist() == [[384, 0.2]]
        assert theirs.get_offsets().tolist() == [[4096, 0.06]]
        assert len(negative.get_offsets()) == 0
        assert "epsilon -1, not drawn" in negative.get_label()
    save(figure, tmp_path, "models")


def test_lines_of_equal_capacity_are_the_full_laws():
    lines = draw.models([("ours", 384, 0.2)]).axes[1].lines
    for exponent, line in zip(range(5, 13), lines, strict=True):
        d, epsilon = line.get_data()
        np.testing.assert_allclose(log10_capacity(d, epsilon, "full"), exponent, rtol=1e-6)


def test_overlaps_stand_beside_one_over_d(tmp_path):
    figure = draw.overlaps_against_dimension([("a $model$", 384, 0.009), ("b", 4096, 0.001)])
    (axes,) = figure.axes
    d, random = axes.lines[0].get_data()
    np.testing.assert_allclose(d * random, 1)
    assert [one.get_offsets().tolist() for one in axes.collections] == [[[384, 0.009]], [[4096, 0.001]]]
    save(figure, tmp_path, "overlaps")


@pytest.mark.parametrize("draw_it", [draw.norms, lambda s, title: draw.hubs(s, [str(i) for i in range(300)], title)])
def test_a_long_title_stays_inside_the_figure(spectrum, draw_it):
    figure = draw_it(spectrum, "a/very/long/path/to/a/model: " + "deeply.nested.module." * 6 + "weight")
    figure.canvas.draw()
    box = figure.axes[0].get_title(loc="left"), figure.axes[0]._left_title.get_window_extent()
    assert box[1].x1 <= figure.bbox.x1, box[0]
