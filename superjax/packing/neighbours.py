"""Neighbour lists: once the smooth maximum is sharp, steps that look only at pairs with large cosines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from superjax.core.pairwise import Precision, Reducer, reduce_pairs
from superjax.core.reducers import Extremes
from superjax.laws.tail import inverse_log_tail
from superjax.packing.anneal import AnnealHparams, PackingState, advance, time_of
from superjax.packing.objectives import Objective, Pull, SmoothMaximum

ROUND = 40
"""Steps between full passes."""

_LEAST_K, _LEAST_RATIO = 4000, 100
"""k, and k / d for d up to 100 (from there it grows as d), from which to gather listed rows beats multiplying tiles."""

_WIDTH, _FILLED = 8, 0.65
"""Room for listed rows, in d, of which a rigid packing touches 2; and how much of it uniform rows would fill."""

_REACH = 6.0
"""Listed at least to here, in 1 / beta below the largest cosine: pairs beyond weigh less than .5 % together."""

_BEYOND = 2.9
"""Uniform rows, in d, beyond the coherence that is reached, or more: 1.8 measured at (2000, 8), 2.9 at (4000, 32)."""

_COUNTED = 16
"""Columns whose near rows one product counts."""


class ListPlan(NamedTuple):
    """When lists serve, and what they hold.

    Attributes:
        first: step of the first round; the rounds end with the last step.
        width: rows that a list has room for.
        threshold: (absolute) cosine above which a row is listed, >= 0.
        together: rows whose lists are made, or gathered, at once.
    """

    first: int
    width: int
    threshold: float
    together: int


def list_plan(
    objective: Objective, k: int, d: int, hparams: AnnealHparams, steps: int, platform: str = "cpu"
) -> ListPlan | None:
    """The plan of one packing on one device; None where full passes serve better.

    A list has room for 8 d rows: a rigid packing touches 2 d. What k uniform rows say of that many sets the threshold,
    and lists serve once the smooth maximum, at its sharpness beta, forgets pairs below it.

    Args:
        objective: what is minimised; energies have no lists, since far pairs count.
        k: number of vectors.
        d: dimension.
        hparams: the schedule, scalars.
        steps: how many steps there will be.
        platform: of the device.

    Example:
        >>> list_plan(Objective(), 4000, 32, AnnealHparams(), 1500)
        ListPlan(first=820, width=256, threshold=0.356..., together=32)
        >>> list_plan(Objective(), 4000, 64, AnnealHparams(), 1500) is None
        True
    """
    first, last = float(hparams.first_sharpness), float(hparams.last_sharpness)
    if objective.name == "riesz" or k < max(_LEAST_K, d * max(_LEAST_RATIO, d)) or last <= first:
        return None
    sides = 2 if objective.signed else 1
    width = _WIDTH * d
    threshold = float(inverse_log_tail(math.log(sides * _FILLED * width / k), d))
    reached = float(inverse_log_tail(math.log(sides * _BEYOND * d / k), d))
    sharpness = _REACH * reached / (reached - threshold)
    after = max(0.0, math.log(sharpness / first) / math.log(last / first)) * (steps - 1)
    rounds = int(steps - after) // ROUND
    if rounds < 1:
        return None
    together = 32 if platform == "cpu" else 512  # few stay in a core's cache; many fill an accelerator
    return ListPlan(steps - rounds * ROUND, width, threshold, together)


@dataclass(frozen=True)
class ListRound:
    """A `loop.Step` of `ROUND` steps of one packing on one device: one passes over all pairs, the others over lists.

    The best of the others counts by its cosines over all pairs. Where lists have no room or do not reach far enough,
    as they may for a start that was given, every step passes over all pairs.

    Attributes:
        objective: what is minimised.
        steps: how many there will be.
        count: k.
        block: rows in a tile.
        precision: of the Gram products.
        plan: when lists serve.
    """

    objective: Objective
    steps: int
    count: int
    block: int
    precision: Precision
    plan: ListPlan

    def __call__(
        self, state: PackingState, hparams: AnnealHparams, index: jax.Array
    ) -> tuple[PackingState, dict[str, jax.Array]]:
        schedule: AnnealHparams = jax.tree.map(lambda leaf: leaf[0], hparams)
        first = jnp.int32(self.plan.first) + index * ROUND

        def step(evaluate: Evaluate, state: PackingState, place: jax.Array) -> tuple[PackingState, jax.Array]:
            temperature = schedule.at(time_of(first + place, self.steps))
            return advance(self.objective, state, self.count, temperature, first + place, evaluate)

        def by_list(state: PackingState) -> tuple[PackingState, jax.Array]:
            def evaluate(x: jax.Array, reducer: Reducer) -> tuple[Pull, jax.Array]:
                assert isinstance(reducer, SmoothMaximum)
                return reduce_listed(x, lists, reducer, self.precision, self.plan.together)

            new, values = _scan(step, evaluate, replace(state, best_value=jnp.full_like(state.best_value, jnp.inf)))
            return _better(state, replace(new, best_value=self._largest(new.best)[None])), values

        def by_tile(state: PackingState) -> tuple[PackingState, jax.Array]:
            return _scan(step, self._all_pairs, state)

        lists, complete = near_rows(state.x, self.plan, self.objective.signed, self.precision)
        state, value = step(self._all_pairs, state, jnp.int32(0))
        scale = self.objective.scale(state.least[0], self.count, state.x.shape[-1])
        reach = _REACH * scale / schedule.at(time_of(first, self.steps)).sharpness
        serve = complete & (state.largest[0] - reach > self.plan.threshold)
        state, others = lax.cond(serve, by_list, by_tile, state)
        return state, {"value": jnp.concatenate([value[None], others])[None]}

    def _all_pairs(self, x: jax.Array, reducer: Reducer) -> tuple[Pull, jax.Array]:
        found: tuple[Pull, jax.Array] = reduce_pairs(
            x, reducer, block=self.block, count=self.count, precision=self.precision
        )
        return found

    def _largest(self, x: jax.Array) -> jax.Array:
        ends, _ = reduce_pairs(x, Extremes(), block=self.block, count=self.count, precision=self.precision)
        largest: jax.Array = ends.largest if self.objective.signed else jnp.maximum(ends.largest, -ends.smallest)
        return largest


Evaluate = Callable[[jax.Array, Reducer], tuple[Pull, jax.Array]]
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


def near_rows(x: jax.Array, plan: ListPlan, signed: bool, precision: Precision) -> tuple[jax.Array, jax.Array]:
    """Of every row the others with a cosine above the plan's threshold, found strip by strip of the Gram matrix.

    Args:
        x: [V, d] unit rows, or zero rows, which are near to none.
        plan: room and threshold.
        signed: points (the cosine itself) rather than lines (its absolute value).
        precision: of the Gram product.

    Returns:
        [V, width] int32 indices, ascending, then V; and [] bool, whether all of them had room.

    Example:
        >>> rows = jnp.array([[1.0, 0.0], [0.8, -0.6], [0.0, 1.0]])
        >>> lists, complete = near_rows(rows, ListPlan(0, 2, 0.7, 3), False, "highest")
        >>> lists.tolist(), bool(complete)
        ([[1, 3], [0, 3], [3, 3]], True)
    """
    count = len(x)
    columns = _COUNTED * -(-count // _COUNTED)
    others = jnp.pad(x, ((0, columns - count), (0, 0)))
    upto = jnp.triu(jnp.ones((_COUNTED, _COUNTED), jnp.float32))  # sums of small whole numbers: exact at any precision
    places = jnp.arange(1, plan.width + 1, dtype=jnp.float32)

    def of_row(index: jax.Array) -> tuple[jax.Array, jax.Array]:
        cosine = jnp.matmul(others, x[index], precision=precision, preferred_element_type=jnp.float32)
        near = ((cosine if signed else jnp.abs(cosine)) > plan.threshold) & (jnp.arange(columns) != index)
        within = near.astype(jnp.float32).reshape(-1, _COUNTED) @ upto
        before = jnp.cumsum(within[:, -1]) - within[:, -1]
        met = (within + before[:, None]).reshape(columns)
        return jnp.minimum(jnp.searchsorted(met, places), count).astype(jnp.int32), met[-1]

    lists, listed = lax.map(of_row, jnp.arange(count), batch_size=plan.together)
    return lists, jnp.max(listed) <= plan.width


def reduce_listed(
    x: jax.Array, lists: jax.Array, reducer: SmoothMaximum, precision: Precision, together: int
) -> tuple[Pull, jax.Array]:
    """`core.pairwise.reduce_pairs` over the listed pairs alone.

    Args:
        x: [V, d] unit rows.
        lists: [V, width] int32 indices; V where there is none. Symmetric: j is in i's list if i is in j's.
        reducer: what to compute.
        precision: of the products.
        together: rows whose lists are gathered at once.

    Returns:
        The totals, every pair once, and [V, d] the rows' gradient.

    Example:
        >>> rows = jnp.array([[1.0, 0.0], [0.6, 0.8]])
        >>> reducer = SmoothMaximum(jnp.float32(9.0), jnp.float32(0.6))
        >>> totals, gradient = reduce_listed(rows, jnp.array([[1], [0]]), reducer, "highest", 2)
        >>> round(float(totals.weight), 6), gradient.round(6).tolist()[1]
        (1.0, [1.0, 0.0])
    """

    def of_row(index: jax.Array) -> tuple[jax.Array, Pull]:
        listed = lists[index]
        near = x[jnp.minimum(listed, len(x) - 1)]
        cosine = jnp.einsum("d,bd->b", x[index], near, precision=precision, preferred_element_type=jnp.float32)
        slope, totals = reducer.slope(cosine, listed < len(x))
        pull = jnp.einsum("b,bd->d", slope, near, precision="highest", preferred_element_type=jnp.float32)
        return pull, totals

    pull, totals = lax.map(of_row, jnp.arange(len(x)), batch_size=together)
    return Pull(jnp.sum(totals.weight) / 2, jnp.max(totals.largest)), pull
