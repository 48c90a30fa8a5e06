"""Figures of toy ensembles: what they show, on a small ensemble with a failed member among the rest."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.figures import save
from superjax.figures import toy as draw
from superjax.figures import toy_geometry as draw_geometry
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
    norms, _, means, variances = draw_geometry.norms_and_overlaps(result, geometries).axes
    assert [text.get_text() for text in norms.get_legend().get_texts()] == ["γ -1", "γ +0", "γ +1"]
    labels = [text.get_text() for text in means.get_legend().get_texts()]
    assert labels == ["random, 1/m", "guide: Welch κ² of min(n, m²/2) rows"]
    assert norms.get_xlim()[1] <= 1.05 * max(one.norms.max() for one in geometries)
    many = [one.strong_overlaps for one in geometries if one.strong_overlaps.rows >= draw_geometry.FEWEST_ROWS]
    for axes, name in ((means, "mean"), (variances, "variance")):
        drawn = np.concatenate([line.get_ydata() for line in axes.lines if line.get_marker() == "."])
        np.testing.assert_allclose(np.sort(drawn), np.sort([getattr(one, name) for one in many]))
    m, law = next(line.get_data() for line in variances.lines if str(line.get_label()).startswith("random"))
    np.testing.assert_allclose(law, 2 * (m - 1) / (m**2 * (m + 2)))


def test_gram_matrices_are_those_of_the_models(ensemble):
    result, _, _ = ensemble
    figure = draw_geometry.gram_matrices(result)
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


def test_exponents_against_alpha_beside_theory(ensemble, tmp_path):
    _, _, curves = ensemble
    (axes,) = draw.exponent_curves(curves).axes
    line = next(container for container in axes.containers if container.get_label() == "γ -1").lines[0]
    own = [curve for curve in curves if curve.settings["decay"] == -1]
    np.testing.assert_array_equal(line.get_xdata(orig=False), [0.5, 1.0])
    np.testing.assert_allclose(line.get_ydata(orig=False), [curve.fit.exponent for curve in own])
    theory = {line.get_label(): line.get_ydata() for line in axes.lines if "kept" in str(line.get_label())}
    np.testing.assert_allclose(next(iter(theory.values())), [curve.ideal_weak_exponent for curve in own])
    save(draw.exponent_curves(curves), tmp_path, "exponents")


@pytest.fixture(scope="module")
def sparse_ensemble():
    members = grid(n=6, m=[2], batch=32, density=[0.5, 1.0, 3.0], distribution="uniform", seed=[0, 1])
    result = train_ensemble(members, Training(steps=20, test_batches=2))
    return result, [geometry(params.W) for params in result.params]


def test_loss_against_density(sparse_ensemble, tmp_path):
    result, geometries = sparse_ensemble
    figure = draw.loss_against_density(gather_curves(result, geometries))
    (line,) = figure.axes[0].lines
    np.testing.assert_array_equal(line.get_xdata(), [0.5, 1.0, 3.0])
    np.testing.assert_allclose(line.get_ydata(), result.loss.reshape(3, 2).mean(axis=1))
    save(figure, tmp_path, "density")


def test_dimensionalities_against_sparsity(sparse_ensemble, tmp_path):
    result, geometries = sparse_ensemble
    figure = draw_geometry.dimensionalities(result, geometries)
    (axes,) = figure.axes
    stars = next(line for line in axes.lines if str(line.get_label()).startswith("D*"))
    np.testing.assert_allclose(stars.get_xdata(), [2, 6, 12], rtol=1e-6)
    expected = np.array([one.dimensions_per_feature for one in geometries]).reshape(3, 2).mean(axis=1)
    np.testing.assert_allclose(stars.get_ydata(), expected[::-1])
    save(figure, tmp_path, "dimensionality")
