"""Rounds of steps over neighbour lists, in the sharper half of a packing's schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from superjax.core import loop
from superjax.core.pairwise import Reducer
from superjax.core.reducers import Extremes
from superjax.packing.anneal import AnnealHparams, Evaluate, PackingState, RingStep, time_of
from superjax.packing.neighbours import REACH, ROUND, ListPlan, near_rows_in_ring, reduce_listed_in_ring
from superjax.packing.objectives import Pull, SmoothMaximum


@dataclass(frozen=True)
class ListRound:
    """A `loop.Step` of `ROUND` steps of one packing: the first passes over all pairs, the others over lists.

    The best of the others counts by its cosines over all pairs. A round in which other pairs came near, as they do when
    a schedule is short, is done again by full passes. So is one whose lists have no room or do not reach far enough.

    Attributes:
        full: the step over all pairs.
        plan: when lists serve.
    """

    full: RingStep
    plan: ListPlan

    def __call__(
        self, state: PackingState, hparams: AnnealHparams, index: jax.Array
    ) -> tuple[PackingState, dict[str, jax.Array]]:
        schedule: AnnealHparams = jax.tree.map(lambda leaf: leaf[0], hparams)
        first = jnp.int32(self.plan.first) + index * ROUND

        def step(evaluate: Evaluate, state: PackingState, place: jax.Array) -> tuple[PackingState, jax.Array]:
            return self.full.advance(state, schedule, first + place, evaluate)

        def by_list(state: PackingState) -> tuple[PackingState, jax.Array, jax.Array]:
            def evaluate(x: jax.Array, reducer: Reducer) -> tuple[Pull, jax.Array]:
                assert isinstance(reducer, SmoothMaximum)
                return reduce_listed_in_ring(x, lists, reducer, self.plan.together, self.full.precision)

            new, values = _scan(step, evaluate, replace(state, best_value=jnp.full_like(state.best_value, jnp.inf)))
            counted = replace(new, best_value=self._largest(new.best)[None])
            held = counted.best_value[0] <= new.best_value[0] + beta_inverse(ROUND - 1)
            return _better(state, counted), values, held

        def by_no_list(state: PackingState) -> tuple[PackingState, jax.Array, jax.Array]:
            return state, jnp.full(ROUND - 1, value), serve

        def by_tile(state: PackingState) -> tuple[PackingState, jax.Array]:
            return _scan(step, self.full.evaluate, state)

        def beta_inverse(place: int) -> jax.Array:
            return scale / schedule.at(time_of(first + place, self.full.steps)).sharpness

        lists, complete = near_rows_in_ring(
            state.x, self.plan, self.full.devices, self.full.objective.signed, self.full.precision
        )
        state, value = step(self.full.evaluate, state, jnp.int32(0))
        scale = self.full.objective.scale(state.least[0], self.full.count, state.x.shape[-1])
        serve = complete & (state.largest[0] - REACH * beta_inverse(0) > self.plan.threshold)
        tried, values, held = lax.cond(serve, by_list, by_no_list, state)
        state, others = lax.cond(held, lambda _: (tried, values), by_tile, state)
        return state, {"value": jnp.concatenate([value[None], others])[None]}

    def _largest(self, x: jax.Array) -> jax.Array:
        ends, _ = self.full.evaluate(x, Extremes())
        largest: jax.Array = ends.largest if self.full.objective.signed else jnp.maximum(ends.largest, -ends.smallest)
        return largest


_OneStep = Callable[[Evaluate, PackingState, jax.Array], tuple[PackingState, jax.Array]]


def _scan(step: _OneStep, evaluate: Evaluate, state: PackingState) -> tuple[PackingState, jax.Array]:
    """The steps of a round after its first, and their values [ROUND - 1]."""
    return lax.scan(lambda state, place: step(evaluate, state, place), state, jnp.arange(1, ROUND, dtype=jnp.int32))


def _better(old: PackingState, new: PackingState) -> PackingState:
    """The new state with the better of both bests."""
    better = new.best_value < old.best_value
    return replace(
        new,
        best=jnp.where(better, new.best, old.best),
        best_value=jnp.where(better, new.best_value, old.best_value),
    )


def run_rounds(
    listed: ListRound,
    now: loop.LoopState,
    constants: AnnealHparams,
    mesh: Mesh,
    report: Callable[[loop.LoopState], None],
) -> loop.LoopState:
    """Go on by rounds to the last step.

    Args:
        listed: the round.
        now: the loop of single steps, where a round begins. A round's values lie one after the other in its history.
        constants: the schedule, on the mesh.
        mesh: the devices.
        report: told where the loop of single steps would stand.
    """
    first, history = listed.plan.first, now.history["value"]

    def by_step(rounds: loop.LoopState) -> loop.LoopState:
        values = np.moveaxis(rounds.history["value"], 1, 2).reshape(-1, mesh.size)
        step = np.asarray(first + ROUND * int(rounds.step), np.int64)
        return loop.LoopState(step, rounds.state, {"value": np.concatenate([history[:first], values])})

    number = (listed.full.steps - first) // ROUND
    done = np.asarray((int(now.step) - first) // ROUND, np.int64)
    values = np.moveaxis(history[first:].reshape(number, ROUND, mesh.size), 2, 1)
    return by_step(
        loop.run(
            listed, loop.LoopState(done, now.state, {"value": values}), constants, number,
            mesh=mesh, on_checkpoint=lambda rounds: report(by_step(rounds)),
        )
    )  # fmt: skip
