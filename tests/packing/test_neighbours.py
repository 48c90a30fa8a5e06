"""Neighbour lists: the pairs they hold, the steps over them beside full passes, and when they do not serve."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superjax.core import loop
from superjax.core import mesh as meshes
from superjax.packing import AnnealHparams, Objective, pack
from superjax.packing import rows as packed_rows
from superjax.packing.neighbours import ROUND, ListPlan, ListRound, list_plan, near_rows, reduce_listed
from superjax.packing.objectives import SmoothMaximum
from superjax.packing.rows import prepare
from superjax.packing.starts import random_start
from tests.packing import helpers

K, D, STEPS = 4000, 8, 160


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("count", "together"), [(50, 7), (64, 64), (101, 512)])
def test_lists_hold_the_rows_that_are_near_and_no_others(signed, count, together):
    x = helpers.random_unit(count, 4)
    x[7], x[8], x[-1] = x[3], -x[3], 0  # a twin, its antipode, and padding
    lists, complete = near_rows(jnp.asarray(x), ListPlan(0, 60, 0.5, together), signed, "highest")
    gram = x.astype(np.float64) @ x.T.astype(np.float64)
    near = (gram if signed else np.abs(gram)) > 0.5
    np.fill_diagonal(near, False)
    assert complete
    assert [row[row < count].tolist() for row in np.asarray(lists)] == [np.flatnonzero(row).tolist() for row in near]
    assert np.all(np.diff(np.asarray(lists), axis=1) >= 0)


@pytest.mark.parametrize(("width", "complete"), [(24, True), (23, False)])
def test_a_list_says_whether_all_had_room(width, complete):
    x = np.concatenate([np.tile(helpers.random_unit(1, 5), (25, 1)), np.eye(5, dtype=np.float32)[:1]])
    x[-1] -= x[0] * (x[0] @ x[-1])
    lists, said = near_rows(jnp.asarray(x), ListPlan(0, width, 0.5, 8), False, "highest")
    assert bool(said) is complete
    assert np.asarray(lists)[0].tolist() == list(range(1, width + 1))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("threshold", [0.0, 0.85])
def test_a_listed_pass_is_the_full_one_over_the_listed_pairs(signed, threshold):
    x = helpers.random_unit(300, 6)
    cosine = x @ x.T
    value = cosine if signed else np.abs(cosine)
    near = value > threshold
    np.fill_diagonal(near, False)
    weight = np.where(near, np.exp(50.0 * (value - 0.9)), 0.0)
    lists, complete = near_rows(jnp.asarray(x), ListPlan(0, 299, threshold, 64), signed, "highest")
    reducer = SmoothMaximum(jnp.float32(50.0), jnp.float32(0.9), signed)
    totals, gradient = reduce_listed(jnp.asarray(x), lists, reducer, "highest", 37)
    assert complete
    assert float(totals.largest) == pytest.approx(value[near].max(), abs=1e-6)
    assert float(totals.weight) == pytest.approx(weight.sum() / 2, rel=1e-4)
    pull = (weight if signed else np.copysign(weight, cosine)) @ x
    np.testing.assert_allclose(gradient, pull, atol=1e-4 * np.abs(pull).max())


@cache
def half_way():
    """A packing before its rounds, as arrays of the host, and all that a round needs."""
    mesh, plan = helpers.mesh_of(1), list_plan(Objective(), K, D, AnnealHparams(), STEPS)
    step, state, constants = prepare(
        Objective(), random_start(K, D, 0), AnnealHparams(), STEPS, mesh=mesh, block=None, precision="highest"
    )
    first = loop.LoopState(np.asarray(0, np.int64), state, {"value": np.zeros((STEPS, 1))})
    return plan, step, meshes.to_host(loop.run(step, first, constants, plan.first, mesh=mesh).state), constants


def after_a_round(plan, best_value=None):
    """The state after a round, and its values; beside those of as many full passes."""
    _, step, state, constants = half_way()
    mesh = helpers.mesh_of(1)
    if best_value is not None:
        state = replace(state, best_value=np.full(1, best_value, np.float32))
    listed = ListRound(step.objective, STEPS, K, step.block, step.precision, plan)
    at = loop.LoopState(np.asarray(0, np.int64), jax.device_put(state), {"value": np.zeros((1, 1, ROUND))})
    found = loop.run(listed, at, constants, 1, mesh=mesh)
    at = loop.LoopState(np.asarray(plan.first, np.int64), jax.device_put(state), {"value": np.zeros((STEPS, 1))})
    full = loop.run(step, at, constants, plan.first + ROUND, mesh=mesh)
    values = full.history["value"][plan.first : plan.first + ROUND, 0]
    return (meshes.to_host(found.state), found.history["value"].ravel()), (meshes.to_host(full.state), values)


def test_a_round_goes_where_full_passes_go():
    (listed, values), (full, expected) = after_a_round(half_way()[0])
    np.testing.assert_allclose(values, expected, rtol=2e-3)
    moved = np.abs(full.x - half_way()[2].x).max()
    assert np.abs(listed.x - full.x).max() < 0.1 * moved
    assert np.abs(listed.x - full.x).max() > 0  # pairs were left out
    assert helpers.coherence(listed.best) == pytest.approx(float(listed.best_value[0]), abs=1e-6)


def test_the_best_of_a_round_counts_by_all_of_its_pairs():
    """Lists as short as this one miss pairs that come near: what they say of the best iterate is not believed."""
    largest = float(half_way()[2].largest[0])
    (listed, values), _ = after_a_round(half_way()[0]._replace(threshold=0.96 * largest), best_value=np.inf)
    assert values.min() < 0.999 * float(listed.best_value[0])
    assert helpers.coherence(listed.best) == pytest.approx(float(listed.best_value[0]), abs=1e-6)


@pytest.mark.parametrize("plan", [{"width": 3}, {"threshold": 0.99}])
def test_lists_without_room_or_reach_give_way_to_full_passes(plan):
    (listed, values), (full, expected) = after_a_round(half_way()[0]._replace(**plan))
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    np.testing.assert_allclose(listed.x, full.x, atol=1e-6)


def test_lists_are_for_many_vectors_and_a_sharpening_schedule():
    plan = list_plan(Objective(), K, D, AnnealHparams(), STEPS)
    assert (STEPS - plan.first) % ROUND == 0
    assert list_plan(Objective("riesz"), K, D, AnnealHparams(), STEPS) is None
    assert list_plan(Objective(), K, 41, AnnealHparams(), STEPS) is None
    assert list_plan(Objective(), 32_000, 256, AnnealHparams(), STEPS) is None
    assert list_plan(Objective(), K, D, AnnealHparams(last_sharpness=3.0), STEPS) is None
    assert list_plan(Objective(), K, D, AnnealHparams(last_sharpness=20.0), STEPS) is None
    assert list_plan(Objective(), K, D, AnnealHparams(), ROUND) is None
    assert list_plan(Objective(), K, D, AnnealHparams(first_sharpness=900.0), 2 * ROUND).first == 0
    points = list_plan(Objective("spherical"), K, D, AnnealHparams(), STEPS)
    assert points.threshold < plan.threshold  # half as many others lie within the same cosine


def test_pack_uses_them_on_one_device_alone_and_can_leave_them(monkeypatch):
    rounds = []
    plain = packed_rows.ListRound
    monkeypatch.setattr(packed_rows, "ListRound", lambda *args: rounds.append(args) or plain(*args))
    with_lists = pack(K, D, steps=STEPS)
    assert len(rounds) == 1
    without = pack(K, D, steps=STEPS, neighbour_lists=False)
    pack(K, D, steps=STEPS, mesh=helpers.mesh_of(2))
    assert len(rounds) == 1
    assert with_lists.history[0] == without.history[0]
    assert with_lists.history.shape == without.history.shape == (STEPS,)
    assert with_lists.coherence == pytest.approx(without.coherence, rel=5e-3)
    assert with_lists.coherence < 0.995 * without.history[half_way()[0].first]


def test_a_round_holds_nothing_larger_than_its_lists():
    mesh, k, d, steps = helpers.mesh_of(1), 4096, 16, 400
    step, state, constants = prepare(
        Objective(), random_start(k, d, 0), AnnealHparams(), steps, mesh=mesh, block=None, precision="highest"
    )
    plan = list_plan(Objective(), k, d, AnnealHparams(), steps)
    listed = ListRound(step.objective, steps, k, step.block, step.precision, plan)
    lowered = loop._advance.lower(state, constants, np.int32(0), np.int32(1), step=listed, chunk=8, mesh=mesh)
    text = lowered.compile().as_text()
    sizes = [np.prod([int(n) for n in dims.split(",")]) for dims in re.findall(r"[sf]32\[([\d,]+)\]", text)]
    assert max(sizes) <= plan.width * k
