"""Small packings to the last digit: many restarts at once, polishing, and rounds that perturb the best."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh

from superjax.core import processes
from superjax.core.errors import InputError
from superjax.core.pairwise import Precision
from superjax.packing.batch import Batch, anneal_batch, sharpen
from superjax.packing.objectives import Name, Objective
from superjax.packing.polish import Polished, polish
from superjax.packing.restarts import anywhere, near_and_anywhere
from superjax.packing.watch import Watch

_COARSE = 1e-9
"""How finely the best of a batch are polished; the best of all is polished to the end."""

_SAME = 1e-8
"""Polished values closer than this are one basin."""

_APART, _APART_SHARPENED = 2e-5, 1e-6
"""Annealed and sharpened values nearer than this, relatively, may be one basin."""


@dataclass(frozen=True)
class SearchConfig:
    """How hard to search.

    Attributes:
        restarts: packings annealed at once.
        steps: steps of each.
        rounds: rounds of restarts without gain after which to stop; None: more for larger packings.
        most_rounds: rounds at most.
        sharpened: packings of a round, the best, that are annealed on until their values tell basins apart; 0: none.
        polished: packings of those, of different basins, that are polished.
    """

    restarts: int = 512
    steps: int = 600
    rounds: int | None = None
    most_rounds: int = 28
    sharpened: int = 128
    polished: int = 6

    @classmethod
    def of(cls, objective: Name, steps: int | None, restarts: int | None) -> SearchConfig:
        """These steps and restarts, or the usual ones. Energies are smooth, and polished sooner than sharpened.

        Args:
            objective: what is minimised.
            steps: None for the usual.
            restarts: the same.

        Example:
            >>> SearchConfig.of("coherence", None, 64).steps_in_round
            1800
        """
        sharpened = 0 if objective == "riesz" else cls.sharpened
        return cls(restarts=restarts or cls.restarts, steps=steps or cls.steps, sharpened=sharpened)

    def patience(self, k: int, d: int) -> int:
        """Rounds without gain after which to stop: 27 lines in R^6 took six before they fell below the table."""
        return 6 + k * d // 40 if self.rounds is None else self.rounds

    @property
    def steps_sharpened(self) -> int:
        """Steps of each of the best, after those of all."""
        return 2 * self.steps

    @property
    def steps_of_all(self) -> int:
        """Steps of all restarts of a round together."""
        return self.steps * self.restarts + self.steps_sharpened * min(self.sharpened, self.restarts)

    @property
    def steps_in_round(self) -> int:
        """Steps that a restart of a round takes on the average."""
        return round(self.steps_of_all / self.restarts)


class Found(NamedTuple):
    """The best of a search, and the steps that a restart of every round took together, on the average."""

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
    """Anneal many restarts and polish the best, then do it again near those and anywhere, until rounds bring nothing.

    Args:
        objective: what is minimised.
        k: number of vectors.
        d: dimension.
        config: how hard to search.
        given: [k, d] unit rows near which half of the first round begins too; the result is never worse.
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
    anneal = partial(anneal_batch, objective, mesh=mesh, precision=precision)
    if watch.saved is None:
        first, quiet, elite = 0, 0, [] if given is None else [polish(objective, given)]
    else:
        first, quiet, elite = _resumed(watch.saved, rng)
    for number in range(first, 1 + config.most_rounds):
        within = watch.within(round=number, quiet=quiet, rng=_rng_state(rng), **_kept(elite, k, d, config))
        watch = watch.begun()
        if elite:
            starts, hparams = near_and_anywhere(rng, elite, config.restarts)
        else:
            starts, hparams = anywhere(rng, k, d, config.restarts, seed)
        before = elite[0].value if elite else np.inf
        batch = anneal(starts, hparams, config.steps, watch=within)
        if config.sharpened:
            batch = sharpen(objective, batch, config.sharpened, config.steps_sharpened, mesh)
        found = _polish_best(objective, batch, config, bound)
        elite = _distinct([*elite, *found])[: config.polished]
        quiet = 0 if elite[0].value < before - _SAME else quiet + 1
        done = (number + 1) * config.steps_in_round
        if watch.on_value is not None:
            watch.on_value(done, done + (patience - quiet) * config.steps_in_round, elite[0].value)
        ended = quiet == patience or elite[0].value <= bound + _SAME
        # Hosts of different make may polish to different last digits, and must end together.
        if processes.agreed(ended) if processes.shared(mesh.devices.flat) else ended:
            break
    return Found(polish(objective, elite[0].x), done)


def _kept(elite: list[Polished], k: int, d: int, config: SearchConfig) -> dict[str, np.ndarray]:
    return {
        "sharpened": np.asarray(config.sharpened, np.int64),
        "elite": np.array([one.x for one in elite]).reshape(-1, k, d),
        "elite_values": np.array([one.value for one in elite], np.float64),
    }


def _resumed(saved: Mapping[str, Any], rng: np.random.Generator) -> tuple[int, int, list[Polished]]:
    """The round under way, the rounds without gain, and the best so far; sets the generator to the round's start."""
    if not {"round", "quiet", "rng", "elite", "elite_values", "sharpened"} <= set(saved):
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


def _polish_best(objective: Objective, batch: Batch, config: SearchConfig, bound: float) -> list[Polished]:
    """The best of a batch, polished, one of each basin; least first. The least alone if it meets the bound."""
    first, *others = _spread(batch.value, config.polished, _APART_SHARPENED if config.sharpened else _APART)
    found = [polish(objective, batch.x[first], _COARSE)]
    if found[0].value > bound + _SAME:
        found += _polish_together(objective, batch.x[others])
    return _distinct(found)


def _polish_together(objective: Objective, packings: np.ndarray) -> list[Polished]:
    """Each polished, in threads: HiGHS lets go of Python's lock. The polishing of energies does not."""
    if objective.name == "riesz" or len(packings) < 2:
        return [polish(objective, x, _COARSE) for x in packings]
    given_up = threading.Event()
    with ThreadPoolExecutor(min(len(packings), os.cpu_count() or 1)) as threads:
        try:
            return list(threads.map(lambda x: polish(objective, x, _COARSE, given_up), packings))
        except BaseException:  # Ctrl-C is not to wait for what nobody will read
            given_up.set()
            raise


def _spread(values: np.ndarray, number: int, apart: float) -> list[int]:
    """Places of the `number` least values that differ enough to be different basins."""
    chosen: list[int] = []
    for place in np.argsort(values, kind="stable"):
        if not chosen or values[place] > values[chosen[-1]] + apart * abs(values[place]):
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
