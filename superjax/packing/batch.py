"""Many small packings annealed at once, each in one tile; and the best of them on, until their values can be told."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from superjax.core import loop
from superjax.core import mesh as meshes
from superjax.core.pairwise import Precision
from superjax.packing.anneal import AnnealHparams, BatchStep, start
from superjax.packing.objectives import Objective
from superjax.packing.watch import Watch, saved_loop

_SHARPENING = AnnealHparams(1e3, 1e6, 0.7, 0.3)


class Batch(NamedTuple):
    """Packings optimised together: best rows [R, k, d], values [R], and the value before every step [steps, R]."""

    x: np.ndarray
    value: np.ndarray
    history: np.ndarray


def anneal_batch(
    objective: Objective,
    x: np.ndarray,
    hparams: AnnealHparams,
    steps: int,
    *,
    mesh: Mesh,
    precision: Precision,
    watch: Watch | None = None,
) -> Batch:
    """Optimise many packings at once, each in one tile, spread over the devices.

    Args:
        objective: what is minimised.
        x: [R, k, d] float32 unit rows to start from.
        hparams: the schedules, [R] each.
        steps: how many steps.
        mesh: the devices.
        precision: of the Gram products.
        watch: told what to keep; or what to go on from, on any number of devices.

    Raises:
        InputError: what to go on from is another packing's.
    """
    watch = watch or Watch()
    number, k, d = x.shape
    fill_up = partial(jax.tree.map, partial(_fill_up, multiple=mesh.size))
    x, hparams = fill_up((x, hparams))
    on_mesh = partial(jax.tree.map, lambda leaf: meshes.shard_rows(leaf, mesh))
    if watch.saved is None:
        history = {"value": np.zeros((steps, len(x)))}
        first = loop.LoopState(np.asarray(0, np.int64), on_mesh(start(x, np.ones((len(x), 1)))), history)
    else:
        then = saved_loop(watch.saved, k, d, steps, number)
        state = fill_up(jax.tree.map(lambda leaf: leaf[:number], then.state))
        history = {"value": fill_up(then.history["value"].T[:number]).T}
        first = loop.LoopState(then.step, on_mesh(state), history)
    step = BatchStep(objective, steps, jax.lax.Precision(precision))
    last = loop.run(step, first, on_mesh(hparams), steps, mesh=mesh, on_checkpoint=lambda now: watch.keep(now, steps))
    best, value = meshes.to_host((last.state.best, last.state.best_value))
    return Batch(best[:number], objective.shown(value[:number, 0]), objective.shown(last.history["value"][:, :number]))


def sharpen(objective: Objective, batch: Batch, number: int, steps: int, mesh: Mesh) -> Batch:
    """The best of a batch, annealed on at sharpness 1e3 to 1e6 and highest precision.

    Annealed values lie about 1e-4 above their basins', and basins differ by less. These lie 1e-6 above, where as many
    pairs touch as there are degrees of freedom.

    Args:
        objective: what is minimised, a maximum: energies have no use for sharpness.
        batch: annealed packings.
        number: of the best that are annealed on.
        steps: of each.
        mesh: the devices.
    """
    best = batch.x[np.argsort(batch.value, kind="stable")[:number]]
    alike = jax.tree.map(lambda value: np.full(len(best), value, np.float32), _SHARPENING)
    return anneal_batch(objective, best, alike, steps, mesh=mesh, precision="highest")


def _fill_up(leaf: np.ndarray, multiple: int) -> np.ndarray:
    """Whole numbers of restarts a device: the last one is repeated."""
    return np.concatenate([leaf, np.repeat(leaf[-1:], -len(leaf) % multiple, axis=0)])
