"""Figures of toy ensembles: what they show, on a small ensemble with a failed member among the rest."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.figures import toy as draw
from superjax.toy import Training, gather_curves, geometry, grid, train_ensemble


@pytest.fixture(scope="module")
def ensemble():
    members = grid(n=12, m=[2, 3, 4], batch=32, decay=[-1.0, 0.0, 1.0], alpha=[0.5, 1.0], seed=[0, 1])
    result = train_ensemble(members, Training(steps=20, test_batches=2))
    result.loss[0] = np.nan
    geometries = [geometry(params.W) for params in result.params]
    return result, geometries, gather_curves(result, geometries)


def test_loss_has_a_panel_for_each_law_and_a_line_for_each_decay(ensemble):
    _, _, curves = ensemble
    figure = draw.loss_against_m(curves)
    panels = [axes for axes in figure.axes if axes.lines]
    assert len(panels) == 2
    for axes in panels:
        labels = [line.get_label() for line in axes.lines]
        assert sum(label.startswith("γ") for label in labels) == 3
        assert {"nothing represented", "first m features kept"} <= set(labels)
    drawn = next(line for line in panels[1].lines if line.get_label().startswith("γ +1"))
    expected = next(curve for curve in curves if curve.settings["decay"] == 1 and curve.settings["alpha"] == 1)
    np.testing.assert_allclose(drawn.get_ydata(), expected.loss.mean(axis=0))


@pytest.mark.parametrize("draw_map", [draw.exponent_map, draw.represented_map])
def test_maps_have_alpha_up_and_gamma_across(ensemble, draw_map):
    _, _, curves = ensemble
    figure = draw_map(curves)
    image = figure.axes[0].images[0].get_array()
    assert image.shape == (2, 3)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["-1", "0", "1"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["0.5", "1"]


def test_a_map_shows_the_curves_values(ensemble):
    _, _, curves = ensemble
    image = draw.exponent_map(curves).axes[0].images[0].get_array()
    for curve in curves:
        row, column = [0.5, 1.0].index(curve.settings["alpha"]), [-1.0, 0.0, 1.0].index(curve.settings["decay"])
        assert image[row, column] == pytest.approx(curve.fit.exponent)


def test_norms_and_overlaps(ensemble):
    result, geometries, _ = ensemble
    figure = draw.norms_and_overlaps(result, geometries)
    labels = [text.get_text() for text in figure.axes[2].get_legend().get_texts()]
    assert labels == ["random, 1/m", "Welch κ², ν = min(n, m²/2)"]


def test_gram_matrices_are_those_of_the_models(ensemble):
    result, _, _ = ensemble
    figure = draw.gram_matrices(result)
    shown = [axes.images[0].get_array() for axes in figure.axes if axes.images and axes.get_title(loc="left")]
    assert len(shown) == 6
    np.testing.assert_allclose(shown[0], result.params[0].W @ result.params[0].W.T)


def test_represented_features_over_m_where_nothing_else_varies(ensemble):
    _, _, curves = ensemble
    chosen = [curve for curve in curves if curve.settings["alpha"] == 1]
    axes = draw.represented_map(chosen).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["2", "3", "4"]
    expected = next(curve for curve in chosen if curve.settings["decay"] == -1).phi_half.mean(axis=0)
    np.testing.assert_allclose(axes.images[0].get_array()[:, 0], expected)
