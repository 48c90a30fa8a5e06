"""The members of one program: laid over devices, trained in passes that fit the memory, tested, brought home."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from superjax.core import keys, loop
from superjax.core import mesh as meshes
from superjax.core.arrays import Arrays
from superjax.toy import sampling
from superjax.toy.decay import optimiser
from superjax.toy.engine import Constants, Engine, Hparams, MemberState, Training
from superjax.toy.members import Layout, Member, Program, lay_out
from superjax.toy.model import Params
from superjax.toy.resources import Resources
from superjax.toy.trained import Trained, Unfinished, Watchers
from superjax.toy.under_way import State, joined, remaining, states_in


class Group:
    """Members of one program, ready to train.

    Args:
        program: their shapes.
        members: at least one.
        training: steps, schedule and test.
        resources: devices and memory.
        numbers: the members' places in the ensemble; by default 0, 1, ...

    Raises:
        InputError: not enough memory for one member.
    """

    def __init__(
        self,
        program: Program,
        members: Sequence[Member],
        training: Training,
        resources: Resources,
        numbers: Sequence[int] | None = None,
    ) -> None:
        mesh = resources.mesh
        self._program, self._members, self._training, self._mesh = program, members, training, mesh
        self._numbers = np.arange(len(members)) if numbers is None else np.asarray(numbers)
        self._fitting = resources.members_at_a_time(program)
        self._tables = {member.data: _table(member) for member in {one.data: one for one in members}.values()}
        widest = next(self._passes(range(len(members))))
        abreast = resources.members_abreast(widest.places.size // mesh.size)
        self._engine = Engine(program, training, _slots(self._tables.values()), abreast, resources.precision)

    def train(self, watchers: Watchers, unfinished: Unfinished | None = None) -> list[Trained]:
        """Train and test all members, or those that an earlier call did not come to.

        Args:
            watchers: told the member-steps done, states to go on from, and members that are trained.
            unfinished: what the earlier call left.

        Returns:
            The members in their order.

        Raises:
            InputError: the checkpoint belongs to another ensemble.
        """
        unfinished = unfinished or Unfinished()
        found = {at: unfinished.trained[no] for at, no in enumerate(self._numbers) if no in unfinished.trained}
        saved = [] if unfinished.under_way is None else remaining(states_in(unfinished.under_way), unfinished.trained)
        for layout in self._plan(found, self._own(saved)):
            before = len(found) * self._training.steps
            number = int(layout.real.sum())

            def report(done: int, _: int, before: int = before, number: int = number) -> None:
                watchers.on_progress(before + done * number)

            waiting = remaining(saved, set(self._names(layout).flat))
            trained = self._train_pass(layout, saved, waiting, report, watchers.on_checkpoint)
            found.update(trained)
            saved = waiting
            if watchers.on_trained is not None:
                watchers.on_trained({int(self._numbers[at]): one for at, one in trained.items()})
        return [found[place] for place in range(len(self._members))]

    def _own(self, states: Sequence[State]) -> list[State]:
        """Those states that are of members of this group."""
        return [one for one in states if np.isin(self._numbers, one["places"]).any()]

    def _plan(self, found: Collection[int] = (), saved: Sequence[State] = ()) -> list[Layout]:
        """The passes to go. As at first where possible, so that not a bit can differ; members are laid out anew where
        other devices or another memory stopped in the midst of what would now be a pass."""
        everybody = range(len(self._members))
        passes = list(self._passes(everybody))
        whole = all(len(set(found) & set(one.members)) in (0, len(one.members)) for one in passes)
        if not whole or not all(any(np.array_equal(self._names(p), one["places"]) for p in passes) for one in saved):
            begun = [np.flatnonzero(np.isin(self._numbers, one["places"])).tolist() for one in saved]
            together = [*begun, sorted(set(everybody).difference(*begun))]
            passes = [p for part in together for p in self._passes([at for at in part if at not in found])]
        return [one for one in passes if not set(one.members) <= set(found)]

    def _names(self, layout: Layout) -> np.ndarray:
        """[N, F] the places in the ensemble of a layout's members; -1 in idle places."""
        return np.where(layout.real, self._numbers[layout.places], -1)

    def _passes(self, members: Sequence[int]) -> Iterator[Layout]:
        """Some of the members, laid out in parts of equal size, so that one compiled program does for all."""
        if not members:
            return
        whole = lay_out([self._members[at] for at in members], self._mesh.size, self._fitting)
        devices = self._mesh.size
        size = devices * max(1, min(self._fitting // (whole.width * devices), whole.blocks // devices))
        for start in range(0, whole.blocks, size):
            span = range(start, start + size)
            rows = [row % whole.blocks for row in span]
            within = np.array([row < whole.blocks for row in span])
            yield Layout(np.asarray(members)[whole.places[rows]], whole.real[rows] & within[:, None])

    def _train_pass(
        self,
        layout: Layout,
        saved: Sequence[State],
        waiting: Sequence[State],
        on_progress: Callable[[int, int], None],
        on_checkpoint: Callable[[Arrays], None] | None,
    ) -> dict[int, Trained]:
        steps, every = self._training.steps, self._training.record_every
        names = self._names(layout)

        def keep(now: loop.LoopState) -> None:
            if on_checkpoint is not None:
                on_checkpoint(joined([{"places": names, **now.arrays(steps)}, *waiting]))

        constants = self._shard(self._constants(layout))
        first = self._first(layout, constants, saved)
        last = loop.run(
            self._engine, first, constants, steps, mesh=self._mesh, record_every=every, on_progress=on_progress,
            on_checkpoint=keep,
        )  # fmt: skip
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

    def _first(self, layout: Layout, constants: Constants, states: Sequence[State]) -> loop.LoopState:
        """Where a pass begins: with the members' starting values, or as they were saved, laid out as today."""
        steps, every = self._training.steps, self._training.record_every
        members = self._numbers[layout.places]
        saved = next((one for one in states if np.isin(members, one["places"]).all()), None)
        if saved is None:
            start = self._shard(self._starting_state(layout))
            return loop.begin(self._engine, start, constants, steps, record_every=every)
        like = loop.LoopState(
            np.asarray(0, np.int64),
            self._state_like(saved["places"].shape),
            {"loss": np.zeros((-(-steps // every), *saved["places"].shape))},
        )
        then = loop.restore(like, saved, steps)
        where = {number: at for at, number in np.ndenumerate(saved["places"])}
        at = np.array([[where[number] for number in row] for row in members])
        block, place = at[..., 0], at[..., 1]
        state = jax.tree.map(lambda leaf: leaf[block, place], then.state)
        return loop.LoopState(
            then.step, self._shard(state), {"loss": np.ascontiguousarray(then.history["loss"][:, block, place])}
        )

    def _shard(self, tree: Any) -> Any:
        return jax.tree.map(lambda leaf: meshes.shard_rows(np.asarray(leaf), self._mesh), tree)

    def _constants(self, layout: Layout) -> Constants:
        firsts = [self._members[row[0]] for row in layout.places]
        return Constants(
            _key_data(firsts, keys.DATA),
            _key_data(firsts, keys.TEST_DATA),
            sampling.stack_tables([self._tables[member.data] for member in firsts]),
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
        state = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), self._state_like(layout.places.shape))
        W, b = state.params
        for at, place in np.ndenumerate(layout.places):
            member = self._members[place]
            normal = _standard_normal(keys.stream(member.seed, keys.PARAMETERS, n, m), n=n, m=m)
            W[at] = np.asarray(normal.W) * np.float32(member.start_scale)
            b[at] = np.asarray(normal.b) * np.float32(member.bias_std)
        state.failed_at[:] = -1
        return state

    def _state_like(self, shape: tuple[int, ...]) -> MemberState:
        """Shapes and dtypes of the state of [N, F] members."""
        one = Params(jnp.zeros((self._program.n, self._program.m)), jnp.zeros(self._program.n))
        like = MemberState(one, jax.eval_shape(_moments, one), jnp.int32(-1))
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((*shape, *leaf.shape), leaf.dtype), like)


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


def _slots(tables: Collection[sampling.Table]) -> int:
    """Places for the events of a batch, a multiple of 64; 0 where every entry is drawn."""
    most = max((table.slots for table in tables if isinstance(table, sampling.EventTable)), default=0)
    return -(-most // 64) * 64


def _trained(params: Params, losses: np.ndarray, history: np.ndarray, failed_at: np.ndarray) -> Trained:
    if failed_at >= 0:
        return Trained(params, np.nan, np.nan, history, int(failed_at))
    wide = losses.astype(np.float64)
    return Trained(params, float(wide.mean()), float(wide.std(ddof=1) / np.sqrt(len(wide))), history, -1)
