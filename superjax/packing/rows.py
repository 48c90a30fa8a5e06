"""One packing too large for a tile: its rows spread over the devices, their shards going round the ring."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from superjax.core import loop
from superjax.core import mesh as meshes
from superjax.core.pairwise import Precision, stream_pairs
from superjax.core.reducers import Extremes
from superjax.packing.anneal import AnnealHparams, PackingState, RingStep, start
from superjax.packing.objectives import Objective

OnValue = Callable[[int, int, float], None]
"""Called with (steps done, steps, least value so far) as an optimisation goes on."""

_REPORT_EVERY = 25


class Annealed(NamedTuple):
    """What one optimisation left: best rows [k, d] float32, and the value before every step, float64 [steps]."""

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
    on_value: OnValue | None = None,
) -> Annealed:
    """Optimise one packing on all devices of a mesh.

    Args:
        objective: what is minimised.
        x: [k, d] float32 unit rows to start from, the same in every process.
        hparams: the schedule, scalars.
        steps: how many steps, each one pass over the Gram matrix.
        mesh: the devices.
        block: rows in a tile, None for a good number.
        precision: of the Gram product.
        on_value: told the steps done and the least value so far.
    """
    step, state, constants = prepare(objective, x, hparams, steps, mesh=mesh, block=block, precision=precision)
    first = loop.LoopState(np.asarray(0, np.int64), state, {"value": np.zeros((steps, mesh.size))})

    def report(now: loop.LoopState) -> None:
        done = int(now.step)
        if on_value is not None:
            on_value(done, steps, float(np.min(now.history["value"][:done, 0])))

    last = loop.run(
        step, first, constants, steps, mesh=mesh,
        checkpoint_every=max(1, min(_REPORT_EVERY, steps // 4)), on_checkpoint=report,
    )  # fmt: skip
    return Annealed(meshes.to_host(last.state.best)[: len(x)], last.history["value"][:, 0])


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
