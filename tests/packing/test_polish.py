"""Polishing: local optima to 13 digits, never worse than what came in."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from superjax.packing.objectives import Objective
from superjax.packing.polish import _tangent_bases, polish
from tests.packing import helpers


@pytest.mark.parametrize("name", ["coherence", "spherical"])
@pytest.mark.parametrize("seed", range(3))
def test_a_polished_packing_is_stationary(name, seed):
    """No small move of it is better to first order, and polishing again gains nothing."""
    objective = Objective(name)
    x = helpers.random_unit(9, 4, seed)
    found = polish(objective, x)
    value = helpers.coherence if name == "coherence" else (lambda x: helpers.off_diagonal(x).max())
    assert found.value == pytest.approx(value(found.x), abs=1e-15)
    assert found.value < value(x)
    assert polish(objective, found.x).value > found.value - 1e-9
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-5):
        moved = found.x + size * rng.normal(size=(200, 9, 4))
        moved /= np.linalg.norm(moved, axis=-1, keepdims=True)
        assert min(map(value, moved)) > found.value - 1e-10


def test_known_optima_to_thirteen_digits():
    golden = (1 + np.sqrt(5)) / 2
    axes = np.array([[0, 1, golden], [0, 1, -golden], [1, golden, 0], [1, -golden, 0], [golden, 0, 1], [-golden, 0, 1]])
    near = axes / np.linalg.norm(axes[0]) + 0.02 * helpers.random_unit(6, 3)
    assert polish(Objective(), near).value == pytest.approx(1 / np.sqrt(5), abs=1e-12)


def test_energies_have_no_gradient_left():
    found = polish(Objective("riesz"), helpers.random_unit(20, 3))
    energy, gradient = helpers.riesz(found.x, 1.0)
    gradient -= np.sum(gradient * found.x, 1, keepdims=True) * found.x
    assert found.value == pytest.approx(energy, rel=1e-14)
    assert np.abs(gradient).max() < 1e-5


def test_tangent_bases_are_orthonormal_and_tangent():
    for x in (helpers.random_unit(40, 5), np.eye(4), -np.eye(4)):
        bases = _tangent_bases(x)
        d = x.shape[1]
        np.testing.assert_allclose(bases @ bases.transpose(0, 2, 1), np.tile(np.eye(d - 1), (len(x), 1, 1)), atol=1e-14)
        np.testing.assert_allclose(np.einsum("kad,kd->ka", bases, x), 0, atol=1e-14)


def test_one_that_is_given_up_ends_with_the_program_under_way():
    x, given_up = helpers.random_unit(9, 4), threading.Event()
    given_up.set()
    found = polish(Objective(), x, given_up=given_up)
    assert polish(Objective(), x).value + 1e-3 < found.value <= helpers.coherence(x)
