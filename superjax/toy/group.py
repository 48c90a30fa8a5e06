"""The members of one program: laid over devices, trained in passes that fit the memory, tested, brought home."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from superjax.core import keys, loop
from superjax.core import mesh as meshes
from superjax.toy import sampling
from superjax.toy.decay import optimiser
from superjax.toy.engine import Constants, Engine, Hparams, MemberState, Training
from superjax.toy.members import Layout, Member, Program, lay_out
from superjax.toy.memory import members_at_a_time
from superjax.toy.model import Params


class Trained(NamedTuple):
    """One trained member on the host.

    Attributes:
        params: W [n, m] and b [n], float32.
        loss: test loss, NaN if the member failed.
        loss_stderr: its standard error over test batches.
        history: [P] float64, mean training loss in each window.
        failed_at: first step whose loss or gradient was not finite, or -1.
    """

    params: Params
    loss: float
    loss_stderr: float
    history: np.ndarray
    failed_at: int


@dataclass(frozen=True)
class Resources:
    """What an ensemble may use, and how.

    Attributes:
        mesh: devices; members are sharded over them.
        chunk: members of a program at a time; from the memory there is when None.
        memory: bytes they may take; from the memory there is when None.
        abreast: members side by side on a device; by the platform when None.
        precision: of matrix products.
    """

    mesh: Mesh
    chunk: int | None = None
    memory: int | None = None
    abreast: int | None = None
    precision: str = "highest"

    @property
    def devices(self) -> list[jax.Device]:
        """The devices of the mesh."""
        return list(self.mesh.devices.flat)

    def members_at_a_time(self, program: Program) -> int:
        """The chunk, given or found.

        Raises:
            InputError: not enough memory for one member.
        """
        return self.chunk or members_at_a_time(program, self.devices, self.memory)

    def members_abreast(self, number: int) -> int:
        """How many of a device's `number` members are computed side by side."""
        by_platform = 1 if self.devices[0].platform == "cpu" else number
        return min(number, self.abreast or by_platform)


class Group:
    """Members of one program, ready to train.

    Args:
        program: their shapes.
        members: at least one.
        training: steps, schedule and test.
        resources: devices and memory.

    Raises:
        InputError: not enough memory for one member.
    """

    def __init__(self, program: Program, members: Sequence[Member], training: Training, resources: Resources) -> None:
        mesh = resources.mesh
        self._program, self._members, self._training, self._mesh = program, members, training, mesh
        fitting = resources.members_at_a_time(program)
        self._layout = lay_out(members, mesh.size, fitting)
        per_pass = max(1, min(fitting // (self._layout.width * mesh.size), self._layout.blocks // mesh.size))
        self._blocks_per_pass = per_pass * mesh.size
        self._tables = [_table(members[row[0]]) for row in self._layout.places]
        abreast = resources.members_abreast(per_pass * self._layout.width)
        self._engine = Engine(program, training, _slots(self._tables), abreast, resources.precision)

    def train(self, on_progress: Callable[[int], None]) -> list[Trained]:
        """Train and test all members.

        Args:
            on_progress: called with the member-steps done.

        Returns:
            The members in their order.
        """
        found: dict[int, Trained] = {}
        for layout, tables in self._passes():
            before = len(found) * self._training.steps
            number = int(layout.real.sum())

            def report(done: int, _: int, before: int = before, number: int = number) -> None:
                on_progress(before + done * number)

            found.update(self._train_pass(layout, tables, report))
        return [found[place] for place in range(len(self._members))]

    def _passes(self) -> Iterator[tuple[Layout, list[sampling.Table]]]:
        """Parts of the layout of equal size, so that one compiled program does for all."""
        size = self._blocks_per_pass
        for start in range(0, self._layout.blocks, size):
            span = range(start, start + size)
            rows = [row % self._layout.blocks for row in span]
            within = np.array([row < self._layout.blocks for row in span])
            layout = Layout(self._layout.places[rows], self._layout.real[rows] & within[:, None])
            yield layout, [self._tables[row] for row in rows]

    def _train_pass(
        self, layout: Layout, tables: list[sampling.Table], on_progress: Callable[[int, int], None]
    ) -> dict[int, Trained]:
        constants = self._shard(self._constants(layout, tables))
        start = self._shard(self._starting_state(layout))
        steps, every = self._training.steps, self._training.record_every
        first = loop.begin(self._engine, start, constants, steps, record_every=every)
        last = loop.run(
            self._engine, first, constants, steps, mesh=self._mesh, record_every=every, on_progress=on_progress
        )
        batches = self._training.test_batches
        losses = _test(last.state.params, constants, engine=self._engine, mesh=self._mesh, batches=batches)
        params, failed_at, losses = meshes.to_host((last.state.params, last.state.failed_at, losses))
        history = last.history_means(every, steps)["loss"]
        return {
            int(layout.places[at]): _trained(
                Params(params.W[at], params.b[at]), losses[at], history[:, *at], failed_at[at]
            )
            for at in zip(*np.nonzero(layout.real), strict=True)
        }

    def _shard(self, tree: Any) -> Any:
        return jax.tree.map(lambda leaf: meshes.shard_rows(np.asarray(leaf), self._mesh), tree)

    def _constants(self, layout: Layout, tables: list[sampling.Table]) -> Constants:
        firsts = [self._members[row[0]] for row in layout.places]
        return Constants(
            _key_data(firsts, keys.DATA),
            _key_data(firsts, keys.TEST_DATA),
            sampling.stack_tables(tables),
            self._hparams(layout),
        )

    def _hparams(self, layout: Layout) -> Hparams:
        def number(value: Callable[[Member], Any]) -> np.ndarray:
            return np.array([[value(self._members[place]) for place in row] for row in layout.places], np.float32)

        return Hparams(
            decay=number(lambda member: member.decay),
            learning_rate=number(lambda member: member.learning_rate),
            bias_learning_rate=number(lambda member: member.bias_rate),
            loss_scale=number(lambda member: member.loss_scale),
            importance=number(lambda member: member.importances),
        )

    def _starting_state(self, layout: Layout) -> MemberState:
        """Starting values of every place, drawn member by member so that the ensemble around one changes no bit."""
        n, m = self._program.n, self._program.m
        shape = layout.places.shape
        W, b = np.empty((*shape, n, m), np.float32), np.empty((*shape, n), np.float32)
        for at, place in np.ndenumerate(layout.places):
            member = self._members[place]
            normal = _standard_normal(keys.stream(member.seed, keys.PARAMETERS, n, m), n=n, m=m)
            W[at] = np.asarray(normal.W) * np.float32(member.start_scale)
            b[at] = np.asarray(normal.b) * np.float32(member.bias_std)
        params = Params(W, b)
        one = Params(jnp.zeros((n, m)), jnp.zeros(n))
        moments = jax.tree.map(lambda leaf: np.zeros((*shape, *leaf.shape), leaf.dtype), jax.eval_shape(_moments, one))
        return MemberState(params, moments, np.full(shape, -1, np.int32))


def _moments(params: Params) -> Any:
    return optimiser(jnp.float32(0), jnp.float32(0), jnp.float32(0)).init(params)


@partial(jax.jit, static_argnames=("n", "m"))
def _standard_normal(key: jax.Array, *, n: int, m: int) -> Params:
    for_W, for_b = jax.random.split(key)
    return Params(jax.random.normal(for_W, (n, m)), jax.random.normal(for_b, (n,)))


@partial(jax.jit, static_argnames=("engine", "mesh", "batches"))
def _test(params: Params, constants: Constants, *, engine: Engine, mesh: Mesh, batches: int) -> jax.Array:
    """Loss of every member on each of the test batches, [N, F, batches]."""

    def body(params: Params, constants: Constants) -> jax.Array:
        losses = lax.map(lambda index: engine.test(params, constants, index), jnp.arange(batches, dtype=jnp.int32))
        return jnp.moveaxis(losses, 0, -1)

    return meshes.over_rows(body, mesh)(params, constants)


def _key_data(members: Sequence[Member], purpose: int) -> np.ndarray:
    return np.stack([np.asarray(jax.random.key_data(keys.stream(m.seed, purpose, *m.data[1:]))) for m in members])


def _table(member: Member) -> sampling.Table:
    if member.program.sparse:
        return sampling.event_table(member.probabilities, member.batch, member.high)
    return sampling.dense_table(member.probabilities, member.high)


def _slots(tables: Sequence[sampling.Table]) -> int:
    """Places for the events of a batch, a multiple of 64; 0 where every entry is drawn."""
    most = max((table.slots for table in tables if isinstance(table, sampling.EventTable)), default=0)
    return -(-most // 64) * 64


def _trained(params: Params, losses: np.ndarray, history: np.ndarray, failed_at: np.ndarray) -> Trained:
    if failed_at >= 0:
        return Trained(params, np.nan, np.nan, history, int(failed_at))
    wide = losses.astype(np.float64)
    return Trained(params, float(wide.mean()), float(wide.std(ddof=1) / np.sqrt(len(wide))), history, -1)
