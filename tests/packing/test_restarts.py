"""Where restarts begin: unit rows, near the best or anywhere, and schedules that differ."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.packing.polish import Polished
from superjax.packing.restarts import anywhere, near_and_anywhere
from tests.packing import helpers

BEST = [Polished(helpers.random_unit(9, 4, seed), 0.5 + seed / 10) for seed in range(3)]


def nearest_of(starts):
    """For each start, the least distance of a whole packing to one of the best."""
    return np.array([min(np.linalg.norm(x - one.x) for one in BEST) for x in starts])


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: anywhere(rng, 9, 4, 60, 0),
        lambda rng: near_and_anywhere(rng, BEST, 60),
    ],
)
def test_restarts_are_unit_packings_that_all_differ_and_repeat_by_the_generator(draw):
    starts, schedules = draw(np.random.default_rng(1))
    assert starts.shape == (60, 9, 4)
    np.testing.assert_allclose(np.linalg.norm(starts, axis=2), 1, atol=1e-6)
    assert len({x.tobytes() for x in starts}) == 60
    assert all(len(set(np.asarray(part).tolist())) == 60 for part in vars(schedules).values())
    assert draw(np.random.default_rng(1))[0].tobytes() == starts.tobytes()


def test_half_begin_near_the_best_and_half_anywhere():
    rng = np.random.default_rng(2)
    far = nearest_of(anywhere(rng, 9, 4, 60, 0)[0])
    starts, schedules = near_and_anywhere(rng, BEST, 60)
    near, anew = nearest_of(starts)[:30], nearest_of(starts)[30:]
    assert near.mean() < 0.8 * far.mean()
    assert anew.mean() == pytest.approx(far.mean(), rel=0.1)
    assert np.min(schedules.first_sharpness[:30]) >= 10 > np.min(schedules.first_sharpness[30:])
    assert np.max(schedules.first_sharpness[:30]) > 100 > np.max(schedules.first_sharpness[30:])
