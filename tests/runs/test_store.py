"""Checkpoints: whole or unused, of this run or refused, newest few kept, and a disk that refuses is said."""

from __future__ import annotations

import errno
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import pytest

from superjax.core.arrays import by_name, from_names
from superjax.core.errors import EnvironmentFailure, InputError, InputWarning
from superjax.core.mesh import row_mesh, shard_rows
from superjax.runs.store import Store
from tests.faults.disks import small_disk

RUN = {"command": "train", "seed": 0}


def state(step=3):
    return {
        "step": np.asarray(step, np.int64),
        "steps": np.asarray(10, np.int64),
        "x": jnp.arange(50_000, dtype=jnp.float32) * step,
        "history": np.arange(7) / 3 * step,
        "counter": jnp.asarray(16777217, jnp.int32),
        "nothing": np.zeros((0, 4)),
    }


def store_in(tmp_path, **options):
    return Store(tmp_path / "state", RUN, **{"every_s": 0.0, **options})


def assert_state(found, step):
    for name, expected in state(step).items():
        assert found.arrays[name].dtype == expected.dtype
        np.testing.assert_array_equal(found.arrays[name], expected)


def damaged_files(tmp_path, number, damage):
    """Damage the largest file of a checkpoint, which holds the values."""
    file = max((tmp_path / "state" / str(number)).rglob("*"), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    if damage == "truncated":
        data = data[: len(data) // 2]
    else:
        data[len(data) // 2] ^= 64
    file.write_bytes(bytes(data))


def test_what_was_saved_comes_back_with_every_bit_and_dtype(tmp_path):
    with store_in(tmp_path) as store:
        store.save(state(), "cell")
    with store_in(tmp_path) as store:
        found = store.newest()
    assert found.place == store.committed == "cell, step 3 of 10"
    assert_state(found, 3)


def test_the_newest_few_are_kept(tmp_path):
    with store_in(tmp_path, keep=2) as store:
        for step in range(1, 6):
            store.save(state(step))
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["4", "5"]
    with store_in(tmp_path) as store:
        assert_state(store.newest(), 5)


def test_a_state_that_is_overwritten_afterwards_is_saved_as_it_was(tmp_path):
    advance = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.zeros(300_000)
    with store_in(tmp_path) as store:
        store.save({"x": x})
        for _ in range(50):
            x = advance(x)
        x.block_until_ready()
        assert not store.newest().arrays["x"].any()


def test_offers_are_taken_when_it_is_time(tmp_path):
    with store_in(tmp_path, every_s=1e9) as store:
        store.offer(state())
        assert store.newest() is None
    with store_in(tmp_path) as store:
        store.offer(state())
        assert store.newest() is not None


def test_so_many_steps_are_time_too(tmp_path):
    with store_in(tmp_path, every_s=1e9, every_steps=4) as store:
        due = []
        for step in range(1, 11):
            if store.due(step):
                due.append(step)
                store.save(state(step))
                store.wait()
        assert due == [4, 8]
        assert not store.due(1)  # other work, from its start
        assert store.due(5)


@pytest.mark.faults
@pytest.mark.parametrize("damage", ["truncated", "changed"])
def test_a_damaged_newest_checkpoint_is_said_and_the_one_before_used(tmp_path, damage):
    with store_in(tmp_path) as store:
        store.save(state(1))
        store.save(state(2))
    damaged_files(tmp_path, 2, damage)
    with store_in(tmp_path) as store:
        with pytest.warns(InputWarning, match=r"state/2: the checkpoint is damaged .*; the one before is used"):
            assert_state(store.newest(), 1)
        store.save(state(4))
    with store_in(tmp_path) as store, warnings.catch_warnings():
        assert_state(store.newest(), 4)


@pytest.mark.faults
def test_a_damaged_checkpoint_is_set_aside_where_it_is_in_nobodys_way(tmp_path):
    with store_in(tmp_path) as store:
        store.save(state(1))
    for aside in ("2.damaged", "2.damaged-2"):
        with store_in(tmp_path) as store:
            store.save(state(2))
        damaged_files(tmp_path, 2, "changed")
        with store_in(tmp_path) as store, pytest.warns(InputWarning, match=rf"this one is now {aside}$"):
            assert_state(store.newest(), 1)
        assert any(path.is_file() for path in (tmp_path / "state" / aside).rglob("*"))
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["1", "2.damaged", "2.damaged-2"]


@pytest.mark.faults
@pytest.mark.parametrize(
    "error",
    [
        MemoryError("no room"),
        OSError(errno.EIO, "Input/output error"),
        ValueError("RESOURCE_EXHAUSTED: Failed to open [os_error_code='24']"),
    ],
)
def test_a_read_that_fails_for_the_moment_costs_no_checkpoint(tmp_path, monkeypatch, error):
    with store_in(tmp_path) as store:
        store.save(state(1))
        store.save(state(2))

    def refuse(*_, **__):
        raise error

    with store_in(tmp_path) as store, monkeypatch.context() as patched:
        patched.setattr(ocp.CheckpointManager, "restore", refuse)
        with pytest.raises(EnvironmentFailure, match=r"state/2: the checkpoint cannot be read \("):
            store.newest()
    with store_in(tmp_path) as store:
        assert_state(store.newest(), 2)
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["1", "2"]


NO_DESCRIPTORS = """
import os, resource, sys
from pathlib import Path
from superjax.core.errors import EnvironmentFailure
from superjax.runs.store import Store

folder, run = Path(sys.argv[1]) / "state", {"command": "train", "seed": 0}
store = Store(folder, run)
store._manager()
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 2, 4096))
try:
    store.newest()
except EnvironmentFailure as error:
    print(error)
"""


@pytest.mark.faults
def test_a_process_without_file_descriptors_ends_with_its_checkpoints_as_they_were(tmp_path):
    with store_in(tmp_path) as store:
        store.save(state(1))
        store.save(state(2))
    command = [sys.executable, "-c", NO_DESCRIPTORS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "cannot be read (Too many open files" in done.stdout
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["1", "2"]


@pytest.mark.faults
@pytest.mark.parametrize("leftover", ["200.orbax-checkpoint-tmp", "2.orbax-checkpoint-tmp-0"])
def test_41_what_a_crash_left_half_written_is_swept_and_in_nobodys_way(tmp_path, leftover):
    with store_in(tmp_path) as store:
        store.save(state(1))
    (tmp_path / "state" / leftover / "arrays").mkdir(parents=True)
    with store_in(tmp_path) as store:
        assert_state(store.newest(), 1)
        store.save(state(2))
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["1", "2"]


def test_another_runs_checkpoints_are_refused(tmp_path):
    with store_in(tmp_path) as store:
        store.save(state())
    other = Store(tmp_path / "state", {**RUN, "seed": 1})
    with other, pytest.raises(InputError, match="holds checkpoints of another run"):
        other.newest()


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_39_saved_on_8_devices_it_comes_back_on_1_2_or_3(tmp_path, devices):
    x = np.random.default_rng(0).normal(size=(24, 5)).astype(np.float32)
    with store_in(tmp_path) as store:
        store.save({"x": shard_rows(x, row_mesh())})
        found = store.newest().arrays["x"]
    np.testing.assert_array_equal(np.asarray(shard_rows(found, row_mesh(jax.devices()[:devices]))), x)


def test_40_an_optimisers_state_returns_into_its_own_tree_and_no_other(tmp_path):
    params = {"W": jnp.ones((12, 3))}
    optimiser = optax.chain(optax.clip(1.0), optax.adam(1e-2))
    moments = optimiser.update(jax.tree.map(jnp.ones_like, params), optimiser.init(params))[1]
    with store_in(tmp_path) as store:
        store.save(by_name(moments))
        saved = store.newest().arrays
    found = from_names(moments, saved)
    assert jax.tree.structure(found) == jax.tree.structure(moments)
    jax.tree.map(np.testing.assert_array_equal, found, moments)
    wider = optimiser.init({"W": jnp.ones((16, 3))})
    with pytest.raises(InputError, match=r"mu/W is float32\[12, 3\], this work has float32\[16, 3\]; start anew"):
        from_names(wider, saved)
    with pytest.raises(InputError, match="has no bias"):
        from_names({"bias": np.zeros(3)}, saved)


FULL_DISK = """
import sys
from pathlib import Path
import numpy as np
from superjax.core.errors import EnvironmentFailure
from superjax.runs.store import Store

folder, run = Path(sys.argv[1]) / "state", {"seed": 0}
noise = np.random.default_rng(0).normal(size=200_000)
store = Store(folder, run)
store.save({"x": noise[:1000]}, "small")
store.wait()
store.save({"x": noise}, "large")
try:
    store.close()
except EnvironmentFailure as error:
    print(error)
print(store.committed, [path.name for path in folder.iterdir()])
with Store(folder, run) as again:
    print(np.array_equal(again.newest().arrays["x"], noise[:1000]))
"""


@pytest.mark.faults
def test_a_full_disk_is_the_environments_failure_and_what_was_saved_stays(tmp_path):
    with small_disk(tmp_path / "disk", "1m") as disk:
        done = subprocess.run(
            [sys.executable, "-c", FULL_DISK, disk], capture_output=True, text=True, check=True, timeout=120
        )
    refused, kept, read = done.stdout.splitlines()
    assert "cannot be written (No space left on device" in refused
    assert (kept, read) == ("small ['1']", "True")
