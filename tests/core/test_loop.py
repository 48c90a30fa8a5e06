"""The loop: chunks change nothing, histories, checkpoints, exact resumption, one compilation, devices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superjax.core import loop
from superjax.core.mesh import row_mesh, shard_rows


def _step(state, constants, index):
    """A chaotic map of [E, 3] states: a wrong order of steps or a lost bit shows at once."""
    x = constants * state["x"] * (1 - state["x"])
    x = 0.999 * x + 0.001 * (index % 7)[None, None] / 7
    return {"x": x, "count": state["count"] + 1}, {"mean": x.mean(axis=1), "index": jnp.full(len(x), index)}


def _start(members=8):
    x = np.linspace(0.1, 0.9, 3 * members, dtype=np.float32).reshape(members, 3)
    return {"x": jnp.asarray(x), "count": jnp.zeros(members, jnp.int32)}, jnp.full((members, 3), 3.7, jnp.float32)


def _run(steps=50, **options):
    state, constants = _start()
    first = loop.begin(_step, state, constants, steps, record_every=options.get("record_every", 1))
    return loop.run(_step, first, constants, steps, **options)


def _assert_equal(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


@pytest.mark.parametrize("chunk", [1, 7, 50, 64])
def test_chunks_change_no_bit(chunk):
    _assert_equal(_run(chunk=chunk), _run(chunk=10, chunk_seconds=0.0))


def test_history_holds_every_step_and_window():
    steps = _run(record_every=1)
    assert steps.history["index"][:, 0].tolist() == list(range(50))
    windows = _run(record_every=8).history_means(8, 50)
    expected = [np.arange(50)[i : i + 8].mean() for i in range(0, 50, 8)]
    np.testing.assert_allclose(windows["index"][:, 3], expected)
    np.testing.assert_allclose(windows["mean"][0], steps.history["mean"][:8].mean(axis=0), rtol=1e-12)


def test_resuming_from_saved_arrays_is_exact(tmp_path):
    kept = []

    def keep(state):
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
        np.savez(tmp_path / f"{int(state.step)}.npz", *leaves)
        kept.append(int(state.step))

    whole = _run(record_every=8, checkpoint_every=20, on_checkpoint=keep, chunk=16)
    assert kept == [20, 40, 50]
    state, constants = _start()
    first = loop.begin(_step, state, constants, 50, record_every=8)
    with np.load(tmp_path / "20.npz") as saved:
        leaves = [saved[name] for name in saved.files]
    restored = jax.tree.unflatten(jax.tree.structure(first), leaves)
    assert int(restored.step) == 20
    resumed = loop.run(_step, restored, constants, 50, record_every=8)
    _assert_equal(resumed, whole)


def test_progress_reaches_the_end():
    seen = []
    _run(on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (50, 50)
    assert seen == sorted(seen)


def test_one_compilation_for_all_chunks_and_runs():
    traces = []

    def step(state, constants, index):
        traces.append(index)
        return state + 1, {"state": state}

    for steps in (5, 40, 41):
        first = loop.begin(step, jnp.zeros(3), (), steps)
        assert float(loop.run(step, first, (), steps, chunk=8).state[0]) == steps
    assert len(traces) == 2  # once for the shapes of the metrics, once in the loop


def test_the_state_is_donated():
    state, constants = _start()
    first = loop.begin(_step, state, constants, 3)
    loop.run(_step, first, constants, 3)
    assert state["x"].is_deleted()


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_devices_change_nothing(devices):
    mesh = row_mesh(jax.devices()[:devices])
    state, constants = jax.tree.map(lambda leaf: shard_rows(np.asarray(leaf), mesh), _start())
    first = loop.begin(_step, state, constants, 50)
    last = loop.run(_step, first, constants, 50, mesh=mesh)
    assert last.state["x"].sharding.num_devices == devices
    _assert_equal(jax.tree.map(np.asarray, last), jax.tree.map(np.asarray, _run()))
