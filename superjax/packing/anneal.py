"""The optimiser: smooth-maximum continuation by Riemannian Adam on a product of spheres, best iterate kept.

SciPy's L-BFGS in 13 stages of sharpness (4 to 2330), 1,500 gradients in all, reached .35690 at (2000, 32) and .21027 at
(2000, 64) from the same starts; this, .35704 and .21020, with no line search to agree on between devices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from superjax.core import sphere
from superjax.core.pairwise import Precision, Reducer, reduce_pairs, reduce_pairs_in_ring
from superjax.packing.objectives import Objective, Pull

Numbers = jax.Array | np.ndarray | float

Evaluate = Callable[[jax.Array, Reducer], tuple[Any, jax.Array]]
"""(rows, reducer) -> totals over pairs, values of these rows."""

_MEAN_DECAY, _SQUARE_DECAY = 0.9, 0.99

_LARGEST_TURN = 0.3
"""Radians: farther, all vectors together overshoot the balance of the frame, and with k near d they collapse."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AnnealHparams:
    r"""How sharpness and rate run over a packing's steps, geometrically from first to last.

    Both are relative: at sharpness p the smooth maximum has :math:`\beta = p / \mu`, mu the least coherence so far, and
    a step moves a vector's coordinates by about :math:`r \mu / p` (root mean square), so that every cosine changes by
    about r on the scale that the smooth maximum sees. Rates of .5 to 1 serve every size; 2 does not descend.

    Attributes:
        first_sharpness, last_sharpness: [...] float32.
        first_rate, last_rate: [...] float32.

    Example:
        >>> round(float(AnnealHparams().at(jnp.float32(1.0)).sharpness))
        1000
    """

    first_sharpness: Numbers = 3.0
    last_sharpness: Numbers = 1000.0
    first_rate: Numbers = 1.0
    last_rate: Numbers = 0.7

    def at(self, time: jax.Array) -> Temperature:
        """Sharpness and rate at a time in [0, 1]."""
        return Temperature(
            _geometric(self.first_sharpness, self.last_sharpness, time),
            _geometric(self.first_rate, self.last_rate, time),
        )


class Temperature(NamedTuple):
    """Sharpness and rate of one step, [] each."""

    sharpness: jax.Array
    rate: jax.Array


def _geometric(first: Numbers, last: Numbers, time: jax.Array) -> jax.Array:
    return jnp.asarray(first, jnp.float32) * jnp.asarray(last / first, jnp.float32) ** time


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PackingState:
    """Where the optimisation of one packing (or a shard, or a batch of them) stands.

    Attributes:
        x: [k, d] unit rows.
        mean: [k, d] running mean of the gradient, tangent at `x`.
        square: [k, 1] running mean of the gradient's squared entries, one number a vector.
        largest: [1] largest (absolute) cosine one step before `x`, of the pairs that were visited.
        least: [1] the smallest such number so far.
        best: [k, d] the rows of the least value so far.
        best_value: [1] that value; of energies the log.
    """

    x: jax.Array
    mean: jax.Array
    square: jax.Array
    largest: jax.Array
    least: jax.Array
    best: jax.Array
    best_value: jax.Array


def start(x: np.ndarray, largest: np.ndarray) -> PackingState:
    """The state before the first step, on the host.

    Args:
        x: [..., k, d] float32 unit rows.
        largest: [..., 1] largest (absolute) cosine of each packing.
    """
    largest = np.asarray(largest, np.float32)
    parts = {
        "x": x,
        "mean": np.zeros_like(x),
        "square": np.zeros_like(x[..., :1]),
        "largest": largest,
        "least": largest,
        "best": x,
        "best_value": np.full_like(largest, np.inf),
    }
    return PackingState(**parts)  # type: ignore[arg-type]


def advance(
    objective: Objective,
    state: PackingState,
    count: int,
    temperature: Temperature,
    index: jax.Array,
    evaluate: Evaluate,
) -> tuple[PackingState, jax.Array]:
    """One step of Riemannian Adam with one second moment a vector; the new state, and the value [] at the old rows.

    Args:
        objective: what is minimised.
        state: one packing, or one device's shard of it.
        count: k, of the whole packing.
        temperature: sharpness and rate of this step.
        index: [] int32, steps done.
        evaluate: over all pairs, or those that matter.

    Source:
        Kingma and Ba 2015; Becigneul and Ganea 2019 (Riemannian adaptive methods).
    """
    size = (count, state.x.shape[-1])
    scale = objective.scale(state.least[0], *size)
    reducer = objective.reducer(temperature.sharpness, state.largest[0], scale, *size)
    totals, pull = evaluate(state.x, reducer)
    gradient = sphere.tangent(state.x, pull / jnp.maximum(totals.weight, jnp.finfo(jnp.float32).tiny))
    mean = sphere.tangent(state.x, _MEAN_DECAY * state.mean + (1 - _MEAN_DECAY) * gradient)
    mean_square = jnp.mean(jnp.square(gradient), axis=-1, keepdims=True)
    square = _SQUARE_DECAY * state.square + (1 - _SQUARE_DECAY) * mean_square
    reach = jnp.minimum(temperature.rate * scale / temperature.sharpness, _LARGEST_TURN * state.x.shape[-1] ** -0.5)
    floor = objective.least_slope(*size) * temperature.rate
    move = -reach * _unit_scale(mean, square, floor, index)
    value = reducer.value(totals)
    better = value < state.best_value[0]
    new = PackingState(
        x=sphere.retract(state.x, move),
        mean=mean,
        square=square,
        largest=totals.largest[None],
        least=jnp.minimum(totals.largest[None], state.least),
        best=jnp.where(better, state.x, state.best),
        best_value=jnp.minimum(value[None], state.best_value),
    )
    return new, value


def _unit_scale(mean: jax.Array, square: jax.Array, floor: jax.Array, index: jax.Array) -> jax.Array:
    """The mean gradient over its size, both corrected for their start at zero; a vector without gradient rests."""
    taken = (index + 1).astype(jnp.float32)
    size = jnp.maximum(jnp.sqrt(square / (1 - _SQUARE_DECAY**taken)), floor) * (1 - _MEAN_DECAY**taken)
    moved = size > 0
    return jnp.where(moved, mean / jnp.where(moved, size, 1), 0)


@dataclass(frozen=True)
class RingStep:
    """A `loop.Step` for one packing whose rows are spread over a mesh; its scalars have one entry a device.

    Attributes:
        objective: what is minimised.
        steps: how many there will be.
        count: k.
        devices: size of the mesh.
        block: rows in a tile.
        precision: of the Gram product.
    """

    objective: Objective
    steps: int
    count: int
    devices: int
    block: int
    precision: Precision

    def __call__(
        self, state: PackingState, hparams: AnnealHparams, index: jax.Array
    ) -> tuple[PackingState, dict[str, jax.Array]]:
        here = jax.tree.map(lambda leaf: leaf[0], hparams)
        new, value = self.advance(state, here, index, self.evaluate)
        return new, {"value": value[None]}

    def advance(
        self, state: PackingState, schedule: AnnealHparams, index: jax.Array, evaluate: Evaluate
    ) -> tuple[PackingState, jax.Array]:
        """The step by any evaluation.

        Args:
            state: this device's shard.
            schedule: [] each.
            index: [] int32, steps done.
            evaluate: over all pairs, or those that matter.
        """
        return advance(self.objective, state, self.count, schedule.at(time_of(index, self.steps)), index, evaluate)

    def evaluate(self, x: jax.Array, reducer: Reducer) -> tuple[Any, jax.Array]:
        """A pass over all pairs.

        Args:
            x: [V / N, d] this device's rows.
            reducer: what to compute.
        """
        return reduce_pairs_in_ring(
            x, reducer, devices=self.devices, count=self.count, block=self.block, precision=self.precision
        )


@dataclass(frozen=True)
class BatchStep:
    """A `loop.Step` for many small packings at once, each in one tile; every leaf has a leading axis of packings.

    Attributes:
        objective: what is minimised.
        steps: how many there will be.
        precision: of the Gram product.
    """

    objective: Objective
    steps: int
    precision: Precision

    def __call__(
        self, state: PackingState, hparams: AnnealHparams, index: jax.Array
    ) -> tuple[PackingState, dict[str, jax.Array]]:
        def evaluate(x: jax.Array, reducer: Reducer) -> tuple[Pull, jax.Array]:
            return reduce_pairs(x, reducer, block=len(x), precision=self.precision)

        def one(state: PackingState, hparams: AnnealHparams) -> tuple[PackingState, jax.Array]:
            temperature = hparams.at(time_of(index, self.steps))
            return advance(self.objective, state, len(state.x), temperature, index, evaluate)

        new, value = jax.vmap(one)(state, hparams)
        return new, {"value": value}


def time_of(index: jax.Array, steps: int) -> jax.Array:
    """The place of a step in [0, 1]."""
    return index.astype(jnp.float32) / max(steps - 1, 1)
