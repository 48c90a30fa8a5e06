"""The schedule of tiles: lists of bounded size for any V and block, and bounded work and counts in one call."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from superjax.core.schedule import (
    FLOPS_PER_DISPATCH,
    PAIRS_PER_DISPATCH,
    TILES_PER_DISPATCH,
    Region,
    longest,
    parts,
    ring_regions,
    tiles_per_dispatch,
    whole,
)


def written_out(region):
    return [[i, j] for i in region.left for j in region.right if i <= j or not region.upper]


@pytest.mark.parametrize(
    "region",
    [
        Region(range(5), range(5), upper=True),
        Region(range(4), range(7), upper=False),
        Region(range(3), range(4, 7), upper=False),
        Region(range(0), range(0), upper=True),
        Region(range(3), range(0), upper=False),
        Region(range(1), range(1), upper=True),
    ],
)
def test_a_region_lists_its_tiles_from_anywhere(region):
    expected = written_out(region)
    assert region.size == len(expected)
    for start in range(len(expected) + 1):
        assert region.tiles(start, start + 3).tolist() == expected[start : start + 3]


@pytest.mark.parametrize("devices", [1, 2, 3, 4, 8])
def test_parts_together_are_the_whole_step(devices):
    for regions in ring_regions(count=41, shard=-(-41 // devices), devices=devices, block=3):
        every = whole(regions)
        for length in (1, 4, 1000):
            pieces = list(parts(regions, length))
            assert {piece.tiles.shape[1] for piece in pieces} == ({length} if longest(regions) else set())
            for place in range(devices):
                joined = [tile for piece in pieces for tile in piece.tiles[place, : piece.live[place]].tolist()]
                assert joined == every.tiles[place, : every.live[place]].tolist() == written_out(regions[place])


@pytest.mark.parametrize("block", [1, 7, 100, 1024, 4096, 46340])
@pytest.mark.parametrize("dim", [1, 64, 4096])
@pytest.mark.parametrize("devices", [1, 8, 512])
def test_one_call_is_bounded_in_pairs_work_and_list(block, dim, devices):
    block = min(block, int((PAIRS_PER_DISPATCH / devices) ** 0.5))
    tiles = tiles_per_dispatch(block, dim, devices, most=10**12)
    assert tiles * block**2 * devices <= PAIRS_PER_DISPATCH == np.iinfo(np.int32).max
    assert tiles <= TILES_PER_DISPATCH
    assert tiles == 1 or tiles * 2 * block**2 * dim <= FLOPS_PER_DISPATCH
    assert tiles_per_dispatch(block, dim, devices, most=1) == 1


def test_ten_billion_tiles_are_listed_in_parts_within_little_memory():
    # 150,000 rows in blocks of one: a list of all tiles would take 90 GB.
    program = (
        "import itertools, resource; from superjax.core.schedule import *;"
        "resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30,) * 2);"
        "regions = ring_regions(150_000, 150_000, 1, 1)[0];"
        "length = tiles_per_dispatch(1, 64, 1, longest(regions));"
        "pieces = list(itertools.islice(parts(regions, length), 3));"
        "print(regions[0].size, pieces[-1].tiles[0, -1].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    last = 3 * TILES_PER_DISPATCH - 1
    row = next(r for r in range(150_000) if (r + 1) * 150_000 - r * (r + 1) // 2 > last)
    column = last - (row * 150_000 - row * (row - 1) // 2) + row
    assert done.stdout.split("\n")[0] == f"{150_000 * 150_001 // 2} [{row}, {column}]"
