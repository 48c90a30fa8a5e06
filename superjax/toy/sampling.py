"""Batches of sparse samples, drawn from their exact law: dense draws, or only the features that are active."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from superjax.core import keys

SPARSE_BELOW = 1 / 64
"""Expected events in a sample, as a share of n, below which a list of entries is cheaper than all of them."""

SPARSE_FROM_N = 64
"""Fewer features than this are cheaper entry by entry at any density."""

_LARGEST_WORD = 2**32 - 1

Array: TypeAlias = jax.Array | np.ndarray
"""On a device, or on the host on its way there."""


class SparseBatch(NamedTuple):
    """A batch [B, n] as its non-zero entries, samples numbered so that the empty ones come last.

    Attributes:
        row: [K] int32, sample of each entry, ascending, in [0, filled).
        feature: [K] int32, its feature in [0, n).
        value: [K] float32, 0 in an unused place.
        used: [K] float32, 1 where the place holds an entry, else 0; no two used places share row and feature.
        filled: [] int32, samples with at least one entry; the other B - filled are zero.
    """

    row: jax.Array
    feature: jax.Array
    value: jax.Array
    used: jax.Array
    filled: jax.Array


class EventTable(NamedTuple):
    """What is needed to draw the active features of a batch; made on the host by `event_table`.

    Attributes:
        threshold: [n] uint32, and
        alias: [n] int32: Walker's tables for drawing a feature by its rate.
        count_threshold: [C] uint32, last word of each number of events but the largest.
        count_low: [] int32, the number of events below the first threshold.
        high: [] float32, values are uniform on [0, high).
    """

    threshold: Array
    alias: Array
    count_threshold: Array
    count_low: Array
    high: Array

    @property
    def slots(self) -> int:
        """The largest number of events the table can draw."""
        return int(self.count_low) + len(self.count_threshold)


class DenseTable(NamedTuple):
    """What is needed to draw every entry of a batch.

    Attributes:
        threshold: [n] uint32, p in units of 2^-32.
        certain: [n] bool, p = 1.
        high: [] float32, values are uniform on [0, high).
    """

    threshold: Array
    certain: Array
    high: Array


Table: TypeAlias = EventTable | DenseTable


def is_sparse(probabilities: np.ndarray) -> bool:
    """Whether features with these probabilities are drawn as events; a function of them alone, so data never changes.

    Args:
        probabilities: [n] in [0, 1].
    """
    n = len(probabilities)
    return bool(n >= SPARSE_FROM_N and np.max(probabilities) < 1 and _rates(probabilities).sum() < SPARSE_BELOW * n)


def _rates(probabilities: np.ndarray) -> np.ndarray:
    return -np.log1p(-np.asarray(probabilities, np.float64))


def event_table(probabilities: np.ndarray, batch: int, high: float) -> EventTable:
    r"""Tables for drawing a batch as events, which merged are independent Bernoulli(p_i).

    Events of feature i arrive at rate :math:`\lambda_i = -\ln(1 - p_i)` in every sample, so feature i has none with
    probability 1 - p_i, independently. Over a batch of B samples there are Poisson(:math:`B \sum_i \lambda_i`)
    events, each in a uniform sample, of feature i with probability :math:`\lambda_i / \sum \lambda`.

    The number of events is drawn from its cumulative law in units of 2^-32. The table ends where what is left is
    below 2^-33 of the batches, so there are slots for every draw and no event is ever dropped.

    Args:
        probabilities: [n] in [0, 1), not all zero.
        batch: B >= 1.
        high: values are uniform on [0, high).

    Returns:
        The tables.

    Source:
        Kingman 1993, Poisson Processes (superposition, thinning); Walker 1977 (alias method).

    Example:
        >>> table = event_table(np.full(1000, 1e-3), 2048, 2.0)
        >>> 2048 < table.slots < 2048 + 7 * 2048**0.5
        True
    """
    from scipy.special import pdtr

    rates = _rates(probabilities)
    mean = batch * rates.sum()
    spread = int(10 * np.sqrt(mean) + 40)
    counts = np.arange(max(0, int(mean) - spread), int(mean) + spread)
    cumulative = np.floor(pdtr(counts, mean) * 2.0**32 + 0.5)
    first = int(np.searchsorted(cumulative, 1.0))
    last = int(np.searchsorted(cumulative, 2.0**32))
    threshold, alias = _alias_table(rates)
    return EventTable(
        threshold,
        alias,
        (cumulative[first:last] - 1).astype(np.uint32),
        np.asarray(counts[first], np.int32),
        np.asarray(high, np.float32),
    )


def dense_table(probabilities: np.ndarray, high: float) -> DenseTable:
    """Tables for drawing every entry of a batch; any probabilities, 0 and 1 among them.

    Args:
        probabilities: [n] in [0, 1].
        high: values are uniform on [0, high).
    """
    p = np.asarray(probabilities, np.float64)
    return DenseTable(_in_words(p), p == 1, np.asarray(high, np.float32))


def stack_tables(tables: list[Table]) -> Table:
    """Tables of one kind and n with a leading axis; count thresholds padded so that the padding is never drawn."""
    if isinstance(tables[0], DenseTable):
        return DenseTable(*(np.stack(parts) for parts in zip(*tables, strict=True)))
    events = [table for table in tables if isinstance(table, EventTable)]
    size = max(len(table.count_threshold) for table in events)
    padded = [
        table._replace(
            count_threshold=np.pad(
                table.count_threshold, (0, size - len(table.count_threshold)), constant_values=_LARGEST_WORD
            )
        )
        for table in events
    ]
    return EventTable(*(np.stack(parts) for parts in zip(*padded, strict=True)))


def draw_events(key: jax.Array, table: EventTable, batch: int, slots: int) -> SparseBatch:
    """One batch of independent Bernoulli(p_i) features with uniform values, as its non-zero entries.

    Args:
        key: typed threefry key, [].
        table: from `event_table`, for this batch size.
        batch: B >= 1, with B n < 2^31.
        slots: K, at least the `slots` of the table; more changes nothing but unused places.

    Returns:
        The batch.

    Example:
        >>> table = event_table(np.full(100, 0.01), 64, 2.0)
        >>> batch = draw_events(keys.stream(0, keys.DATA), table, 64, table.slots)
        >>> int(batch.filled) <= 64, bool(jnp.all(batch.row[1:] >= batch.row[:-1]))
        (True, True)
    """
    table = jax.tree.map(jnp.asarray, table)
    n = table.threshold.shape[0]
    column, coin = keys.words(jax.random.fold_in(key, 1), slots)
    sample, level = keys.words(jax.random.fold_in(key, 2), slots)
    events = _number_of_events(keys.words(jax.random.fold_in(key, 3), 1)[0][0], table)

    picked = keys.below(column, n)
    feature = jnp.where(coin < table.threshold[picked], picked, table.alias[picked])
    place = keys.below(sample, batch) * n + feature
    place = jnp.where(jnp.arange(slots, dtype=jnp.int32) < events, place, batch * n)
    place, value = lax.sort((place, keys.unit_interval(level) * table.high), num_keys=1, is_stable=True)

    before = jnp.concatenate([jnp.full(1, -1, jnp.int32), place[:-1]])
    used = (place < batch * n) & (place != before)
    row = jnp.cumsum(used & (place // n != before // n), dtype=jnp.int32)
    return SparseBatch(
        row=jnp.maximum(row - 1, 0),
        feature=jnp.where(used, place % n, 0),
        value=jnp.where(used, value, 0.0),
        used=used.astype(jnp.float32),
        filled=row[-1],
    )


def draw_dense(key: jax.Array, table: DenseTable, batch: int) -> jax.Array:
    """One batch of independent Bernoulli(p_i) features with uniform values, entry by entry.

    Args:
        key: typed threefry key, [].
        table: from `dense_table`.
        batch: B >= 1.

    Returns:
        [B, n] float32 samples.
    """
    table = jax.tree.map(jnp.asarray, table)
    n = table.threshold.shape[0]
    coin, level = (bits.reshape(batch, n) for bits in keys.words(key, batch * n))
    active = (coin < table.threshold[None]) | table.certain[None]
    return jnp.where(active, keys.unit_interval(level) * table.high, 0.0)


def to_dense(batch: SparseBatch, size: int, n: int) -> jax.Array:
    """The batch as a [B, n] array, empty samples last.

    Args:
        batch: from `draw_events`.
        size: B.
        n: number of features.
    """
    return jnp.zeros((size, n), jnp.float32).at[batch.row, batch.feature].add(batch.value)


def _number_of_events(word: jax.Array, table: EventTable) -> jax.Array:
    """Inverse of the cumulative law: how many thresholds the word has passed."""
    return jnp.asarray(table.count_low) + jnp.sum(word > table.count_threshold, dtype=jnp.int32)


def _alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's tables: column i is feature i when the coin is below threshold[i], else alias[i]."""
    n = len(weights)
    share = weights * (n / weights.sum())
    alias = np.arange(n)
    small = [i for i in range(n) if share[i] < 1]
    large = [i for i in range(n) if share[i] >= 1]
    keep = share.copy()
    while small and large:
        low, high = small.pop(), large[-1]
        alias[low] = high
        keep[high] -= 1 - keep[low]
        if keep[high] < 1:
            small.append(large.pop())
    left = small + large  # what rounding has left over
    alias[left] = left
    return _in_words(keep), alias.astype(np.int32)


def _in_words(probability: np.ndarray) -> np.ndarray:
    return np.clip(np.round(probability * 2.0**32), 0, _LARGEST_WORD).astype(np.uint32)
