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


class Schedule(NamedTuple):
    """Which tiles each of N devices computes during one step of the ring.

    Attributes:
        tiles: [N, T, 2] int32, (block of home rows, block of visiting rows); the first `live[p]` of row p count.
        live: [N] int32, how many of a device's T tiles count.
    """

    tiles: np.ndarray | jax.Array
    live: np.ndarray | jax.Array


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


def ring_schedules(count: int, shard: int, devices: int, block: int) -> list[Schedule]:
    """The tiles of every ring step: `count` real rows in `devices` shards of `shard` rows, tiles of `block` rows.

    Step 0 is each shard with itself (upper triangle); at step s device p meets shard p + s. Tiles without a real
    row are left out. At the last step of an even ring devices p and p + N/2 hold the same two shards, and each
    does half of their tiles.

    Returns:
        One `Schedule` for each of the N // 2 + 1 steps.

    Example:
        >>> [s.live.tolist() for s in ring_schedules(count=8, shard=2, devices=4, block=1)]
        [[3, 3, 3, 3], [4, 4, 4, 4], [2, 2, 2, 2]]
    """
    schedules = []
    for step in range(devices // 2 + 1):
        shared = step > 0 and 2 * step == devices
        per_device = []
        for place in range(devices):
            blocks = _real_blocks(count, place, shard, block)
            other = _real_blocks(count, (place + step) % devices, shard, block)
            left, right = np.meshgrid(np.arange(blocks), np.arange(other), indexing="ij")
            keep = left <= right if step == 0 else np.full(left.shape, True)
            if shared:
                keep = left < (blocks + 1) // 2 if place < step else right >= (other + 1) // 2
            per_device.append(np.stack([left[keep], right[keep]], axis=-1).astype(np.int32))
        live = np.array([len(tiles) for tiles in per_device], np.int32)
        tiles = np.zeros((devices, max(1, int(live.max())), 2), np.int32)
        for row, device_tiles in zip(tiles, per_device, strict=True):
            row[: len(device_tiles)] = device_tiles
        schedules.append(Schedule(tiles, live))
    return schedules


def _real_blocks(count: int, place: int, shard: int, block: int) -> int:
    """How many blocks of the shard at `place` hold a real row."""
    return -(-min(max(count - place * shard, 0), shard) // block)


def tiles_per_dispatch(block: int, dim: int, devices: int, most: int) -> int:
    """Tiles of one compiled call on one device: bounded by the count, by the work, and by what there is (`most`)."""
    by_count = PAIRS_PER_DISPATCH // (devices * block**2)
    by_work = FLOPS_PER_DISPATCH // (2 * block**2 * max(dim, 64))
    return max(1, min(by_count, by_work, most))


def parts(schedule: Schedule, length: int) -> Iterator[Schedule]:
    """`schedule` in parts of one static length, so that all of them run in one compiled program."""
    for start in range(0, int(schedule.live.max()), length):
        tiles = schedule.tiles[:, start : start + length]
        short = length - tiles.shape[1]
        yield Schedule(np.pad(tiles, ((0, 0), (0, short), (0, 0))), np.clip(schedule.live - start, 0, length))
