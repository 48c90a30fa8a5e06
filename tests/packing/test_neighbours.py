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
from superjax.packing.neighbours import (
    ROUND,
    ListPlan,
    list_plan,
    near_rows,
    near_rows_in_ring,
    reduce_listed_in_ring,
)
from superjax.packing.objectives import SmoothMaximum
from superjax.packing.rounds import ListRound
from superjax.packing.rows import prepare
from superjax.packing.starts import random_start
from tests.packing import helpers

K, D, STEPS = 4000, 8, 160


def near(x, others, plan, signed=False):
    """`near_rows` of rows among others, or themselves, on the host."""
    found = near_rows(
        jnp.asarray(x, jnp.float32), jnp.asarray(others, jnp.float32), plan,
        itself=x is others, signed=signed, precision="highest",
    )  # fmt: skip
    return tuple(np.asarray(part) for part in found)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("count", "together"), [(50, 7), (64, 64), (101, 512)])
@pytest.mark.parametrize("themselves", [True, False])
def test_lists_hold_the_rows_that_are_near_and_no_others(signed, count, together, themselves):
    x = helpers.random_unit(count, 4)
    x[7], x[8], x[-1] = x[3], -x[3], 0  # a twin, its antipode, and padding
    others = x if themselves else x[: count - 9]
    lists, listed = near(x, others, ListPlan(0, 60, 0.5, together), signed)
    gram = x @ others.T
    expected = (gram if signed else np.abs(gram)) > 0.5
    if themselves:
        np.fill_diagonal(expected, False)
    assert [row[row < len(others)].tolist() for row in lists] == [np.flatnonzero(row).tolist() for row in expected]
    assert listed.tolist() == expected.sum(1).tolist()
    assert np.all(np.diff(lists, axis=1) >= 0)


def test_a_list_without_room_says_how_many_there_were():
    x = np.tile(helpers.random_unit(1, 5), (25, 1))
    lists, listed = near(x, x, ListPlan(0, 7, 0.5, 8))
    assert listed.tolist() == [24] * 25
    assert lists[0].tolist() == list(range(1, 8))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("threshold", [0.0, 0.85])
@pytest.mark.parametrize("devices", [1, 4])
def test_a_listed_pass_is_the_full_one_over_the_listed_pairs(signed, threshold, devices):
    x = helpers.random_unit(300, 6)
    cosine = x @ x.T
    value = cosine if signed else np.abs(cosine)
    expected = value > threshold
    np.fill_diagonal(expected, False)
    weight = np.where(expected, np.exp(50.0 * (value - 0.9)), 0.0)
    plan, mesh = ListPlan(0, 300 // devices, threshold, 37), helpers.mesh_of(devices)
    reducer = SmoothMaximum(jnp.float32(50.0), jnp.float32(0.9), signed)

    def body(x):
        lists, complete = near_rows_in_ring(x, plan, devices, signed, "highest")
        totals, pull = reduce_listed_in_ring(x, lists, reducer, plan.together, "highest")
        return totals.weight[None], totals.largest[None], pull, complete[None]

    rows = meshes.shard_rows(x.astype(np.float32), mesh)
    total, largest, gradient, complete = meshes.to_host(jax.jit(meshes.over_rows(body, mesh))(rows))
    assert complete.all()
    np.testing.assert_allclose(largest, value[expected].max(), atol=1e-6)
    np.testing.assert_allclose(total, weight.sum() / 2, rtol=1e-4)
    pull = (weight if signed else np.copysign(weight, cosine)) @ x
    np.testing.assert_allclose(gradient, pull, atol=1e-4 * np.abs(pull).max())


def plan_of(k=K, d=D, hparams=None, steps=STEPS, objective="coherence", devices=1):
    return list_plan(Objective(objective), k, d, hparams or AnnealHparams(), steps, helpers.mesh_of(devices))


def prepared(k, d, steps, devices=1):
    return prepare(
        Objective(), random_start(k, d, 0), AnnealHparams(), steps,
        mesh=helpers.mesh_of(devices), block=None, precision="highest",
    )  # fmt: skip


@cache
def half_way(devices=1):
    """A packing before its rounds, as arrays of the host, and all that a round needs."""
    plan, (step, state, constants) = plan_of(devices=devices), prepared(K, D, STEPS, devices)
    first = loop.LoopState(np.asarray(0, np.int64), state, {"value": np.zeros((STEPS, devices))})
    last = loop.run(step, first, constants, plan.first, mesh=helpers.mesh_of(devices))
    return plan, step, meshes.to_host(last.state), constants


def after_a_round(plan, best_value=None, devices=1):
    """The state after a round, and its values; beside those of as many full passes."""
    _, step, state, constants = half_way(devices)
    mesh = helpers.mesh_of(devices)
    if best_value is not None:
        state = replace(state, best_value=np.full(devices, best_value, np.float32))

    def on_mesh():
        return jax.tree.map(lambda leaf: meshes.shard_rows(leaf, mesh), state)

    at = loop.LoopState(np.asarray(0, np.int64), on_mesh(), {"value": np.zeros((1, devices, ROUND))})
    found = loop.run(ListRound(step, plan), at, constants, 1, mesh=mesh)
    at = loop.LoopState(np.asarray(plan.first, np.int64), on_mesh(), {"value": np.zeros((STEPS, devices))})
    full = loop.run(step, at, constants, plan.first + ROUND, mesh=mesh)
    values = full.history["value"][plan.first : plan.first + ROUND, 0]
    return (meshes.to_host(found.state), found.history["value"][0, 0]), (meshes.to_host(full.state), values)


@pytest.mark.parametrize("devices", [1, 3])
def test_a_round_goes_where_full_passes_go(devices):
    (listed, values), (full, expected) = after_a_round(half_way(devices)[0], devices=devices)
    np.testing.assert_allclose(values, expected, rtol=2e-3)
    moved = np.abs(full.x - half_way(devices)[2].x).max()
    assert np.abs(listed.x - full.x).max() < 0.1 * moved
    assert np.abs(listed.x - full.x).max() > 0  # pairs were left out
    assert helpers.coherence(listed.best[:K]) == pytest.approx(float(listed.best_value[0]), abs=1e-6)


def test_a_round_in_which_other_pairs_come_near_is_done_again_by_full_passes():
    """Lists as short as this one miss pairs that come near: what they say of the best iterate is not believed."""
    largest = float(half_way()[2].largest[0])
    (listed, values), (full, expected) = after_a_round(half_way()[0]._replace(threshold=0.973 * largest))
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    np.testing.assert_allclose(listed.x, full.x, atol=1e-6)
    assert helpers.coherence(listed.best) == pytest.approx(float(listed.best_value[0]), abs=1e-6)


@pytest.mark.parametrize("objective", ["coherence", "spherical"])
def test_short_schedules_end_as_without_lists(objective):
    """Steps are long when there are few of them, and pairs come near that no list holds."""
    found = pack(5000, 20, objective=objective, steps=100)
    without = pack(5000, 20, objective=objective, steps=100, neighbour_lists=False)
    assert found.value == pytest.approx(without.value, rel=1e-3)
    assert found.history.min() > found.value - 1e-5


def test_a_round_keeps_an_earlier_best_that_it_does_not_reach():
    (listed, _), _ = after_a_round(half_way()[0], best_value=0.1)
    assert float(listed.best_value[0]) == pytest.approx(0.1)
    np.testing.assert_array_equal(listed.best, half_way()[2].best)


def test_rounds_follow_the_schedule_one_after_the_other():
    hparams = AnnealHparams(first_sharpness=300.0)
    assert plan_of(hparams=hparams, steps=120).first == 0
    runs = [pack(K, D, steps=120, hparams=hparams, neighbour_lists=lists) for lists in (True, False)]
    np.testing.assert_allclose(runs[0].history, runs[1].history, rtol=1e-2)
    assert runs[0].value == pytest.approx(runs[1].value, rel=5e-3)


@pytest.mark.parametrize("devices", [2, 8])
def test_lists_on_several_devices_have_room(devices):
    plan, _, state, _ = half_way(devices)
    mesh = helpers.mesh_of(devices)

    def body(x):
        return near_rows_in_ring(x, plan, devices, False, "highest")[1][None]

    rows = meshes.shard_rows(state.x, mesh)
    assert meshes.to_host(jax.jit(meshes.over_rows(body, mesh))(rows)).all()


@pytest.mark.parametrize("changed", [{"width": 3}, {"threshold": 0.99}, {"threshold": 1.01}])
def test_lists_without_room_or_reach_give_way_to_full_passes(changed):
    """At the sharpness of this round, 240, lists must reach 2.5 % below the largest cosine."""
    plan, _, state, _ = half_way()
    if "threshold" in changed:
        changed = {"threshold": changed["threshold"] * float(state.largest[0])}
    (listed, values), (full, expected) = after_a_round(plan._replace(**changed))
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    np.testing.assert_allclose(listed.x, full.x, atol=1e-6)


def test_lists_are_for_many_vectors_and_a_sharpening_schedule():
    plan = plan_of()
    assert (STEPS - plan.first) % ROUND == 0
    assert plan_of(objective="riesz") is None
    assert plan_of(d=41) is None
    assert plan_of(k=32_000, d=256) is None
    assert plan_of(hparams=AnnealHparams(last_sharpness=3.0)) is None
    assert plan_of(hparams=AnnealHparams(last_sharpness=20.0)) is None
    assert plan_of(hparams=AnnealHparams(first_sharpness=0.0)) is None
    assert plan_of(steps=ROUND) is None
    assert plan_of(hparams=AnnealHparams(first_sharpness=900.0), steps=2 * ROUND).first == 0
    assert plan_of(objective="spherical").threshold < plan.threshold  # half as many others lie within a cosine
    assert plan_of(devices=4)._replace(width=plan.width) == plan
    assert (plan.width, plan_of(devices=2).width, plan_of(devices=4).width) == (64, 52, 34)  # 5 sigma more than a share


@pytest.mark.parametrize("devices", [1, 2])
def test_pack_uses_them_and_can_leave_them(monkeypatch, devices):
    rounds = []
    plain = packed_rows.ListRound
    monkeypatch.setattr(packed_rows, "ListRound", lambda *args: rounds.append(args) or plain(*args))
    mesh = helpers.mesh_of(devices)
    with_lists = pack(K, D, steps=STEPS, mesh=mesh)
    assert len(rounds) == 1
    without = pack(K, D, steps=STEPS, mesh=mesh, neighbour_lists=False)
    assert len(rounds) == 1
    assert with_lists.history[0] == without.history[0]
    np.testing.assert_allclose(with_lists.history, without.history, rtol=3e-3)
    assert with_lists.coherence == pytest.approx(without.coherence, rel=5e-3)
    assert with_lists.coherence < 0.995 * without.history[plan_of().first]


@pytest.mark.parametrize("devices", [1, 8])
def test_a_round_gathers_nothing_and_holds_nothing_larger_than_its_lists(devices):
    k, d, steps = 4096, 16, 400
    plan, (step, state, constants) = plan_of(k, d, steps=steps, devices=devices), prepared(k, d, steps, devices)
    lowered = loop._advance.lower(
        state, constants, np.int32(0), np.int32(1), step=ListRound(step, plan), chunk=8, mesh=helpers.mesh_of(devices)
    )
    text = lowered.compile().as_text()
    sizes = [np.prod([int(n) for n in dims.split(",")]) for dims in re.findall(r"[sf]32\[([\d,]+)\]", text)]
    assert max(sizes) <= plan.width * k
    gathered = re.findall(r"= ?\(?[sf]32\[([\d,]*)\][^=]*? all-gather", text)
    assert all(np.prod([int(n) for n in dims.split(",") if n]) <= devices for dims in gathered)
    assert ("collective-permute" in text) == (devices > 1)
