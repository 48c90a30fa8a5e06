"""Ensembles: equal to the published procedure, to themselves at any width, chunk and number of devices, and frozen."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superjax.core import keys
from superjax.core.errors import InputError
from superjax.core.mesh import row_mesh
from superjax.toy import Member, Training, grid, sampling, train_ensemble
from superjax.toy.group import Group, _standard_normal, _table
from superjax.toy.members import lay_out
from superjax.toy.resources import Resources
from tests.toy import reference

LONG, SHORT = Training(steps=200, test_batches=2), Training(steps=40, test_batches=2)


def _batches(member, steps, purpose=keys.DATA):
    """What the member sees, drawn outside of any ensemble, [steps, B, n]."""
    table = _table(member)
    stream = keys.stream(member.seed, purpose, *member.data[1:])

    @jax.jit
    def draw(index):
        key = jax.random.fold_in(stream, index)
        if isinstance(table, sampling.DenseTable):
            return sampling.draw_dense(key, table, member.batch)
        batch = sampling.draw_events(key, table, member.batch, table.slots)
        return sampling.to_dense(batch, member.batch, member.n)

    return np.stack([np.asarray(draw(index)) for index in range(steps)])


@pytest.mark.parametrize(
    "member",
    [
        Member(n=100, m=10, batch=128, decay=-0.8, loss_scale=0.01),
        Member(n=100, m=10, batch=128, decay=0.6, importance=0.98, bias_learning_rate=0.03, seed=5),
        Member(n=20, m=5, batch=64, decay=-1.0, distribution="uniform", density=4.0, high=1.0),
        Member(n=30, m=4, batch=64, decay=0.3, activation="linear", distribution="linear", bias_std=0.0),
    ],
)
def test_training_is_the_published_procedure(member):
    result = train_ensemble([member], SHORT)
    normal = _standard_normal(keys.stream(member.seed, keys.PARAMETERS, member.n, member.m), n=member.n, m=member.m)
    W, b, losses = reference.train(
        np.asarray(normal.W) * member.m**-0.5,
        np.asarray(normal.b) * member.bias_std,
        _batches(member, 40),
        gamma=member.decay,
        rate=member.learning_rate,
        bias_rate=member.bias_rate,
        scale=member.loss_scale,
        warmup=0.1,
        floor=0.05,
        importance=member.importances.astype(np.float64),
        activation=member.activation,
    )
    np.testing.assert_allclose(result.params[0].W, W, atol=2e-4)
    np.testing.assert_allclose(result.params[0].b, b, atol=2e-4)
    np.testing.assert_allclose(result.history[0], losses, rtol=1e-3)
    assert result.history_step.tolist() == list(range(1, 41))


def _eight():
    """Members with two streams of data and different everything else; the fourth is the one looked at."""
    return [
        Member(
            n=100,
            m=6,
            batch=64,
            decay=-1 + i / 4,
            alpha=1.0 if i % 2 else 1.5,
            seed=i % 3,
            learning_rate=1e-2 * (1 + i),
        )
        for i in range(8)
    ]


def test_a_member_is_the_same_run_in_any_ensemble():
    eight = _eight()
    filling = [dataclasses.replace(eight[i % 8], decay=i / 50, learning_rate=3e-3) for i in range(56)]
    alone = train_ensemble([eight[3]], LONG)
    for members, mesh in ((eight, row_mesh(jax.devices())), (eight + filling, None)):
        among = train_ensemble(members, LONG, mesh=mesh)
        np.testing.assert_allclose(among.params[3].W, alone.params[0].W, atol=1e-5)
        np.testing.assert_allclose(among.params[3].b, alone.params[0].b, atol=1e-5)
        assert among.loss[3] == pytest.approx(alone.loss[0], rel=1e-4)
        # The first step's loss tells that start and data are the same.
        assert among.history[3, 0] == pytest.approx(alone.history[0, 0], rel=1e-6)


@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("width", [1, 8, 512])
def test_starts_and_data_are_bitwise_the_same_at_any_width(width, devices):
    member = _eight()[3]
    others = [dataclasses.replace(member, decay=i / 600, alpha=member.alpha + (i % 5) * 0.1) for i in range(width - 1)]
    members = [*others[:3], member, *others[3:]]
    mesh = row_mesh(jax.devices()[:devices])
    group = Group(member.program, members, SHORT, Resources(mesh))
    [layout] = group._plan()
    place = members.index(member)
    at = tuple(np.argwhere((layout.places == place) & layout.real)[0])
    start = group._shard(group._starting_state(layout))
    normal = _standard_normal(keys.stream(member.seed, keys.PARAMETERS, 100, 6), n=100, m=6)
    assert np.array_equal(np.asarray(start.params.W)[at], np.asarray(normal.W) * np.float32(6**-0.5))

    constants = group._shard(group._constants(layout))
    block = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[at[0]]), constants)
    batch = jax.jit(group._engine._draw)(block.train_key, block.table, jnp.int32(17))
    assert np.array_equal(sampling.to_dense(batch, 64, 100), _batches(member, 18)[17])


def test_members_with_one_distribution_share_their_batches():
    one, other = Member(n=100, m=5, decay=-1.0), Member(n=100, m=20, decay=1.0, learning_rate=0.5)
    assert one.data == other.data
    for change in ({"alpha": 1.1}, {"seed": 1}, {"density": 1.5}, {"high": 1.0}, {"batch": 1024}):
        assert dataclasses.replace(one, **change).data != one.data
    given = dataclasses.replace(one, distribution=one.probabilities, density=None)
    assert given.data == one.data


@pytest.fixture(scope="module")
def together():
    """The eight, trained all at a time and each in turn."""
    return train_ensemble(_eight(), SHORT)


@pytest.mark.parametrize("chunk", [1, 3, 512])
def test_chunks_change_no_member(chunk, together):
    parts = train_ensemble(_eight(), SHORT, chunk=chunk)
    for ours, theirs in zip(parts.params, together.params, strict=True):
        assert np.array_equal(ours.W, theirs.W)
        assert np.array_equal(ours.b, theirs.b)
    assert np.array_equal(parts.loss, together.loss)


def test_members_abreast_agree_with_members_in_turn(together):
    abreast = train_ensemble(_eight(), SHORT, abreast=4)
    for ours, theirs in zip(abreast.params, together.params, strict=True):
        np.testing.assert_allclose(ours.W, theirs.W, atol=1e-5)


@pytest.mark.parametrize("abreast", [1, 4])
def test_a_member_that_diverges_is_frozen_and_touches_no_other(abreast):
    members = _eight()
    wild = [*members]
    wild[2] = dataclasses.replace(members[2], learning_rate=1e12)
    calm, result = (train_ensemble(each, SHORT, abreast=abreast) for each in (members, wild))
    assert result.failed_at[2] > 0
    assert result.status[2] == f"failed at step {result.failed_at[2]}"
    assert np.isnan(result.loss[2])
    assert np.all(np.isfinite(result.params[2].W))
    frozen = result.failed_at[2]
    assert np.all(np.isfinite(result.history[2, :frozen]))
    assert np.all(np.isnan(result.history[2, frozen:]))
    for place in (0, 1, 3, 4, 5, 6, 7):
        assert result.status[place] == "trained"
        assert np.array_equal(result.params[place].W, calm.params[place].W)
        assert result.loss[place] == calm.loss[place]


def test_programs_are_compiled_once_a_group():
    members = grid(n=20, m=[3, 4], batch=32, decay=[-1.0, 0.0, 1.0], alpha=[0.5, 1.0], seed=[0, 1])
    compiled = []

    def listen(event, seconds, **details):
        if event.endswith("backend_compile_duration"):
            compiled.append(details["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        result = train_ensemble(members, Training(steps=39, test_batches=2), chunk=5)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert result.programs == 2
    assert compiled.count("jit(_advance)") == 2
    assert compiled.count("jit(_test)") == 2


def test_one_rate_of_zero_holds_its_member_still():
    members = grid(n=20, m=4, batch=32, decay=0.0, learning_rate=[1e-2, 0.0])
    result = train_ensemble(members, SHORT)
    normal = _standard_normal(keys.stream(0, keys.PARAMETERS, 20, 4), n=20, m=4)
    assert np.array_equal(result.params[1].W, np.asarray(normal.W) * np.float32(0.5))
    assert not np.array_equal(result.params[0].W, result.params[1].W)


def test_fields_may_be_arrays_per_member():
    p = [np.linspace(0.01, 0.3, 12), np.full(12, 0.2)]
    importance = [np.linspace(1, 2, 12), np.ones(12)]
    members = [
        Member(n=12, m=3, batch=64, distribution=p[i], density=None, importance=importance[i], learning_rate=0.01 * i)
        for i in range(2)
    ]
    joint = train_ensemble(members, SHORT)
    for place, member in enumerate(members):
        alone = train_ensemble([member], SHORT)
        np.testing.assert_allclose(alone.params[0].W, joint.params[place].W, atol=1e-6)
        assert alone.loss[0] == pytest.approx(joint.loss[place], rel=1e-5)


def test_test_loss_and_its_error_are_those_of_fresh_batches():
    member = Member(n=100, m=6, batch=64, decay=-1.0)
    result = train_ensemble([member], Training(steps=40, test_batches=50))
    W, b = (np.asarray(leaf, np.float64) for leaf in result.params[0])
    fresh = _batches(member, 50, keys.TEST_DATA).astype(np.float64)
    losses = [reference.gradient(W, b, x, np.ones(100), "relu")[0] for x in fresh]
    assert result.loss[0] == pytest.approx(np.mean(losses), rel=1e-5)
    assert result.loss_stderr[0] == pytest.approx(np.std(losses, ddof=1) / 50**0.5, rel=1e-3)


def test_layouts_hold_every_member_once():
    rng = np.random.default_rng(0)
    for devices in (1, 2, 3, 8):
        members = [Member(n=10, m=2, batch=8, alpha=float(rng.integers(3)), decay=i / 9) for i in range(23)]
        layout = lay_out(members, devices)
        assert sorted(layout.places[layout.real].tolist()) == list(range(23))
        assert layout.blocks % devices == 0
        for row in layout.places:
            assert len({members[place].data for place in row}) == 1


def test_members_are_sharded_over_devices():
    members = grid(n=10, m=2, batch=8, decay=list(np.linspace(-1, 1, 16)))
    mesh = row_mesh(jax.devices())
    group = Group(members[0].program, members, SHORT, Resources(mesh))
    [layout] = group._plan()
    assert layout.places.shape == (8, 2)
    start = group._shard(group._starting_state(layout))
    assert {shard.data.shape for shard in start.params.W.addressable_shards} == {(1, 2, 10, 2)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 10, "m": 11}, "m: 11 is not possible"),
        ({"n": 1, "m": 1}, "n: 1 is not possible"),
        ({"n": 10, "m": 0}, "m: 0 is not possible"),
        ({"n": 10, "m": 2, "batch": 0}, "batch: 0 is not possible"),
        ({"n": 10, "m": 2.5}, "m: 2.5 is not possible"),
        ({"n": 10, "m": 2, "seed": -1}, "seed: -1 is not possible"),
        ({"n": 10, "m": 2, "decay": float("nan")}, "decay: nan is not possible"),
        ({"n": 10, "m": 2, "density": 0.0}, "density: 0.0 is not possible"),
        ({"n": 10, "m": 2, "activation": "tanh"}, "activation: 'tanh' is unknown"),
        ({"n": 10, "m": []}, "m: no value, so the grid is empty"),
        ({"n": 10, "m": 2, "width": 3}, "width: no setting of a toy model"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(InputError, match=message) as caught:
        grid(**settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (Member(n=10, m=2, distribution="zipf"), "distribution: 'zipf' is unknown"),
        (Member(n=10, m=2, density=9.0), "density: .* at most"),
        (Member(n=10, m=2, distribution=[1.0, 2.0]), "distribution: .* for n = 10"),
        (Member(n=10, m=2, distribution=np.full(10, 1.5), density=None), "density: .* at most 1"),
        (Member(n=10, m=2, importance=[1.0]), "importance: .* for n = 10"),
    ],
)
def test_members_that_cannot_be(member, message):
    with pytest.raises(InputError, match=message) as caught:
        train_ensemble([member], SHORT)
    assert "\n" not in str(caught.value)


def test_training_that_cannot_be():
    for settings in ({"steps": 0}, {"warmup": 1.0}, {"floor": 2.0}, {"test_batches": 1}):
        with pytest.raises(InputError):
            Training(**settings)
    with pytest.raises(InputError, match="members: there are none"):
        train_ensemble([])
    with pytest.raises(InputError, match="chunk: 0"):
        train_ensemble(_eight(), SHORT, chunk=0)
    with pytest.raises(InputError, match=r"n, m, batch: one member of 100 x 6 .* needs about"):
        train_ensemble(_eight(), SHORT, memory=1000)
