"""The search for small packings: what sharpening is for, what a round costs, and how it ends when asked to."""

from __future__ import annotations

import signal
import time

import jax
import numpy as np
import pytest

from superjax.core import mesh as meshes
from superjax.packing.batch import anneal_batch, sharpen
from superjax.packing.objectives import Objective
from superjax.packing.polish import polish
from superjax.packing.restarts import anywhere
from superjax.packing.search import SearchConfig, _polish_together, _spread
from tests.packing import helpers


def test_sharpened_values_tell_basins_apart_where_annealed_ones_do_not():
    starts, schedules = anywhere(np.random.default_rng(0), 13, 4, 32, seed=0)
    place = {"mesh": meshes.single_device_mesh(), "precision": jax.lax.Precision.HIGHEST}
    annealed = anneal_batch(Objective(), starts, schedules, 600, **place)
    sharp = sharpen(Objective(), annealed, 32, 1200, place["mesh"])
    best = np.sort(annealed.value)[:8]
    least = np.argsort(sharp.value)[:8]
    deep = np.array([polish(Objective(), x).value for x in sharp.x[least]])
    assert np.max(sharp.value[least] - deep) < 2e-6 < 1e-5 < np.min(best - deep)
    assert len(_spread(sharp.value[least], 8, 1e-6)) == len(set(np.round(deep, 6).tolist()))
    assert len(_spread(best, 8, 1e-6)) > 4


@pytest.mark.parametrize(
    ("objective", "restarts", "steps"),
    [("coherence", 512, 900), ("spherical", 1024, 750), ("coherence", 3, 1800), ("riesz", 512, 600)],
)
def test_a_restart_of_a_round_takes_its_steps_and_its_share_of_sharpening(objective, restarts, steps):
    assert SearchConfig.of(objective, None, restarts).steps_in_round == steps


def test_packings_polished_together_are_those_polished_alone():
    packings = np.stack([helpers.random_unit(9, 3, seed) for seed in range(4)])
    together = _polish_together(Objective(), packings)
    assert [one.value for one in together] == [polish(Objective(), x, 1e-9).value for x in packings]


def test_an_interrupt_does_not_wait_until_all_are_polished():
    packings = np.stack([helpers.random_unit(40, 15, seed) for seed in range(6)])  # half a minute of work
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            _polish_together(Objective(), packings)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 12
