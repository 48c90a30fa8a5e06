"""Training that was stopped goes on exactly: any step, one member or many, groups and passes, other devices."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from superjax.core.errors import InputError
from superjax.core.mesh import row_mesh
from superjax.toy import Training, Unfinished, grid, train_ensemble
from superjax.toy.under_way import states_in

TRAINING = Training(steps=40, test_batches=2)
ONE = grid(n=12, m=3, batch=16)
SWEEP = grid(n=12, m=[2, 3], batch=16, decay=[-1.0, 0.5], alpha=[0.5, 1.0], seed=[0, 1])


class Stop(Exception):
    """The end of a run that is stopped."""


def stopped(members, at, unfinished=None, **options):
    """Stop at the `at`-th checkpoint, and give what is left, as a disk would: NumPy arrays."""
    trained = dict(unfinished.trained) if unfinished else {}
    seen, kept = [], []

    def keep(arrays):
        seen.append(int(arrays["step"]))
        kept[:] = [{name: np.array(leaf) for name, leaf in arrays.items()}]
        if len(seen) == at:
            raise Stop

    with pytest.raises(Stop):
        train_ensemble(
            members, TRAINING, on_checkpoint=keep, on_trained=trained.update, unfinished=unfinished, **options
        )
    return Unfinished(trained, kept[0])


def assert_same(result, whole):
    np.testing.assert_array_equal(result.loss, whole.loss)
    np.testing.assert_array_equal(result.loss_stderr, whole.loss_stderr)
    np.testing.assert_array_equal(result.history, whole.history)
    for ours, theirs in zip(result.params, whole.params, strict=True):
        np.testing.assert_array_equal(ours.W, theirs.W)
        np.testing.assert_array_equal(ours.b, theirs.b)


@pytest.fixture(scope="module")
def whole():
    return train_ensemble(SWEEP, TRAINING)


@pytest.mark.parametrize("at", [1, 3])
def test_42_one_member_goes_on_bitwise(at):
    rest = stopped(ONE, at)
    assert 0 < int(rest.under_way["step"]) < 40
    assert_same(train_ensemble(ONE, TRAINING, unfinished=rest), train_ensemble(ONE, TRAINING))


@pytest.mark.parametrize("chunk", [None, 3])
def test_a_sweep_of_groups_and_passes_goes_on_bitwise_after_several_stops(whole, chunk):
    rest, trained = None, 0
    for at in (2, 9, 1, 4):
        rest = stopped(SWEEP, at, rest, chunk=chunk)
        assert len(rest.trained) >= trained
        trained = len(rest.trained)
    begun, new = [], {}
    result = train_ensemble(
        SWEEP, TRAINING, chunk=chunk, unfinished=rest, on_trained=new.update,
        on_checkpoint=lambda arrays: begun.extend(arrays["places"].ravel()),
    )  # fmt: skip
    assert_same(result, whole)
    assert trained > 0
    assert not set(rest.trained) & (set(new) | set(begun))  # what is trained is not trained again
    assert set(rest.trained) | set(new) == set(range(len(SWEEP)))


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_39_stopped_on_8_devices_it_goes_on_on_fewer(whole, devices):
    rest = stopped(SWEEP, 9, mesh=row_mesh())
    assert rest.trained
    assert 0 < int(rest.under_way["step"]) < 40
    result = train_ensemble(SWEEP, TRAINING, unfinished=rest, mesh=row_mesh(jax.devices()[:devices]))
    # The tolerance that widths have.
    np.testing.assert_allclose(result.loss, whole.loss, rtol=1e-5)
    for ours, theirs in zip(result.params, whole.params, strict=True):
        np.testing.assert_allclose(ours.W, theirs.W, atol=1e-5)


def under_way(unfinished):
    """Place -> step, of all members that have begun."""
    return {
        int(place): int(one["step"])
        for one in states_in(unfinished.under_way)
        for place in one["places"].ravel()
        if place >= 0
    }


def test_members_that_are_split_over_passes_as_they_go_on_lose_no_step_in_another_stop():
    members = grid(n=12, m=3, batch=16, seed=[0, 1, 2, 3])
    rest, before = None, dict.fromkeys(range(4), 0)
    for at, chunk, advanced in ((3, 4, {0, 1, 2, 3}), (1, 2, {0, 1}), (2, 1, {0})):
        rest = stopped(members, at, rest, chunk=chunk)
        now = under_way(rest)
        assert {place for place in before if now[place] > before[place]} == advanced
        assert all(now[place] >= before[place] for place in before)
        before = now
    firsts = {}
    result = train_ensemble(
        members, TRAINING, chunk=1, unfinished=rest,
        on_checkpoint=lambda arrays: firsts.setdefault(int(arrays["places"].max()), int(arrays["step"])),
    )  # fmt: skip
    assert firsts == {place: step + 1 for place, step in before.items()}
    np.testing.assert_allclose(result.loss, train_ensemble(members, TRAINING).loss, rtol=1e-5)


def test_members_of_another_group_that_wait_are_kept_while_an_earlier_group_is_trained_again():
    members = grid(n=12, m=[3, 2], batch=16)
    rest = stopped(members, 9)
    first, begun = next(iter(rest.trained)), under_way(rest)
    again = stopped(members, 1, Unfinished({}, rest.under_way))
    assert begun
    assert under_way(again) == {first: 1, **begun}


def test_42_512_members_go_on_bitwise():
    many = grid(n=10, m=2, batch=8, seed=list(range(512)))
    rest = stopped(many, 3, mesh=row_mesh())
    assert rest.under_way["places"].size == 512
    assert_same(
        train_ensemble(many, TRAINING, unfinished=rest, mesh=row_mesh()),
        train_ensemble(many, TRAINING, mesh=row_mesh()),
    )


def test_a_frozen_member_stays_frozen():
    members = grid(n=12, m=3, batch=16, learning_rate=[1e-2, 1e30])
    rest = stopped(members, 4)
    result = train_ensemble(members, TRAINING, unfinished=rest)
    assert result.failed_at.tolist() == train_ensemble(members, TRAINING).failed_at.tolist()
    assert result.status[0] == "trained"
    assert result.failed_at[1] >= 0


def test_progress_counts_what_was_done_before():
    rest = stopped(SWEEP, 9)
    seen = []
    train_ensemble(SWEEP, TRAINING, unfinished=rest, on_progress=lambda done, total: seen.append((done, total)))
    assert seen[0][0] > len(rest.trained) * 40 + int(rest.under_way["step"])
    assert seen[-1] == (len(SWEEP) * 40, len(SWEEP) * 40)


@pytest.mark.parametrize(
    ("members", "steps", "said"),
    [
        (grid(n=16, m=3, batch=16), 40, r"W is float32\[1, 1, 12, 3\], this work has float32\[1, 1, 16, 3\]"),
        (ONE, 50, "is of 40 steps, this work has 50"),
    ],
)
def test_40_the_checkpoint_of_another_ensemble_is_refused(members, steps, said):
    rest = stopped(ONE, 2)
    with pytest.raises(InputError, match=said):
        train_ensemble(members, Training(steps=steps, test_batches=2), unfinished=rest)
