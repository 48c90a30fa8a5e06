"""What the tile engine can compute about all pairs: histogram, moments, extremes, nearest rows, or several at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from superjax.core.pairwise import Reducer, Tile, Tree


class TotalsOnly:
    """A reducer that keeps nothing for single rows."""

    def empty_rows(self, rows: int, like: jax.Array) -> Tree:
        return ()

    def merge_rows(self, a: Tree, b: Tree) -> Tree:
        return ()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Histogram(TotalsOnly):
    """Counts of inner products in `bins` equal bins over [-1, 1], the last one closed; totals are int32 [K].

    Values outside [-1, 1], which rounding makes out of parallel rows, are clipped into the end bins, so the
    counts always sum to the number of pairs.

    Attributes:
        bins: K >= 1.

    Example:
        >>> from superjax.core.pairwise import reduce_pairs
        >>> rows = jnp.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> reduce_pairs(rows, Histogram(bins=4), block=2)[0].tolist()
        [2, 0, 3, 1]
    """

    bins: int = field(metadata={"static": True})

    def empty(self) -> jax.Array:
        return jnp.zeros(self.bins, jnp.int32)

    def merge(self, a: jax.Array, b: jax.Array, xp: Any) -> jax.Array:
        return a + b

    def tile(self, tile: Tile) -> tuple[Tree, Tree, Tree]:
        place = ((jnp.clip(tile.gram, -1.0, 1.0) + 1.0) * (self.bins / 2)).astype(jnp.int32)
        place = jnp.where(tile.mask, jnp.minimum(place, self.bins - 1), self.bins)
        counts = lax.platform_dependent(
            place, cpu=self._by_scatter, tpu=self._by_one_hot_product, default=self._by_spread_scatter
        )
        return counts[: self.bins], (), ()

    def _by_scatter(self, place: jax.Array) -> jax.Array:
        return jnp.zeros(self.bins + 1, jnp.int32).at[place.ravel()].add(1, mode="promise_in_bounds")

    def _by_spread_scatter(self, place: jax.Array, copies: int = 64) -> jax.Array:
        """Scatter into many copies of the histogram, so that atomic additions of a GPU seldom meet on one address."""
        copy = jnp.arange(len(place), dtype=jnp.int32)[:, None] % copies
        counts = jnp.zeros((copies, self.bins + 1), jnp.int32)
        return counts.at[jnp.broadcast_to(copy, place.shape), place].add(1, mode="promise_in_bounds").sum(axis=0)

    def _by_one_hot_product(self, place: jax.Array, low: int = 64) -> jax.Array:
        """Counts as a product of one-hot digits, place = low * a + b: the matrix unit of a TPU has no fast scatter.

        A row of a tile is counted at a time; its counts are whole numbers below 2^24, exact in float32.
        """
        high = -(-(self.bins + 1) // low)

        def count_row(counts: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
            a = jax.nn.one_hot(row // low, high, dtype=jnp.bfloat16)
            b = jax.nn.one_hot(row % low, low, dtype=jnp.bfloat16)
            return counts + jnp.matmul(a.T, b, preferred_element_type=jnp.float32).astype(jnp.int32), None

        start = jnp.zeros((high, low), jnp.int32) + 0 * place[0, 0]
        return lax.scan(count_row, start, place)[0].ravel()[: self.bins + 1]


class MomentTotals(NamedTuple):
    """Totals of `Moments`, in the form whose merge loses nothing (Chan, Golub, LeVeque 1983).

    Attributes:
        pairs: [] int32 on a device, number of pairs.
        mean: [] mean inner product.
        squares: [] sum of squared deviations from the mean.
    """

    pairs: jax.Array
    mean: jax.Array
    squares: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Moments(TotalsOnly):
    """Mean and squared deviations of all inner products, or of their absolute values, merged without cancellation.

    Attributes:
        absolute: take |inner product|.

    Example:
        >>> from superjax.core.pairwise import stream_pairs
        >>> totals, _ = stream_pairs(jnp.eye(3), Moments())
        >>> float(totals.mean), float(totals.squares)
        (0.0, 0.0)
    """

    absolute: bool = field(default=False, metadata={"static": True})

    def empty(self) -> MomentTotals:
        return MomentTotals(jnp.int32(0), jnp.float32(0), jnp.float32(0))

    def merge(self, a: MomentTotals, b: MomentTotals, xp: Any) -> MomentTotals:
        pairs = a.pairs + b.pairs
        share = b.pairs / xp.maximum(pairs, 1)
        apart = b.mean - a.mean
        return MomentTotals(pairs, a.mean + apart * share, a.squares + b.squares + apart**2 * a.pairs * share)

    def tile(self, tile: Tile) -> tuple[Tree, Tree, Tree]:
        value = jnp.abs(tile.gram) if self.absolute else tile.gram
        pairs = jnp.sum(tile.mask, dtype=jnp.int32)
        mean = jnp.sum(jnp.where(tile.mask, value, 0.0)) / jnp.maximum(pairs, 1)
        squares = jnp.sum(jnp.where(tile.mask, (value - mean) ** 2, 0.0))
        return MomentTotals(pairs, mean, squares), (), ()


class ExtremeTotals(NamedTuple):
    """Totals of `Extremes`.

    Attributes:
        smallest: [] smallest inner product, +inf when there is no pair.
        largest: [] largest inner product, -inf when there is no pair.
    """

    smallest: jax.Array
    largest: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Extremes(TotalsOnly):
    """Smallest and largest inner product over all pairs.

    Example:
        >>> from superjax.core.pairwise import stream_pairs
        >>> totals, _ = stream_pairs(jnp.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), Extremes())
        >>> float(totals.smallest), float(totals.largest)
        (-1.0, 0.0)
    """

    def empty(self) -> ExtremeTotals:
        return ExtremeTotals(jnp.float32(jnp.inf), jnp.float32(-jnp.inf))

    def merge(self, a: ExtremeTotals, b: ExtremeTotals, xp: Any) -> ExtremeTotals:
        return ExtremeTotals(xp.minimum(a.smallest, b.smallest), xp.maximum(a.largest, b.largest))

    def tile(self, tile: Tile) -> tuple[Tree, Tree, Tree]:
        smallest = jnp.min(jnp.where(tile.mask, tile.gram, jnp.inf))
        largest = jnp.max(jnp.where(tile.mask, tile.gram, -jnp.inf))
        return ExtremeTotals(smallest, largest), (), ()


class NearestRows(NamedTuple):
    """Per-row values of `Nearest`, best first.

    Attributes:
        value: [V, K] float32 inner products, -inf where there are fewer than K other rows.
        row: [V, K] int32 rows of the whole matrix, -1 where there are fewer than K other rows.
    """

    value: jax.Array
    row: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Nearest:
    """Each row's `number` other rows of largest inner product; of equal ones the lower index comes first.

    Attributes:
        number: K >= 1.

    Example:
        >>> from superjax.core.pairwise import stream_pairs
        >>> rows = jnp.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
        >>> stream_pairs(rows, Nearest(1))[1].row.tolist()
        [[1], [2], [1]]
    """

    number: int = field(metadata={"static": True})

    def empty(self) -> Tree:
        return ()

    def merge(self, a: Tree, b: Tree, xp: Any) -> Tree:
        return ()

    def empty_rows(self, rows: int, like: jax.Array) -> NearestRows:
        shape = (rows, self.number)
        return NearestRows(jnp.full(shape, -jnp.inf, jnp.float32), jnp.full(shape, -1, jnp.int32))

    def merge_rows(self, a: NearestRows, b: NearestRows) -> NearestRows:
        value = jnp.concatenate([a.value, b.value], axis=-1)
        index = jnp.concatenate([a.row, b.row], axis=-1)
        descending, _, order = lax.sort((-value, index, lax.broadcasted_iota(jnp.int32, value.shape, 1)), num_keys=2)
        keep = order[:, : self.number]
        return NearestRows(-descending[:, : self.number], jnp.take_along_axis(index, keep, axis=1))

    def tile(self, tile: Tile) -> tuple[Tree, Tree, Tree]:
        value = jnp.where(tile.mask, tile.gram, -jnp.inf)
        return (), self._best(value, tile.cols), self._best(value.T, tile.rows)

    def _best(self, value: jax.Array, names: jax.Array) -> NearestRows:
        best, place = lax.top_k(value, min(self.number, value.shape[1]))
        index = jnp.where(best > -jnp.inf, names[place], -1)
        short = ((0, 0), (0, self.number - best.shape[1]))
        return NearestRows(jnp.pad(best, short, constant_values=-jnp.inf), jnp.pad(index, short, constant_values=-1))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Together:
    """Several reducers in one pass over the tiles; totals and per-row values are tuples in their order.

    Attributes:
        reducers: the reducers.

    Example:
        >>> from superjax.core.pairwise import stream_pairs
        >>> (counts, ends), _ = stream_pairs(jnp.eye(3), Together((Histogram(bins=1), Extremes())))
        >>> counts.tolist(), float(ends.largest)
        ([3], 0.0)
    """

    reducers: tuple[Reducer, ...]

    def empty(self) -> Tree:
        return tuple(part.empty() for part in self.reducers)

    def merge(self, a: Tree, b: Tree, xp: Any) -> Tree:
        return tuple(part.merge(one, other, xp) for part, one, other in zip(self.reducers, a, b, strict=True))

    def empty_rows(self, rows: int, like: jax.Array) -> Tree:
        return tuple(part.empty_rows(rows, like) for part in self.reducers)

    def merge_rows(self, a: Tree, b: Tree) -> Tree:
        return tuple(part.merge_rows(one, other) for part, one, other in zip(self.reducers, a, b, strict=True))

    def tile(self, tile: Tile) -> tuple[Tree, Tree, Tree]:
        parts = [part.tile(tile) for part in self.reducers]
        totals, left, right = zip(*parts, strict=True)
        return totals, left, right
