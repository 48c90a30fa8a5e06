"""Sweeps: members, repetitions, and the promise of the quick preset."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from superjax.core.errors import InputError
from superjax.core.mesh import row_mesh
from superjax.toy import Sweep, gather_curves, geometry, preset, train_ensemble


def test_alpha_multiplies_the_power_law_alone():
    sweep = Sweep(n=(30,), m=(2,), distribution=("power", "linear"), alpha=(0.5, 1.0, 2.0), decay=(0.0,))
    assert [(member.distribution, member.alpha) for member in sweep.members()] == [
        ("power", 0.5),
        ("power", 1.0),
        ("power", 2.0),
        ("linear", 0.5),
    ]


def test_seeds_are_consecutive():
    sweep = Sweep(n=(30,), m=(2,), decay=(0.0,), seeds=3)
    assert [member.seed for member in sweep.members(7)] == [7, 8, 9]


def test_a_sweep_of_nothing():
    with pytest.raises(InputError, match="m: no value"):
        Sweep(m=()).members()
    with pytest.raises(InputError, match="seeds: 0"):
        Sweep(seeds=0).members()


@pytest.mark.slow
def test_quick_preset_shows_both_regimes():
    sweep = replace(preset("quick").sweep, decay=(-1.0, 1.0))
    result = train_ensemble(sweep.members(), sweep.training, mesh=row_mesh(jax.devices()[:2]))
    growth, decay = gather_curves(result, [geometry(params.W) for params in result.params])
    assert (growth.phi_half > 0.95).all()
    assert (decay.phi_half < 0.3).all()
    assert abs(growth.fit.exponent - 1) < 0.25
    assert (growth.loss < decay.loss).all()
    assert (growth.loss[:, -1] * 3 < decay.loss[:, -1]).all()


@pytest.mark.slow
def test_pentagon_is_the_best_of_several_starts():
    # Elhage et al. 2022: five equal sparse features in two dimensions make a regular pentagon, D_i = 2/5.
    sweep = Sweep(
        n=(5,), m=(2,), distribution=("uniform",), density=(0.25,), decay=(0.0,), seeds=12, steps=4000, batch=1024
    )
    result = train_ensemble(sweep.members(), sweep.training)
    best = int(np.argmin(result.loss))
    np.testing.assert_allclose(geometry(result.params[best].W).dimensionality, 0.4, atol=0.02)
