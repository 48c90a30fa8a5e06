"""Steps of an iteration in compiled chunks: donated state, histories, stop points and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from superjax.core import mesh as meshes
from superjax.core import processes
from superjax.core.arrays import Arrays, by_name, from_names
from superjax.core.errors import InputError

Tree = Any
Step = Callable[[Tree, Tree, jax.Array], tuple[Tree, Tree]]
"""(state, constants, index of the step) -> (new state, metrics); hashable, equal when it computes the same."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LoopState:
    """Where an iteration stands: all that must be saved to go on exactly.

    Attributes:
        step: steps done, int64 [] on the host. The step's index is the cursor of its data too.
        state: the engine's own state, on devices.
        history: tree of float64 [windows, ...] on the host: sums of the metrics over windows of `record_every` steps.
    """

    step: np.ndarray
    state: Tree
    history: Tree

    def history_means(self, record_every: int, steps: int) -> Tree:
        """The metrics' mean over every window, NaN for a window without a step.

        Args:
            record_every: as given to `begin`.
            steps: as given to `begin`.
        """
        done = np.clip(int(self.step) - record_every * np.arange(_windows(steps, record_every)), 0, record_every)
        divisor = np.where(done > 0, done, np.nan)
        return jax.tree.map(lambda sums: sums / divisor.reshape(-1, *[1] * (sums.ndim - 1)), self.history)

    def arrays(self, steps: int) -> Arrays:
        """What a checkpoint holds of the loop: its leaves by name, not copied, and the total of its steps.

        Args:
            steps: as given to `run`.
        """
        return {**by_name(self), "steps": np.asarray(steps, np.int64)}


def restore(like: LoopState, arrays: Mapping[str, Any], steps: int) -> LoopState:
    """The `LoopState` that `LoopState.arrays` took apart.

    Args:
        like: with leaves of the wanted shapes and dtypes, for instance the first state.
        arrays: the checkpoint.
        steps: as given to `run`.

    Raises:
        InputError: it is the checkpoint of another loop.
    """
    found = from_names({"steps": np.asarray(steps, np.int64)}, arrays)
    if int(found["steps"]) != steps:
        raise InputError(f"checkpoint: is of {int(found['steps'])} steps, this work has {steps}; start anew")
    return from_names(like, arrays)


def begin(step: Step, state: Tree, constants: Tree, steps: int, *, record_every: int = 1) -> LoopState:
    """The `LoopState` before the first step.

    Args:
        step: the iteration.
        state: its first state.
        constants: what the step reads and never changes.
        steps: how many steps there will be, at least 1.
        record_every: steps in a window of the history.
    """
    _, metrics = jax.eval_shape(step, state, constants, jax.ShapeDtypeStruct((), jnp.int32))
    windows = _windows(steps, record_every)
    history = jax.tree.map(lambda leaf: np.zeros((windows, *leaf.shape), np.float64), metrics)
    return LoopState(np.asarray(0, np.int64), state, history)


def run(
    step: Step,
    loop: LoopState,
    constants: Tree,
    steps: int,
    *,
    mesh: Mesh | None = None,
    record_every: int = 1,
    chunk: int = 256,
    chunk_seconds: float = 1.0,
    on_progress: Callable[[int, int], None] | None = None,
    checkpoint_every: int | None = None,
    on_checkpoint: Callable[[LoopState], None] | None = None,
) -> LoopState:
    """Go on from `loop` until `steps` steps are done, in compiled chunks of about `chunk_seconds`.

    How the steps are cut into chunks changes no result: a chunk's length is an argument of one compiled program.

    Args:
        step: the iteration; part of the key of the compiled program, so equal steps share one.
        loop: where to start; its `state` is donated and cannot be used again.
        constants: what the step reads and never changes.
        steps: the total, counted from step 0.
        mesh: when given, every leaf of state, constants and metrics has a leading axis that is sharded over it, and
            `step` sees one device's part: the devices run the whole chunk without a word between them.
        record_every: steps in a window of the history, as given to `begin`.
        chunk: most steps in one compiled call.
        chunk_seconds: how long a call should take, so that progress moves and Ctrl-C answers.
        on_progress: called with (steps done, steps) after each call.
        checkpoint_every: steps between two calls of `on_checkpoint`, which falls on multiples of it and on the last
            step; by default it is called after every compiled call.
        on_checkpoint: receives the `LoopState`; it must read what it keeps before it returns.

    Returns:
        The state after `steps` steps.

    Example:
        >>> def halve(state, constants, index):
        ...     return state / 2, {"value": state}
        >>> first = begin(halve, jnp.float32(8), (), 4)
        >>> last = run(halve, first, (), 4)
        >>> float(last.state), last.history["value"].tolist()
        (0.5, [8.0, 4.0, 2.0, 1.0])
    """
    done, length = int(loop.step), 1
    together = mesh is not None and processes.shared(mesh.devices.flat)
    while done < steps:
        stop = min(steps, done + length)
        if checkpoint_every is not None:
            stop = min(stop, (done // checkpoint_every + 1) * checkpoint_every)
        started = time.monotonic()
        span = (np.int32(done), np.int32(stop))
        state, metrics = _advance(loop.state, constants, *span, step=step, chunk=chunk, mesh=mesh)
        history = _record(loop.history, meshes.to_host(metrics), done, stop, record_every)
        took = time.monotonic() - started
        length = max(1, min(chunk, 2 * length, int(chunk_seconds * (stop - done) / max(took, 1e-9))))
        length = processes.agreed(length) if together else length  # clocks differ
        done = stop
        loop = LoopState(np.asarray(done, np.int64), state, history)
        if on_progress is not None:
            on_progress(done, steps)
        if on_checkpoint is not None and (not checkpoint_every or done % checkpoint_every == 0 or done == steps):
            on_checkpoint(loop)
    return loop


@partial(jax.jit, static_argnames=("step", "chunk", "mesh"), donate_argnames="state")
def _advance(
    state: Tree, constants: Tree, start: jax.Array, stop: jax.Array, *, step: Step, chunk: int, mesh: Mesh | None
) -> tuple[Tree, Tree]:
    """Steps `start` to `stop`; their metrics stand in the first places of leaves [chunk, ...]."""

    def body(state: Tree, constants: Tree, start: jax.Array, stop: jax.Array) -> tuple[Tree, Tree]:
        return _steps(step, state, constants, start, stop, chunk, on_mesh=mesh is not None)

    if mesh is None:
        return body(state, constants, start, stop)
    state, metrics = meshes.over_rows(body, mesh, replicated_args=2)(state, constants, start, stop)
    return state, jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), metrics)


def _steps(
    step: Step, state: Tree, constants: Tree, start: jax.Array, stop: jax.Array, chunk: int, *, on_mesh: bool
) -> tuple[Tree, Tree]:
    """The loop of one device; on a mesh the metrics' sharded axis stays in front of the chunk's."""
    axis = 1 if on_mesh else 0
    _, shapes = jax.eval_shape(step, state, constants, start)
    buffers = jax.tree.map(lambda leaf: jnp.zeros((*leaf.shape[:axis], chunk, *leaf.shape[axis:]), leaf.dtype), shapes)
    if on_mesh:
        buffers = meshes.varying(buffers)

    def body(index: jax.Array, carry: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
        state, buffers = carry
        state, metrics = step(state, constants, index)
        put = partial(lax.dynamic_update_index_in_dim, index=index - start, axis=axis)
        return state, jax.tree.map(put, buffers, metrics)

    return lax.fori_loop(start, stop, body, (state, buffers))


def _record(history: Tree, metrics: Tree, start: int, stop: int, record_every: int) -> Tree:
    """`history` with the metrics of steps `start` to `stop` added to their windows, step by step."""
    window = np.arange(start, stop) // record_every

    def add(sums: np.ndarray, values: np.ndarray) -> np.ndarray:
        new = sums.copy()
        np.add.at(new, window, values[: stop - start].astype(np.float64))
        return new

    return jax.tree.map(add, history, metrics)


def _windows(steps: int, record_every: int) -> int:
    return -(-steps // record_every)
