"""Small packings to the last digit: many restarts at once, polishing, and rounds that perturb the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from superjax.core import loop, processes
from superjax.core import mesh as meshes
from superjax.core.errors import InputError
from superjax.core.pairwise import Precision
from superjax.packing.anneal import AnnealHparams, BatchStep, start
from superjax.packing.objectives import Objective
from superjax.packing.polish import Polished, polish
from superjax.packing.restarts import anywhere, mixed, perturbed
from superjax.packing.watch import Watch, saved_loop

_COARSE = 1e-9
"""How finely the best of a batch are polished; the best of all is polished to the end."""

_SAME = 1e-8
"""Polished values closer than this are one basin."""

_APART = 2e-5
"""Annealed values nearer than this, relatively, may be one basin."""

_FRESH_ROUNDS = 4
"""The last rounds of patience take restarts from anywhere too: 16 and 19 lines in R^8 need it."""


@dataclass(frozen=True)
class SearchConfig:
    """How hard to search.

    Attributes:
        restarts: packings annealed at once.
        steps: steps of each.
        rounds: rounds of perturbed restarts without gain after which to stop; None: more for larger packings.
        most_rounds: rounds at most.
        polished: packings of a batch that are polished.
    """

    restarts: int = 512
    steps: int = 600
    rounds: int | None = None
    most_rounds: int = 28
    polished: int = 6

    def patience(self, k: int, d: int) -> int:
        """Rounds without gain after which to stop: 27 lines in R^6 took six before they fell below the table."""
        return 2 + k * d // 40 + _FRESH_ROUNDS if self.rounds is None else self.rounds


class Batch(NamedTuple):
    """Packings optimised together: best rows [R, k, d], values [R], and the value before every step [steps, R]."""

    x: np.ndarray
    value: np.ndarray
    history: np.ndarray


class Found(NamedTuple):
    """The best of a search, and the steps that one restart of every round took together."""

    best: Polished
    steps: int


def search(
    objective: Objective,
    k: int,
    d: int,
    config: SearchConfig,
    *,
    given: np.ndarray | None,
    bound: float,
    seed: int,
    mesh: Mesh,
    precision: Precision,
    watch: Watch | None = None,
) -> Found:
    """Anneal many restarts and polish the best, then perturb those and do it again, until rounds bring nothing.

    Args:
        objective: what is minimised.
        k: number of vectors.
        d: dimension.
        config: how hard to search.
        given: [k, d] unit rows to perturb instead of random starts; the result is never worse.
        bound: a value that cannot be beaten; the search stops there.
        seed: of everything random.
        mesh: the devices, over which restarts are spread.
        precision: of the Gram products.
        watch: told the steps done, the steps there will be at least, the least value so far, and what to keep; or what
            to go on from.

    Raises:
        InputError: what to go on from is another packing's.
    """
    watch = watch or Watch()
    rng, patience = np.random.default_rng([seed, k, d]), config.patience(k, d)
    anneal = partial(anneal_batch, objective, steps=config.steps, mesh=mesh, precision=precision)
    if watch.saved is None:
        first, quiet, elite = 0, 0, [] if given is None else [polish(objective, given)]
    else:
        first, quiet, elite = _resumed(watch.saved, rng)
    for number in range(first, 1 + config.most_rounds):
        within = watch.within(round=number, quiet=quiet, rng=_rng_state(rng), **_elite_arrays(elite, k, d))
        watch = watch.begun()
        if not elite:
            starts, hparams = anywhere(rng, k, d, config.restarts, seed)
        elif quiet < patience - _FRESH_ROUNDS:
            starts, hparams = perturbed(rng, elite, config.restarts)
        else:
            starts, hparams = mixed(rng, elite, config.restarts)
        before = elite[0].value if elite else np.inf
        found = _polish_best(objective, anneal(starts, hparams, watch=within), config.polished, bound)
        elite = _distinct([*elite, *found])[: config.polished]
        quiet = 0 if elite[0].value < before - _SAME else quiet + 1
        done = (number + 1) * config.steps
        if watch.on_value is not None:
            watch.on_value(done, done + (patience - quiet) * config.steps, elite[0].value)
        ended = quiet == patience or elite[0].value <= bound + _SAME
        # Hosts of different make may polish to different last digits, and must end together.
        if processes.agreed(ended) if processes.shared(mesh.devices.flat) else ended:
            break
    return Found(polish(objective, elite[0].x), done)


def _elite_arrays(elite: list[Polished], k: int, d: int) -> dict[str, np.ndarray]:
    return {
        "elite": np.array([one.x for one in elite]).reshape(-1, k, d),
        "elite_values": np.array([one.value for one in elite], np.float64),
    }


def _resumed(saved: Mapping[str, Any], rng: np.random.Generator) -> tuple[int, int, list[Polished]]:
    """The round under way, the rounds without gain, and the best so far; sets the generator to the round's start."""
    if not {"round", "quiet", "rng", "elite", "elite_values"} <= set(saved):
        raise InputError("checkpoint: belongs to another packing; start anew")
    state = dict(rng.bit_generator.state)
    low, high, inc_low, inc_high, has_uint32, uinteger = (int(word) for word in saved["rng"])
    state["state"] = {"state": high << 64 | low, "inc": inc_high << 64 | inc_low}
    state["has_uint32"], state["uinteger"] = has_uint32, uinteger
    rng.bit_generator.state = state
    elite = [Polished(x, float(value)) for x, value in zip(saved["elite"], saved["elite_values"], strict=True)]
    return int(saved["round"]), int(saved["quiet"]), elite


def _rng_state(rng: np.random.Generator) -> np.ndarray:
    """[6] uint64: the whole state of a PCG64."""
    state = rng.bit_generator.state
    numbers = (state["state"]["state"], state["state"]["inc"])
    words = [word for number in numbers for word in (number & (2**64 - 1), number >> 64)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], np.uint64)


def anneal_batch(
    objective: Objective,
    x: np.ndarray,
    hparams: AnnealHparams,
    *,
    steps: int,
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


def _fill_up(leaf: np.ndarray, multiple: int) -> np.ndarray:
    """Whole numbers of restarts a device: the last one is repeated."""
    return np.concatenate([leaf, np.repeat(leaf[-1:], -len(leaf) % multiple, axis=0)])


def _polish_best(objective: Objective, batch: Batch, number: int, bound: float) -> list[Polished]:
    """The best of a batch, polished, one of each basin; least first. None after one that meets the bound."""
    found: list[Polished] = []
    for place in _spread(batch.value, number):
        found.append(polish(objective, batch.x[place], _COARSE))
        if found[-1].value <= bound + _SAME:
            break
    return _distinct(found)


def _spread(values: np.ndarray, number: int) -> list[int]:
    """Places of the `number` least values that differ enough to be different basins."""
    chosen: list[int] = []
    for place in np.argsort(values, kind="stable"):
        if not chosen or values[place] > values[chosen[-1]] + _APART * abs(values[place]):
            chosen.append(int(place))
        if len(chosen) == number:
            break
    return chosen


def _distinct(found: list[Polished]) -> list[Polished]:
    """One of each value, least first."""
    kept: list[Polished] = []
    for one in sorted(found, key=lambda one: one.value):
        if not kept or one.value > kept[-1].value + _SAME:
            kept.append(one)
    return kept
