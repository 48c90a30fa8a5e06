"""All pairs of rows, one tile at a time: the engine under every histogram, neighbour list and packing gradient.

A `Reducer` says what one tile of the Gram matrix contributes and how contributions merge; the engine
says which tiles there are. Each unordered pair of rows is met exactly once, on one device or on many, and
nothing larger than one tile is ever held.

On N devices the rows lie in N shards. Shard p stays at home on device p while copies of the shards go round
the ring; at ring step s device p holds shard p + s as its visitor. Because every pair of shards needs to meet
only once, the copies go half way round: steps 0 .. N // 2. At the last step of an even ring the two devices
that hold the same pair of shards do half of its tiles each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from superjax.core import mesh as meshes
from superjax.core.schedule import Schedule, fit_block, longest, parts, ring_regions, tiles_per_dispatch, whole

Tree = Any
Precision = lax.Precision | str


class Tile(NamedTuple):
    """One block of the Gram matrix of the rows, with what a reducer may need about it.

    Attributes:
        gram: [A, B] inner products of `left` with `right`, float32.
        mask: [A, B] bool, True where the pair counts: both rows are real, and this is the one time they meet.
        left: [A, d] rows.
        right: [B, d] rows.
        rows: [A] int32, index of each left row in the whole matrix.
        cols: [B] int32, index of each right row in the whole matrix.
    """

    gram: jax.Array
    mask: jax.Array
    left: jax.Array
    right: jax.Array
    rows: jax.Array
    cols: jax.Array


class Reducer(Protocol):
    """What to make of the tiles: a commutative monoid of totals, one of per-row values, and one tile's part in both.

    A reducer is a pytree, so its numbers may be traced (packing's sharpness) and its sizes are static. `merge`
    is called with ``xp=jnp`` on devices and ``xp=np`` on the host, where integers are int64 and floats float64.
    """

    def empty(self) -> Tree:
        """The identity of `merge`."""

    def merge(self, a: Tree, b: Tree, xp: Any) -> Tree:
        """Totals of the union of two disjoint sets of pairs."""

    def empty_rows(self, rows: int, like: jax.Array) -> Tree:
        """The identity of `merge_rows` for `rows` rows: leaves [rows, ...], or ``()``. `like` is the matrix [.., d]."""

    def merge_rows(self, a: Tree, b: Tree) -> Tree:
        """Per-row values of the same rows from two disjoint sets of pairs."""

    def tile(self, tile: Tile) -> tuple[Tree, Tree, Tree]:
        """This tile's totals, values for its left rows [A, ...], and values for its right rows [B, ...]."""


class _Meeting(NamedTuple):
    """A home shard and its visitor, with the place of each in the whole matrix, whose first `real` rows are real."""

    home: jax.Array
    visitor: jax.Array
    home_start: jax.Array
    visitor_start: jax.Array
    real: jax.Array


class _State(NamedTuple):
    """What a pass carries: totals, values of the home rows, and values that travel with the visitor's rows."""

    totals: Tree
    home: Tree
    visitor: Tree


def reduce_pairs(
    x: jax.Array,
    reducer: Reducer,
    *,
    block: int,
    count: int | jax.Array | None = None,
    precision: Precision = lax.Precision.HIGHEST,
) -> tuple[Tree, Tree]:
    """Reduce all pairs of rows of `x` on one device. Pure: may be jitted, vmapped and scanned.

    Args:
        x: [V, d] float32 rows. V must divide by `block`; pad with anything finite and pass `count`.
        reducer: what to compute.
        block: rows in a tile.
        count: how many of the first rows are real; all of them by default.
        precision: of the Gram product; accumulation is float32.

    Returns:
        The totals, and the per-row values with leading axis V. Totals are device numbers: counts in int32
        hold at most 2^31 - 1 pairs (`stream_pairs` has no such limit).

    Raises:
        ValueError: when V does not divide by `block`.

    Example:
        >>> from superjax.core.reducers import Histogram
        >>> counts, _ = reduce_pairs(jnp.eye(4), Histogram(bins=3), block=2)
        >>> counts.tolist()
        [0, 6, 0]
    """
    if len(x) % block:
        raise ValueError(f"{len(x)} rows do not divide by block {block}; pad the rows and pass count")
    real = jnp.int32(len(x) if count is None else count)
    schedule = whole(ring_regions(len(x), len(x), 1, block)[0])
    meeting = _Meeting(x, x, jnp.int32(0), jnp.int32(0), real)
    state = _visit(reducer, meeting, schedule.tiles[0], int(schedule.live[0]), _start(reducer, x), block, precision)
    return state.totals, reducer.merge_rows(state.home, state.visitor)


def reduce_pairs_in_ring(
    x: jax.Array,
    reducer: Reducer,
    *,
    devices: int,
    count: int,
    block: int,
    precision: Precision = lax.Precision.HIGHEST,
) -> tuple[Tree, Tree]:
    """`reduce_pairs` for a body under `mesh.over_rows`: `x` is this device's shard, and shards go round the ring.

    Args:
        x: [V / N, d] this device's rows; V / N must divide by `block`.
        reducer: what to compute.
        devices: N, the size of the mesh.
        count: how many of the V rows are real.
        block: rows in a tile.
        precision: of the Gram product.

    Returns:
        The totals over all devices, the same on each, and the per-row values of this device's rows.

    Raises:
        ValueError: when the shard does not divide by `block`.
    """
    if len(x) % block:
        raise ValueError(f"a shard of {len(x)} rows does not divide by block {block}; pad the rows and pass count")
    here = lax.axis_index(meshes.ROWS)
    schedules = [whole(regions) for regions in ring_regions(count, len(x), devices, block)]
    visitor, state = x, _start(reducer, x)
    for step, (tiles, live) in enumerate(schedules):
        if step:
            visitor, travelling = meshes.shift((visitor, state.visitor), 1, devices)
            state = state._replace(visitor=travelling)
        meeting = _meeting(x, visitor, here, jnp.int32(step), jnp.int32(count), devices)
        state = _visit(reducer, meeting, jnp.asarray(tiles)[here], jnp.asarray(live)[here], state, block, precision)
    returned = meshes.shift(state.visitor, 1 - len(schedules), devices)
    everyone = lax.all_gather(state.totals, meshes.ROWS)
    return _fold(reducer, everyone, devices), reducer.merge_rows(state.home, returned)


def stream_pairs(
    x: np.ndarray | jax.Array,
    reducer: Reducer,
    *,
    mesh: Mesh | None = None,
    block: int | None = None,
    precision: Precision = lax.Precision.HIGHEST,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[Tree, Tree]:
    """Reduce all pairs of rows of `x`, however many, over the devices of `mesh`, with exact totals on the host.

    The tiles run in compiled calls of at most 2^31 - 1 pairs; between them totals are added on the host in
    int64 and float64, so a count never wraps and never passes through float32.

    Args:
        x: [V, d] float32 rows, V >= 0, on the host or a device.
        reducer: what to compute.
        mesh: devices to use; the first local one by default. In a run of several processes all call this alike.
        block: rows in a tile; chosen for the platform by default. It changes speed and memory, never a total count.
        precision: of the Gram product; accumulation is float32.
        on_progress: called with (tiles done, tiles in all) after each compiled call.

    Returns:
        Totals as NumPy (int64, float64), and per-row values as NumPy with leading axis V.

    Raises:
        ValueError: when `block` is not positive.

    Example:
        >>> from superjax.core.reducers import Histogram
        >>> counts, _ = stream_pairs(np.eye(5, dtype=np.float32), Histogram(bins=3), block=2)
        >>> counts.tolist()
        [0, 10, 0]
    """
    mesh = meshes.single_device_mesh() if mesh is None else mesh
    matrix: np.ndarray = np.asarray(x, dtype=np.float32)
    count, devices = len(matrix), mesh.size
    block = fit_block(block, count, mesh)
    home = meshes.shard_rows(meshes.pad_rows(matrix, devices * block), mesh)
    steps = ring_regions(count, len(home) // devices, devices, block)
    length = tiles_per_dispatch(block, matrix.shape[1], devices, max(longest(regions) for regions in steps))
    settings = {"mesh": mesh, "block": block, "precision": lax.Precision(precision)}

    totals = _widen(jax.tree.map(np.asarray, reducer.empty()))
    visitor, values = home, (_begin(home, reducer, mesh=mesh), _begin(home, reducer, mesh=mesh))
    done, in_all = 0, sum(longest(regions) for regions in steps)
    for step, regions in enumerate(steps):
        if step:
            visitor, travelling = _move((visitor, values[1]), by=1, mesh=mesh)
            values = (values[0], travelling)
        for part in parts(regions, length):
            on_mesh = Schedule(*(meshes.shard_rows(np.asarray(leaf), mesh) for leaf in part))
            place = meshes.replicate((np.int32(step), np.int32(count)), mesh)
            new, values = _dispatch((home, visitor, on_mesh), values, reducer, place, **settings)
            totals = reducer.merge(totals, _widen(meshes.to_host(new)), np)
            done += int(part.live.max())
            if on_progress is not None:
                on_progress(done, in_all)
    merged = _finish(values[0], _move(values[1], by=1 - len(steps), mesh=mesh), reducer)
    return totals, jax.tree.map(lambda leaf: leaf[:count], meshes.to_host(merged))


def _widen(tree: Tree) -> Tree:
    wide = {"i": np.int64, "f": np.float64}
    return jax.tree.map(lambda leaf: np.asarray(leaf, wide.get(leaf.dtype.kind, leaf.dtype)), tree)


def _fold(reducer: Reducer, stacked: Tree, devices: int) -> Tree:
    """Merge totals stacked along a leading axis of length `devices`."""
    totals = reducer.empty()
    for place in range(devices):
        totals = reducer.merge(totals, jax.tree.map(lambda leaf: leaf[place], stacked), jnp)  # noqa: B023
    return totals


def _start(reducer: Reducer, x: jax.Array) -> _State:
    # An empty sum over `x` is 0 and differs between devices if `x` does, as the carry of a loop over `x` must.
    zero = jnp.sum(x[:0])
    totals, values = jax.tree.map(
        lambda leaf: leaf + zero.astype(leaf.dtype), (reducer.empty(), reducer.empty_rows(len(x), x))
    )
    return _State(totals, values, values)


def _meeting(
    home: jax.Array, visitor: jax.Array, here: jax.Array, step: jax.Array, count: jax.Array, devices: int
) -> _Meeting:
    shard = len(home)
    return _Meeting(home, visitor, here * shard, (here + step) % devices * shard, count)


def _visit(
    reducer: Reducer,
    meeting: _Meeting,
    tiles: jax.Array | np.ndarray,
    live: jax.Array | int,
    state: _State,
    block: int,
    precision: Precision,
) -> _State:
    """Reduce the first `live` of `tiles` [T, 2] of one meeting into `state`."""
    tiles = jnp.asarray(tiles)

    def step(number: jax.Array, state: _State) -> _State:
        i, j = tiles[number, 0] * block, tiles[number, 1] * block
        totals, left, right = reducer.tile(_tile(meeting, i, j, block, precision))
        return _State(
            reducer.merge(state.totals, totals, jnp),
            _merge_block(reducer, state.home, left, i),
            _merge_block(reducer, state.visitor, right, j),
        )

    return lax.fori_loop(0, live, step, state)


def _tile(meeting: _Meeting, i: jax.Array, j: jax.Array, block: int, precision: Precision) -> Tile:
    left = lax.dynamic_slice_in_dim(meeting.home, i, block)
    right = lax.dynamic_slice_in_dim(meeting.visitor, j, block)
    gram = jnp.matmul(left, right.T, precision=precision, preferred_element_type=jnp.float32)
    rows = meeting.home_start + i + jnp.arange(block, dtype=jnp.int32)
    cols = meeting.visitor_start + j + jnp.arange(block, dtype=jnp.int32)
    real = (rows < meeting.real)[:, None] & (cols < meeting.real)[None, :]
    once = (rows[:, None] < cols[None, :]) | (meeting.home_start != meeting.visitor_start)
    return Tile(gram, real & once, left, right, rows, cols)


def _merge_block(reducer: Reducer, values: Tree, block_values: Tree, start: jax.Array) -> Tree:
    """Merge `block_values` into the rows of `values` that begin at `start`."""
    if not jax.tree.leaves(values):
        return values
    size = len(jax.tree.leaves(block_values)[0])
    old = jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, start, size), values)
    new = reducer.merge_rows(old, block_values)
    return jax.tree.map(lambda leaf, part: lax.dynamic_update_slice_in_dim(leaf, part, start, 0), values, new)


@partial(jax.jit, static_argnames=("mesh",))
def _begin(x: jax.Array, reducer: Reducer, *, mesh: Mesh) -> Tree:
    """Empty per-row values, sharded as the rows are."""

    def body(x: jax.Array, reducer: Reducer) -> Tree:
        return _start(reducer, x).home

    return meshes.over_rows(body, mesh, replicated_args=1)(x, reducer)


@partial(jax.jit, static_argnames=("by", "mesh"))
def _move(tree: Tree, *, by: int, mesh: Mesh) -> Tree:
    """Every shard moves `by` places round the ring."""
    return meshes.over_rows(lambda tree: meshes.shift(tree, by, mesh.size), mesh)(tree)


@jax.jit
def _finish(home_rows: Tree, visitor_rows: Tree, reducer: Reducer) -> Tree:
    return reducer.merge_rows(home_rows, visitor_rows)


@partial(jax.jit, static_argnames=("mesh", "block", "precision"), donate_argnames=("values",))
def _dispatch(
    meeting: tuple[jax.Array, jax.Array, Schedule],
    values: tuple[Tree, Tree],
    reducer: Reducer,
    place: tuple[jax.Array, jax.Array],
    *,
    mesh: Mesh,
    block: int,
    precision: Precision,
) -> tuple[Tree, tuple[Tree, Tree]]:
    """One part of one ring step on all devices: totals merged over devices, and the updated per-row values.

    `meeting` is the home rows, the visiting rows and the tiles; `place` the ring step and the number of real rows.
    """

    def body(meeting: Tree, values: Tree, reducer: Reducer, place: Tree) -> _State:
        home, visitor, (tiles, live) = meeting
        step, count = place
        met = _meeting(home, visitor, lax.axis_index(meshes.ROWS), step, count, mesh.size)
        state = _State(meshes.varying(reducer.empty()), *values)
        state = _visit(reducer, met, tiles[0], live[0], state, block, precision)
        return state._replace(totals=jax.tree.map(lambda leaf: leaf[None], state.totals))

    stacked, *values_then = meshes.over_rows(body, mesh, replicated_args=2)(meeting, values, reducer, place)
    return meshes.same_everywhere(_fold(reducer, stacked, mesh.size), mesh), tuple(values_then)
