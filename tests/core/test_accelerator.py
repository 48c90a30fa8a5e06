"""On a GPU or TPU: products are float32, and counts agree with the CPU's. Run with -m gpu."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from superjax.core import mesh as meshes
from superjax.core.pairwise import stream_pairs
from superjax.core.reducers import Extremes, Histogram
from tests import oracles

pytestmark = pytest.mark.gpu


@pytest.fixture
def accelerator():
    device = jax.devices()[0]
    if device.platform == "cpu":
        pytest.skip("no accelerator here; run on one with: ./scripts/test.sh -m gpu")
    return meshes.row_mesh([device])


def test_a_row_times_itself_is_one_to_float32(accelerator):
    # TF32 and bfloat16 products are off by 1e-3.
    x = oracles.unit(np.random.default_rng(0).standard_normal((512, 768))).astype(np.float32)
    twice = np.concatenate([x, x])
    ends, _ = stream_pairs(twice, Extremes(), mesh=accelerator, block=256)
    assert abs(ends.largest - 1) < 1e-6


def test_counts_agree_with_the_cpu_and_repeat_bitwise(accelerator):
    x = oracles.unit(np.random.default_rng(0).standard_normal((3000, 256))).astype(np.float32)
    counts, _ = stream_pairs(x, Histogram(2000), mesh=accelerator)
    again, _ = stream_pairs(x, Histogram(2000), mesh=accelerator)
    np.testing.assert_array_equal(counts, again)
    oracles.assert_counts_match(counts, oracles.pair_products(x), 2000)
    cpu, _ = stream_pairs(x, Histogram(2000), mesh=meshes.row_mesh(jax.devices("cpu")[:1]))
    assert np.abs(counts - cpu).sum() < 1e-4 * counts.sum()
