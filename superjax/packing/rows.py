"""One packing too large for a tile: its rows spread over the devices, their shards going round the ring."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from superjax.core import loop
from superjax.core import mesh as meshes
from superjax.core.pairwise import Precision, stream_pairs
from superjax.core.reducers import Extremes
from superjax.packing.anneal import AnnealHparams, PackingState, RingStep, start
from superjax.packing.neighbours import ROUND, list_plan
from superjax.packing.objectives import Objective
from superjax.packing.rounds import ListRound, run_rounds
from superjax.packing.watch import Watch, saved_loop


class Annealed(NamedTuple):
    """What one optimisation left: best rows [k, d] float32, and the value before every step, float64 [steps].

    At steps over lists it is the value of the listed pairs.
    """

    x: np.ndarray
    history: np.ndarray


class RowLayout(NamedTuple):
    """How k rows lie on a mesh: rows in a tile, and in all, with padding."""

    block: int
    rows: int


def layout(k: int, mesh: Mesh, block: int | None = None) -> RowLayout:
    """Tiles for a value and its gradient: smaller than for counting alone, since three products share a tile.

    Small tiles waste less on the diagonal and stay in a core's cache; large ones feed an accelerator.

    Args:
        k: number of vectors.
        mesh: the devices.
        block: rows in a tile; chosen for the platform by default.

    Example:
        >>> layout(2000, meshes.single_device_mesh())
        RowLayout(block=250, rows=2000)
    """
    shard = -(-k // mesh.size)
    if block is None:
        largest = 256 if mesh.devices.flat[0].platform == "cpu" else 4096
        block = -(-shard // -(-shard // largest))
    block = min(block, shard)
    return RowLayout(block, mesh.size * -(-shard // block) * block)


def anneal_rows(
    objective: Objective,
    x: np.ndarray,
    hparams: AnnealHparams,
    steps: int,
    *,
    mesh: Mesh,
    block: int | None,
    precision: Precision,
    watch: Watch | None = None,
    lists: bool = True,
) -> Annealed:
    """Optimise one packing on all devices of a mesh.

    Args:
        objective: what is minimised.
        x: [k, d] float32 unit rows to start from, the same in every process.
        hparams: the schedule, scalars.
        steps: how many steps.
        mesh: the devices.
        block: rows in a tile, None for a good number.
        precision: of the Gram product.
        watch: told the steps done, the least value so far and what to keep; or what to go on from, on any mesh.
        lists: most of the later steps over neighbour lists, where they are faster: many vectors for their dimension.

    Raises:
        InputError: what to go on from is another packing's.
    """
    watch = watch or Watch()
    step, state, constants = prepare(objective, x, hparams, steps, mesh=mesh, block=block, precision=precision)
    first = loop.LoopState(np.asarray(0, np.int64), state, {"value": np.zeros((steps, mesh.size))})
    if watch.saved is not None:
        first = _laid_out(saved_loop(watch.saved, len(x), x.shape[1], steps), first, len(x), mesh)

    def report(now: loop.LoopState) -> None:
        done = int(now.step)
        watch.keep(now, steps)
        if watch.on_value is not None:
            watch.on_value(done, steps, float(objective.shown(meshes.to_host(now.state.best_value)[0])))

    plan = list_plan(objective, len(x), x.shape[1], hparams, steps, mesh) if lists else None
    if plan is None:
        last = loop.run(step, first, constants, steps, mesh=mesh, on_checkpoint=report)
    else:
        until = plan.first + ROUND * max(0, -(-(int(first.step) - plan.first) // ROUND))
        now = loop.run(step, first, constants, until, mesh=mesh, on_checkpoint=report)
        last = run_rounds(ListRound(step, plan), now, constants, mesh, report)
    return Annealed(meshes.to_host(last.state.best)[: len(x)], objective.shown(last.history["value"][:, 0]))


def _laid_out(saved: loop.LoopState, first: loop.LoopState, k: int, mesh: Mesh) -> loop.LoopState:
    """A saved state on the mesh of today, as `first` is: k rows with today's padding, and a scalar for each device."""

    def fit(old: np.ndarray, new: jax.Array) -> jax.Array:
        whole = np.zeros(new.shape, new.dtype)
        whole[:] = old[0] if old.ndim == 1 else 0
        if old.ndim > 1:
            whole[:k] = old[:k]
        return meshes.shard_rows(whole, mesh)

    history = {"value": np.repeat(saved.history["value"][:, :1], mesh.size, axis=1)}
    return loop.LoopState(saved.step, jax.tree.map(fit, saved.state, first.state), history)


def prepare(
    objective: Objective,
    x: np.ndarray,
    hparams: AnnealHparams,
    steps: int,
    *,
    mesh: Mesh,
    block: int | None,
    precision: Precision,
) -> tuple[RingStep, PackingState, AnnealHparams]:
    """The step, its first state and its constants, laid over the mesh."""
    tiles = layout(len(x), mesh, block)
    ends, _ = stream_pairs(x, Extremes(), mesh=mesh, block=tiles.block, precision=precision)
    largest = float(ends.largest) if objective.signed else max(float(ends.largest), -float(ends.smallest))
    padded = meshes.pad_rows(x, tiles.rows)
    state = start(padded, np.full(mesh.size, largest))
    each = jax.tree.map(lambda value: np.full(mesh.size, value, np.float32), hparams)
    on_mesh = jax.tree.map(lambda leaf: meshes.shard_rows(leaf, mesh), (state, each))
    step = RingStep(objective, steps, len(x), mesh.size, tiles.block, jax.lax.Precision(precision))
    return step, *on_mesh
