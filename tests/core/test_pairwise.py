"""The tile engine against float64 NumPy: every V, block and device count; each pair once; exact counts; gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from superjax.core import mesh as meshes
from superjax.core.pairwise import _dispatch, reduce_pairs, reduce_pairs_in_ring, stream_pairs
from superjax.core.reducers import Extremes, Histogram, Moments, Nearest, Together
from superjax.core.schedule import fit_block, ring_regions, whole
from tests import oracles

DEVICES = [1, 2, 3, 8]


def mesh_of(devices):
    assert len(jax.devices()) == 8
    return meshes.row_mesh(jax.devices()[:devices])


def random_rows(rows, dim, seed=0):
    return oracles.unit(np.random.default_rng(seed).standard_normal((rows, dim))).astype(np.float32)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Partners:
    """For each row, how many rows it met and the sum of their indices: shows a pair met twice, never, or misplaced."""

    def empty(self):
        return jnp.int32(0)

    def merge(self, a, b, xp):
        return a + b

    def empty_rows(self, rows, like):
        return jnp.zeros((rows, 2), jnp.int32)

    def merge_rows(self, a, b):
        return a + b

    def tile(self, tile):
        def met(mask, names):
            return jnp.stack([mask.sum(1, dtype=jnp.int32), jnp.where(mask, names[None, :], 0).sum(1)], axis=1)

        return tile.mask.sum(dtype=jnp.int32), met(tile.mask, tile.cols), met(tile.mask.T, tile.rows)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FrameEnergy:
    """Value and gradient of sum over pairs of (x_i . x_j)^4 * scale: the shape of packing's reducer."""

    scale: jax.Array

    def empty(self):
        return jnp.float32(0)

    def merge(self, a, b, xp):
        return a + b

    def empty_rows(self, rows, like):
        return jnp.zeros((rows, like.shape[1]), jnp.float32)

    def merge_rows(self, a, b):
        return a + b

    def tile(self, tile):
        gram = jnp.where(tile.mask, tile.gram, 0)
        slope = 4 * self.scale * gram**3
        product = partial(jnp.matmul, precision="highest")
        return self.scale * jnp.sum(gram**4), product(slope, tile.right), product(slope.T, tile.left)


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize(
    ("rows", "block"), [(0, 4), (1, 4), (2, 1), (5, 1), (5, 2), (12, 4), (37, 5), (37, 100), (64, 16)]
)
def test_every_pair_is_met_exactly_once(devices, rows, block):
    total, met = stream_pairs(random_rows(rows, 3), Partners(), mesh=mesh_of(devices), block=block)
    everyone = np.arange(rows)
    assert total == rows * (rows - 1) // 2
    np.testing.assert_array_equal(met[:, 0], rows - 1)
    np.testing.assert_array_equal(met[:, 1], everyone.sum() - everyone)


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("block", [1, 12, 25, 500])
def test_histogram_extremes_and_moments_match_numpy(devices, block):
    rows, bins = (48, 50) if block == 1 else (204, 200)
    x = random_rows(rows, 7)
    reducer = Together((Histogram(bins), Extremes(), Moments(), Moments(absolute=True)))
    (counts, ends, plain, absolute), values = stream_pairs(x, reducer, mesh=mesh_of(devices), block=block)
    products = oracles.pair_products(x)
    assert counts.dtype == np.int64
    oracles.assert_counts_match(counts, products, bins)
    assert ends.smallest == pytest.approx(products.min(), abs=1e-6)
    assert ends.largest == pytest.approx(products.max(), abs=1e-6)
    for found, expected in ((plain, products), (absolute, np.abs(products))):
        assert found.pairs == len(products)
        assert found.mean == pytest.approx(expected.mean(), abs=1e-6)
        assert found.squares == pytest.approx(((expected - expected.mean()) ** 2).sum(), rel=1e-5)
    assert values == ((), (), (), ())


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize(("rows", "number"), [(3, 2), (3, 5), (61, 1), (61, 4)])
def test_nearest_rows_match_numpy(devices, rows, number):
    x = random_rows(rows, 6, seed=1)
    _, nearest = stream_pairs(x, Nearest(number), mesh=mesh_of(devices), block=7)
    there = min(number, rows - 1)
    expected = oracles.nearest(x, there)
    np.testing.assert_array_equal(nearest.row[:, :there], expected)
    np.testing.assert_array_equal(nearest.row[:, there:], -1)
    cosines = np.take_along_axis(x.astype(np.float64) @ x.T.astype(np.float64), expected, axis=1)
    np.testing.assert_allclose(nearest.value[:, :there], cosines, atol=1e-6)


def test_equal_neighbours_come_in_row_order_on_any_tiling():
    x = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    for devices, block in ((1, 12), (1, 5), (3, 2), (8, 1)):
        _, nearest = stream_pairs(x, Nearest(3), mesh=mesh_of(devices), block=block)
        np.testing.assert_array_equal(nearest.row, oracles.nearest(x, 3))


@pytest.mark.parametrize("devices", DEVICES)
def test_a_value_and_gradient_reducer_needs_no_second_engine(devices):
    x = random_rows(45, 9, seed=2)
    energy = FrameEnergy(jnp.float32(0.5))
    wide = x.astype(np.float64)
    gram = wide @ wide.T
    np.fill_diagonal(gram, 0)
    value, gradient = 0.25 * (gram**4).sum(), 2.0 * gram**3 @ wide

    streamed = stream_pairs(x, energy, mesh=mesh_of(devices), block=8)
    block = 4
    padded = meshes.pad_rows(x, devices * block)
    body = partial(reduce_pairs_in_ring, reducer=energy, devices=devices, count=len(x), block=block)
    mesh = mesh_of(devices)
    in_ring = jax.jit(meshes.over_rows(lambda x: jax.tree.map(jnp.atleast_1d, body(x)), mesh))
    totals, rows = in_ring(meshes.shard_rows(padded, mesh))
    np.testing.assert_allclose(totals, np.full(devices, value), rtol=1e-5)
    for found in (streamed[1], np.asarray(rows)[: len(x)]):
        np.testing.assert_allclose(found, gradient, atol=2e-6)
    assert streamed[0] == pytest.approx(value, rel=1e-5)


def test_the_kernel_composes_with_jit_vmap_and_scan_and_agrees_with_autodiff():
    batch = jnp.asarray(np.stack([random_rows(24, 5, seed) for seed in range(3)]))
    energy = FrameEnergy(jnp.float32(1.0))

    def dense(x):
        gram = jnp.matmul(x, x.T, precision="highest")
        return jnp.sum(jnp.triu(gram, 1) ** 4)

    values, gradients = jax.jit(jax.vmap(lambda x: reduce_pairs(x, energy, block=6)))(batch)
    np.testing.assert_allclose(values, jax.vmap(dense)(batch), rtol=1e-5)
    np.testing.assert_allclose(gradients, jax.vmap(jax.grad(dense))(batch), atol=1e-5)

    def descend(x, _):
        return x - 0.01 * reduce_pairs(x, energy, block=6)[1], reduce_pairs(x, energy, block=6)[0]

    _, history = jax.lax.scan(descend, batch[0], None, length=5)
    assert np.all(np.diff(history) < 0)


def test_padding_is_refused_where_the_caller_must_pad():
    with pytest.raises(ValueError, match="7 rows do not divide by block 2"):
        reduce_pairs(jnp.zeros((7, 2)), Extremes(), block=2)
    counts, _ = reduce_pairs(jnp.ones((8, 1)), Histogram(2), block=2, count=7)
    assert counts.tolist() == [0, 21]


@pytest.mark.parametrize("rows", [5794, 65537])
def test_counts_pass_2_to_24_and_2_to_31_exactly(rows):
    # 5794 rows have more than 2^24 pairs, where float32 stops counting; 65537 more than 2^31, where int32 wraps.
    x = np.tile(np.float32([[0.6, 0.8]]), (rows, 1))
    counts, _ = stream_pairs(x, Histogram(10), mesh=mesh_of(2), block=2048)
    assert counts.tolist() == [0] * 9 + [rows * (rows - 1) // 2]


def test_values_on_edges_and_outside_land_in_closed_end_bins():
    x = np.float32([[1, 0], [1, 1e-4], [-1, 0], [0, 1], [1.0000001, 0]])
    for block in (1, 2, 5):
        counts, _ = stream_pairs(x, Histogram(4), block=block)
        assert counts.tolist() == oracles.histogram(oracles.pair_products(x), 4).tolist()


def test_counts_are_bitwise_repeatable_and_independent_of_tiles_and_devices():
    x = random_rows(301, 16, seed=3)
    products = oracles.pair_products(x)
    reference, _ = stream_pairs(x, Histogram(500), mesh=mesh_of(1), block=301)
    again, _ = stream_pairs(x, Histogram(500), mesh=mesh_of(1), block=301)
    np.testing.assert_array_equal(reference, again)
    for devices in DEVICES:
        for block in (7, 64, 301):
            counts, _ = stream_pairs(x, Histogram(500), mesh=mesh_of(devices), block=block)
            oracles.assert_counts_match(counts, products, 500)


@pytest.mark.parametrize("method", ["_by_scatter", "_by_spread_scatter", "_by_one_hot_product"])
def test_each_platforms_counting_gives_the_same_counts(method):
    histogram = Histogram(130)
    place = np.random.default_rng(0).integers(0, 131, size=(70, 33)).astype(np.int32)
    counts = getattr(histogram, method)(jnp.asarray(place))
    np.testing.assert_array_equal(counts, np.bincount(place.ravel(), minlength=131))


def _equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from _equations(inner)


def test_the_gram_product_states_highest_precision_unless_told_otherwise():
    def precisions(**settings):
        jaxpr = jax.make_jaxpr(partial(reduce_pairs, reducer=Extremes(), block=8, **settings))(jnp.zeros((16, 4)))
        return [e.params["precision"] for e in _equations(jaxpr.jaxpr) if e.primitive.name == "dot_general"]

    assert precisions() == [(jax.lax.Precision.HIGHEST,) * 2]
    assert precisions(precision="default") == [(jax.lax.Precision.DEFAULT,) * 2]


def test_nothing_larger_than_the_rows_or_a_tile_exists():
    rows, dim, block = 4096, 4, 64
    reducer = Together((Histogram(10), Nearest(2)))
    jaxpr = jax.make_jaxpr(partial(reduce_pairs, reducer=reducer, block=block))(jnp.zeros((rows, dim)))
    sizes = [np.prod(v.aval.shape, dtype=int) for e in _equations(jaxpr.jaxpr) for v in e.outvars]
    tiles = (rows // block) * (rows // block + 1) // 2
    assert max(sizes) <= max(rows * dim, 4 * block**2, 2 * tiles)


def test_the_compiled_ring_moves_one_shard_and_gathers_no_rows():
    rows, dim, block = 8 * 256, 32, 64
    mesh = mesh_of(8)
    x = meshes.shard_rows(random_rows(rows, dim), mesh)
    regions = ring_regions(rows, rows // 8, 8, block)[1]
    schedule = jax.tree.map(lambda leaf: meshes.shard_rows(leaf, mesh), whole(regions))
    place = meshes.replicate((np.int32(1), np.int32(rows)), mesh)
    text = (
        _dispatch.lower(
            (x, x, schedule),
            ((), ()),
            Histogram(100),
            place,
            mesh=mesh,
            block=block,
            precision=jax.lax.Precision.HIGHEST,
        )
        .compile()
        .as_text()
    )
    gathered = [line for line in text.splitlines() if " all-gather" in line or " all-reduce" in line]
    assert gathered, "the totals of all devices are merged by a collective"
    assert not any(f",{dim}]" in line or f"[{rows}" in line for line in gathered)
    ring = jax.jit(
        meshes.over_rows(lambda x: reduce_pairs_in_ring(x, Nearest(1), devices=8, count=rows, block=block)[1], mesh)
    )
    text = ring.lower(x).compile().as_text()
    assert "collective-permute" in text
    assert f"f32[{rows},{dim}]" not in text


def test_sharding_of_results_is_by_rows():
    mesh = mesh_of(8)
    x = meshes.shard_rows(random_rows(64, 4), mesh)
    ring = jax.jit(
        meshes.over_rows(lambda x: reduce_pairs_in_ring(x, Nearest(1), devices=8, count=64, block=8)[1], mesh)
    )
    assert {shard.data.shape for shard in ring(x).row.addressable_shards} == {(8, 1)}


def test_progress_counts_up_to_all_tiles():
    seen = []
    stream_pairs(random_rows(100, 4), Extremes(), mesh=mesh_of(3), block=10, on_progress=lambda *at: seen.append(at))
    done, in_all = zip(*seen, strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == in_all[-1] > 0


@pytest.mark.parametrize(
    ("block", "count", "devices", "expected"), [(7, 100, 1, 7), (7, 3, 1, 3), (7, 10, 8, 2), (None, 40, 1, 40)]
)
def test_block_fits_the_shard(block, count, devices, expected):
    assert fit_block(block, count, mesh_of(devices)) == expected


def test_a_block_of_nothing_is_refused():
    with pytest.raises(ValueError, match="block is 0"):
        stream_pairs(np.ones((3, 2), np.float32), Extremes(), block=0)


def test_jit_agrees_with_eager_above_32k_rows():
    # jax 0.10.2 returned wrong values here (jax-ml/jax#39103).
    x = jnp.asarray(np.random.default_rng(0).standard_normal((32769, 3)), jnp.float32)
    matrix = jnp.asarray(np.random.default_rng(1).standard_normal((3, 3)), jnp.float32)

    def each(row):
        return jnp.sum(jnp.matmul(matrix, row, precision="highest") ** 2)

    exact = ((np.asarray(x, np.float64) @ np.asarray(matrix, np.float64).T) ** 2).sum(1)
    np.testing.assert_allclose(jax.jit(jax.vmap(each))(x), exact, rtol=1e-4)
    np.testing.assert_allclose(jax.vmap(each)(x), exact, rtol=1e-4)
