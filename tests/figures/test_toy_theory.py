"""Toy models beside theory: each point is the member's own, each guide the formula's."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.figures import save
from superjax.figures import toy_theory as draw
from superjax.toy import Training, geometry, grid, train_ensemble


@pytest.fixture(scope="module")
def ensemble():
    members = grid(n=12, m=[2, 4], batch=32, decay=[-1.0, 0.5], seed=[0, 1])
    result = train_ensemble(members, Training(steps=20, test_batches=2))
    return result, [geometry(params.W) for params in result.params]


def test_the_theory_is_the_loss_of_the_features_not_represented(ensemble, tmp_path):
    result, geometries = ensemble
    figure = draw.loss_against_theory(result, geometries)
    points, diagonal = figure.axes[0].lines
    assert points.get_label() == "γ +0.5"
    places = [place for place, member in enumerate(result.members) if member.decay > 0]
    for place, x, y in zip(places, *points.get_data(), strict=True):
        p = np.sort(result.members[place].probabilities)[::-1]
        ignored = p[round(geometries[place].phi_half * 12) :]
        assert x == pytest.approx((4 / 3 * ignored - ignored**2).sum())
        assert y == result.loss[place]
    np.testing.assert_array_equal(*diagonal.get_data())
    save(figure, tmp_path, "theory")


def test_strong_features_are_counted_under_growth_alone(ensemble, tmp_path):
    result, geometries = ensemble
    figure = draw.strongly_represented(result, geometries)
    _, means, guide = figure.axes[0].lines
    shares = [geometries[place].phi_one for place, member in enumerate(result.members) if member.decay < 0]
    np.testing.assert_array_equal(means.get_xdata(), [2, 4])
    np.testing.assert_allclose(means.get_ydata(), np.reshape(shares, (2, 2)).mean(axis=1))
    m, least = guide.get_data()
    np.testing.assert_allclose(least, np.minimum(1, m**2 / 24))
    save(figure, tmp_path, "strong")
