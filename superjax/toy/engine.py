"""One program's training step and test: members of equal shape, block by block, each block sharing its batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from superjax.core.errors import InputError
from superjax.toy import sampling
from superjax.toy.decay import optimiser, warmup_cosine
from superjax.toy.members import Program
from superjax.toy.model import Params, dense_gradient, sparse_gradient
from superjax.toy.sampling import Array

HISTORY_POINTS = 200


@dataclass(frozen=True)
class Training:
    """How an ensemble is trained and tested; the same for all its members.

    Attributes:
        steps: T >= 1.
        warmup: share of the steps in which the learning rate rises linearly, in [0, 1).
        floor: last learning rate as a share of the peak, in [0, 1].
        test_batches: fresh batches for the test loss, >= 2.
    """

    steps: int = 20_000
    warmup: float = 0.1
    floor: float = 0.05
    test_batches: int = 100

    def __post_init__(self) -> None:
        if not isinstance(self.steps, int) or not 1 <= self.steps < 2**31:
            raise InputError(f"steps: {self.steps!r} is not possible; give a whole number from 1 to {2**31 - 1}")
        if not 0 <= self.warmup < 1 or not 0 <= self.floor <= 1:
            raise InputError(f"warmup, floor: {self.warmup}, {self.floor} are not possible; give shares from 0 to 1")
        if self.test_batches < 2:
            raise InputError(f"test_batches: {self.test_batches} is not possible; give at least 2")

    @property
    def record_every(self) -> int:
        """Steps in a window of the loss history."""
        return -(-self.steps // HISTORY_POINTS)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Hparams:
    """What may differ between members of one program; leading axes of blocks and members where stacked.

    Attributes:
        decay: [] gamma.
        learning_rate: [] peak learning rate of W.
        bias_learning_rate: [] peak learning rate of b.
        loss_scale: [] factor on the loss that Adam sees.
        importance: [n] weights of the loss.
    """

    decay: Array
    learning_rate: Array
    bias_learning_rate: Array
    loss_scale: Array
    importance: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MemberState:
    """Carry of one member.

    Attributes:
        params: W [n, m], b [n].
        moments: optax state of Adam.
        failed_at: [] int32, first step whose loss or gradient was not finite; -1 while there is none.
    """

    params: Params
    moments: Any
    failed_at: Array


class Constants(NamedTuple):
    """What a step reads, by blocks [N, ...]: keys of the data, sampling tables, hyper-parameters [N, F, ...]."""

    train_key: Array
    test_key: Array
    table: sampling.Table
    hparams: Hparams


@dataclass(frozen=True)
class Engine:
    """One program's step over the blocks of one device.

    Attributes:
        program: shapes.
        training: steps and schedule.
        slots: places for the events of a batch.
        abreast: members computed side by side; the others follow each other.
        precision: of matrix products.
    """

    program: Program
    training: Training
    slots: int
    abreast: int
    precision: str

    def __call__(
        self, state: MemberState, constants: Constants, index: jax.Array
    ) -> tuple[MemberState, dict[str, jax.Array]]:
        """One training step of every member; the metric is the training loss, NaN for a frozen member."""

        def block(args: tuple[MemberState, Constants]) -> tuple[MemberState, jax.Array]:
            states, own = args
            batch = self._draw(own.train_key, own.table, index)
            return self._each(lambda member: self._step(member[0], member[1], batch, index), (states, own.hparams))

        state, losses = self._each(block, (state, constants), inner=constants.hparams.decay.shape[1])
        return state, {"loss": losses}

    def test(self, params: Params, constants: Constants, index: jax.Array) -> jax.Array:
        """Loss of every member on one fresh batch, [N, F]."""

        def block(args: tuple[Params, Constants]) -> jax.Array:
            members, own = args
            batch = self._draw(own.test_key, own.table, index)
            return self._each(lambda member: self._gradient(member[0], member[1], batch)[0], (members, own.hparams))

        return self._each(block, (params, constants), inner=constants.hparams.decay.shape[1])

    def _each(self, function: Callable[[Any], Any], xs: Any, inner: int = 1) -> Any:
        """`function` over the leading axis, as many at a time as keeps `abreast` members side by side."""
        together = max(1, self.abreast // inner)
        return lax.map(function, xs, batch_size=None if together == 1 else together)

    def _draw(self, key_data: Array, table: sampling.Table, index: jax.Array) -> sampling.SparseBatch | jax.Array:
        key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(key_data), impl="threefry2x32"), index)
        if isinstance(table, sampling.EventTable):
            return sampling.draw_events(key, table, self.program.batch, self.slots)
        return sampling.draw_dense(key, table, self.program.batch)

    def _gradient(
        self, params: Params, hparams: Hparams, batch: sampling.SparseBatch | jax.Array
    ) -> tuple[jax.Array, Params]:
        activation = self.program.activation
        if isinstance(batch, sampling.SparseBatch):
            size = self.program.batch
            return sparse_gradient(params, batch, size, hparams.importance, activation, self.precision)
        return dense_gradient(params, batch, hparams.importance, activation, self.precision)

    def _step(
        self, state: MemberState, hparams: Hparams, batch: sampling.SparseBatch | jax.Array, index: jax.Array
    ) -> tuple[MemberState, jax.Array]:
        loss, gradient = self._gradient(state.params, hparams, batch)
        gradient = jax.tree.map(lambda leaf: leaf * hparams.loss_scale, gradient)
        finite = jnp.isfinite(loss)
        for leaf in gradient:
            finite &= jnp.all(jnp.isfinite(leaf))
        going = finite & (state.failed_at < 0)

        schedule = warmup_cosine(index, self.training.steps, self.training.warmup, self.training.floor)
        rate, bias_rate = schedule * hparams.learning_rate, schedule * hparams.bias_learning_rate
        updates, moments = optimiser(rate, bias_rate, hparams.decay).update(gradient, state.moments, state.params)
        params = jax.tree.map(jnp.add, state.params, updates)
        failed_at = jnp.where(finite | (state.failed_at >= 0), state.failed_at, index)
        new = MemberState(params, moments, failed_at)
        kept = jax.tree.map(lambda after, before: jnp.where(going, after, before), new, state)
        return MemberState(kept.params, kept.moments, failed_at), jnp.where(going, loss, jnp.nan)
