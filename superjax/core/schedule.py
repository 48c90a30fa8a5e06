"""Which tiles of the Gram matrix each device computes, and when: the ring, its steps, and parts of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

PAIRS_PER_DISPATCH = 2**31 - 1
"""Device totals may be int32, so one compiled call, over all its devices, meets at most this many pairs."""

FLOPS_PER_DISPATCH = 2**38
"""Work of one device in one compiled call: about a second on two CPU cores, so progress moves and Ctrl-C answers."""


TILES_PER_DISPATCH = 2**20
"""Tiles of one device in one compiled call, however small they are: the list of them then takes at most 8 MiB."""


class Schedule(NamedTuple):
    """Which tiles each of N devices computes, in one compiled call.

    Attributes:
        tiles: [N, T, 2] int32, (block of home rows, block of visiting rows); the first `live[p]` of row p count.
        live: [N] int32, how many of a device's T tiles count.
    """

    tiles: np.ndarray | jax.Array
    live: np.ndarray | jax.Array


class Region(NamedTuple):
    """All the tiles of one device during one step of the ring: a rectangle of blocks, or what lies on and above its
    diagonal.

    Attributes:
        left: blocks of home rows, a range.
        right: blocks of visiting rows, a range.
        upper: whether only tiles with left <= right count, as where a shard meets itself.
    """

    left: range
    right: range
    upper: bool

    @property
    def size(self) -> int:
        """How many tiles it has."""
        return int(self._starts()[-1])

    def tiles(self, start: int, stop: int) -> np.ndarray:
        """Tiles `start ... stop`, row by row: [n, 2] int32.

        Example:
            >>> Region(range(3), range(3), upper=True).tiles(2, 9).tolist()
            [[0, 2], [1, 1], [1, 2], [2, 2]]
        """
        starts = self._starts()
        number = np.arange(start, min(stop, int(starts[-1])))
        row = np.searchsorted(starts, number, side="right") - 1
        first = row if self.upper else 0
        columns = number - starts[row] + first
        return np.stack([self.left.start + row, self.right.start + columns], axis=-1).astype(np.int32)

    def _starts(self) -> np.ndarray:
        """The number of the first tile of every row of blocks, then of all tiles, int64."""
        lengths = np.full(len(self.left), len(self.right), np.int64)
        if self.upper:
            lengths -= np.arange(len(self.left))
        return np.concatenate([[0], np.cumsum(np.maximum(lengths, 0))]).astype(np.int64)


def fit_block(block: int | None, count: int, mesh: Mesh) -> int:
    """Rows in a tile for `count` rows on `mesh`: `block`, or a good one for the platform, no larger than a shard.

    Example:
        >>> from superjax.core.mesh import single_device_mesh
        >>> fit_block(1024, 10, single_device_mesh())
        10
    """
    shard = max(1, -(-count // mesh.size))
    if block is None:
        largest = 1024 if mesh.devices.flat[0].platform == "cpu" else 4096
        even = -(-shard // -(-shard // largest))
        block = -(-even // 16) * 16
    if block < 1:
        raise ValueError(f"block is {block}, must be at least 1")
    return min(block, shard, int((PAIRS_PER_DISPATCH / mesh.size) ** 0.5))


def ring_regions(count: int, shard: int, devices: int, block: int) -> list[list[Region]]:
    """The tiles of every ring step: `count` real rows in `devices` shards of `shard` rows, tiles of `block` rows.

    Step 0 is each shard with itself (upper triangle); at step s device p meets shard p + s. Tiles without a real
    row are left out. At the last step of an even ring devices p and p + N/2 hold the same two shards, and each
    does half of their tiles.

    Returns:
        For each of the N // 2 + 1 steps, the `Region` of every device.

    Example:
        >>> [[region.size for region in step] for step in ring_regions(count=8, shard=2, devices=4, block=1)]
        [[3, 3, 3, 3], [4, 4, 4, 4], [2, 2, 2, 2]]
    """

    def blocks(place: int) -> int:
        return -(-min(max(count - place * shard, 0), shard) // block)

    def region(step: int, place: int) -> Region:
        left, right = range(blocks(place)), range(blocks((place + step) % devices))
        if step > 0 and 2 * step == devices:
            left, right = (left[: -(-len(left) // 2)], right) if place < step else (left, right[-(-len(right) // 2) :])
        return Region(left, right, upper=step == 0)

    return [[region(step, place) for place in range(devices)] for step in range(devices // 2 + 1)]


def tiles_per_dispatch(block: int, dim: int, devices: int, most: int) -> int:
    """Tiles of one compiled call on one device: bounded by the count, by the work, and by what there is (`most`)."""
    by_count = PAIRS_PER_DISPATCH // (devices * block**2)
    by_work = FLOPS_PER_DISPATCH // (2 * block**2 * max(dim, 64))
    return max(1, min(by_count, by_work, TILES_PER_DISPATCH, most))


def longest(regions: list[Region]) -> int:
    """Tiles of the device that has most of them."""
    return max(region.size for region in regions)


def whole(regions: list[Region]) -> Schedule:
    """All tiles of one ring step in one `Schedule`: for engines whose tiles are few."""
    return _part(regions, 0, max(1, longest(regions)))


def parts(regions: list[Region], length: int) -> Iterator[Schedule]:
    """The tiles of one ring step in parts of one static length, so that all of them run in one compiled program."""
    for start in range(0, longest(regions), length):
        yield _part(regions, start, length)


def _part(regions: list[Region], start: int, length: int) -> Schedule:
    tiles = np.zeros((len(regions), length, 2), np.int32)
    live = np.zeros(len(regions), np.int32)
    for place, region in enumerate(regions):
        found = region.tiles(start, start + length)
        tiles[place, : len(found)] = found
        live[place] = len(found)
    return Schedule(tiles, live)
