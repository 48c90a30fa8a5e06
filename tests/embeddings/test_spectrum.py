"""The spectrum against float64 NumPy: moments, counts, left-out rows, centring, neighbours, dtypes, bad options."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from superjax.core.errors import InputError
from superjax.embeddings.moments import MomentSums, moments_of_few
from superjax.embeddings.partners import partner_cosines
from superjax.embeddings.rows import ROWS_PER_BLOCK, count_duplicates, unit_rows
from superjax.embeddings.spectrum import cosine_spectrum
from tests import oracles


def gaussian(rows, dim, seed=0, mean=0.0):
    return np.random.default_rng(seed).standard_normal((rows, dim)) + mean


def spread(rows, size):
    """e1 plus noise: cosines near 1 with a tiny spread, where mean^2 - mean(squares) cancels."""
    return np.eye(30)[0] + size * gaussian(rows, 30)


@pytest.mark.parametrize(
    "x",
    [
        gaussian(700, 40),
        gaussian(3000, 40, mean=1.0),
        gaussian(3000, 300),
        spread(3000, 1e-4),
        np.sort(gaussian(2500, 5), axis=0),
        np.repeat(np.eye(8), 300, axis=0),
        gaussian(2, 500),
        gaussian(3, 2),
    ],
)
def test_moments_match_float64_pairs(x):
    products = oracles.pair_products(oracles.unit(x))
    found = unit_rows(x).moments
    scale = max(abs(products.mean()), products.std())
    assert found.pairs == len(products)
    assert abs(found.mean - products.mean()) < 1e-9 * scale
    assert abs(found.std - products.std()) < 1e-6 * scale
    assert found.mean_sq_overlap == pytest.approx((products**2).mean(), rel=1e-9)


def test_the_spread_survives_a_mean_ten_million_times_larger():
    x = spread(3000, 1e-4)
    products = oracles.pair_products(oracles.unit(x))
    assert products.mean() / products.std() > 1e7
    assert unit_rows(x).moments.std == pytest.approx(products.std(), rel=1e-6)


@pytest.mark.parametrize("centre", [0.0, 0.3, -5.0])
def test_any_centre_gives_the_moments(centre):
    unit = oracles.unit(gaussian(500, 20, mean=0.5))
    sums = MomentSums(np.full(20, centre))
    for part in np.array_split(unit, 7):
        sums.add(part)
    found, expected = sums.result(), moments_of_few(unit)
    assert found.mean == pytest.approx(expected.mean, rel=1e-10)
    assert found.std == pytest.approx(expected.std, rel=1e-8)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(rows):
    spectrum = cosine_spectrum(gaussian(rows, 5), bins=10)
    assert spectrum.pairs == spectrum.counts.sum() == rows * (rows - 1) // 2
    assert np.isnan(spectrum.epsilon) == (rows < 2)
    assert (spectrum.min_cosine is None) == (rows < 2)


def test_counts_and_summary_of_a_whole_spectrum():
    x = gaussian(1500, 24, mean=0.2).astype(np.float32)
    spectrum = cosine_spectrum(x, bins=300)
    products = oracles.pair_products(oracles.unit(x))
    oracles.assert_counts_match(spectrum.counts, products, 300)
    assert spectrum.counts.dtype == np.int64
    assert spectrum.epsilon == pytest.approx(products.mean() + 2 * products.std(), rel=1e-9)
    assert spectrum.min_cosine == pytest.approx(products.min(), abs=1e-6)
    assert spectrum.max_cosine == pytest.approx(products.max(), abs=1e-6)
    np.testing.assert_allclose(spectrum.norms, np.linalg.norm(x.astype(np.float64), axis=1), rtol=1e-12)
    shares = np.array([0.001, 0.25, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(spectrum.quantile(shares), np.quantile(products, shares), atol=2 / 300)
    assert spectrum.quantile(0) <= products.min() + 2 / 300
    assert spectrum.quantile(1) >= products.max() - 2 / 300


def test_without_bins_only_the_moments_are_computed():
    x = gaussian(600, 10)
    seen = []
    quick = cosine_spectrum(x, bins=0, on_progress=lambda *at: seen.append(at))
    whole = cosine_spectrum(x, bins=10)
    assert quick.moments == whole.moments
    assert (len(quick.counts), quick.min_cosine, seen) == (0, None, [])
    with pytest.raises(InputError, match="no histogram"):
        quick.quantile(0.5)


def test_zero_and_nonfinite_rows_are_left_out_and_counted():
    x = gaussian(40, 6).astype(np.float32)
    x[3] = x[17] = 0
    x[5, 2], x[9, 0], x[11, 1] = np.nan, np.inf, -np.inf
    spectrum = cosine_spectrum(x, bins=50, neighbors=2)
    usable = np.delete(np.arange(40), [3, 17, 5, 9, 11])
    products = oracles.pair_products(oracles.unit(x[usable]))
    assert (spectrum.rows.vocab, spectrum.rows.used) == (40, 35)
    assert (spectrum.rows.zero, spectrum.rows.nonfinite, spectrum.rows.duplicate) == (2, 3, 1)
    oracles.assert_counts_match(spectrum.counts, products, 50)
    assert spectrum.mean == pytest.approx(products.mean(), rel=1e-9)
    assert spectrum.rows.norm_min == 0
    lengths = np.linalg.norm(np.delete(x, [5, 9, 11], axis=0).astype(np.float64), axis=1)
    assert spectrum.rows.norm_mean == pytest.approx(lengths.mean())
    assert spectrum.rows.norm_std == pytest.approx(lengths.std())
    np.testing.assert_array_equal(spectrum.neighbors.index[usable], usable[oracles.nearest(oracles.unit(x[usable]), 2)])
    assert np.all(spectrum.neighbors.index[[3, 17, 5, 9, 11]] == -1)
    assert np.all(np.isnan(spectrum.neighbors.cosine[[3, 5]]))


def test_two_zero_rows_alone_make_no_pair():
    x = np.zeros((2, 4), np.float32)
    spectrum = cosine_spectrum(x, bins=4)
    assert (spectrum.pairs, spectrum.rows.zero, int(spectrum.counts.sum())) == (0, 2, 0)


def test_padding_rows_show_as_duplicates_and_vocab_limit_drops_them():
    x = np.concatenate([gaussian(100, 8), np.ones((28, 8))]).astype(np.float32)
    padded = cosine_spectrum(x, bins=100)
    assert padded.counts[-1] >= 378
    assert padded.rows.duplicate == 27
    limited = cosine_spectrum(x, bins=100, vocab_limit=100)
    np.testing.assert_array_equal(limited.counts, cosine_spectrum(x[:100], bins=100).counts)
    assert limited.rows.duplicate == 0


def test_duplicates_are_exact_and_signed_zeros_are_equal():
    x = gaussian(3000, 3)
    x[100] = x[7]
    x[2999] = x[7]
    x[50] = np.nextafter(x[51], np.inf)
    assert count_duplicates(x) == 2
    assert count_duplicates(np.float32([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])) == 1
    assert count_duplicates(np.zeros((0, 3))) == 0
    assert count_duplicates(np.ones((5000, 2), np.float16)) == 4999


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_every_floating_dtype_is_upcast_before_it_is_squared(dtype):
    # 300^2 overflows float16, and 1e-4 squared underflows in it.
    x = (gaussian(60, 5) * np.where(np.arange(60) % 2, 300.0, 1e-4)[:, None]).astype(dtype)
    products = oracles.pair_products(oracles.unit(x))
    spectrum = cosine_spectrum(x, bins=40)
    assert spectrum.rows.used == 60
    assert spectrum.mean == pytest.approx(products.mean(), rel=1e-9)
    oracles.assert_counts_match(spectrum.counts, products, 40)


def test_lengths_neither_overflow_nor_underflow_in_float64():
    x = np.array([[3e200, 4e200], [3e-200, 4e-200], [1.0, 0.0]])
    rows = unit_rows(x)
    assert rows.report.used == 3
    np.testing.assert_allclose(rows.norms, [5e200, 5e-200, 1.0])
    np.testing.assert_allclose(rows.unit[:2], [[0.6, 0.8]] * 2, rtol=1e-6)


def test_centring_removes_the_common_direction_and_is_labelled():
    x = gaussian(800, 30, mean=3.0).astype(np.float32)
    raw, centred = cosine_spectrum(x, bins=20), cosine_spectrum(x, bins=20, center=True)
    wide = x.astype(np.float64)
    products = oracles.pair_products(oracles.unit(wide - wide.mean(0)))
    assert (raw.centered, centred.centered) == (False, True)
    assert raw.mean > 0.8
    assert centred.mean == pytest.approx(products.mean(), abs=1e-9)
    assert centred.std == pytest.approx(products.std(), rel=1e-9)
    oracles.assert_counts_match(centred.counts, products, 20)
    # Row lengths are those of the rows as given.
    np.testing.assert_allclose(centred.norms, raw.norms)


def test_a_row_equal_to_the_mean_is_zero_after_centring():
    x = np.tile(np.float32([[0.1, 0.7, 0.3]]), (2000, 1))
    spectrum = cosine_spectrum(x, bins=10, center=True)
    assert (spectrum.rows.zero, spectrum.pairs) == (2000, 0)
    mixed = cosine_spectrum(np.float32([[1, 0], [-1, 0], [0, 0.0], [0, 0]]), bins=2, center=True)
    assert (mixed.rows.zero, mixed.pairs) == (2, 1)


def test_neighbours_and_hubs():
    x = gaussian(400, 12)
    found = cosine_spectrum(x, bins=0, neighbors=3).neighbors
    expected = oracles.nearest(oracles.unit(x), 3)
    np.testing.assert_array_equal(found.index, expected)
    np.testing.assert_array_equal(found.hubness, np.bincount(expected[:, 0], minlength=400))
    hubs = found.hubs(5)
    assert found.hubness[hubs].tolist() == sorted(found.hubness, reverse=True)[:5]


def test_no_more_neighbours_are_found_than_there_are_rows():
    x = gaussian(5, 4)
    found = cosine_spectrum(x, bins=0, neighbors=1000).neighbors
    assert found.index.shape == (5, 4)
    np.testing.assert_array_equal(found.index, oracles.nearest(oracles.unit(x), 4))
    limited = cosine_spectrum(x, bins=0, neighbors=1000, vocab_limit=3).neighbors
    np.testing.assert_array_equal(limited.index, oracles.nearest(oracles.unit(x[:3]), 2))


def test_the_mean_row_is_that_of_the_finite_rows():
    x = gaussian(60, 5, mean=2.0)
    x[4], x[9] = np.nan, np.inf
    finite = np.delete(x, [4, 9], axis=0)
    products = oracles.pair_products(oracles.unit(finite - finite.mean(0)))
    centred = cosine_spectrum(x, bins=10, center=True)
    assert (centred.rows.nonfinite, centred.pairs) == (2, len(products))
    assert centred.mean == pytest.approx(products.mean(), abs=1e-12)


@pytest.mark.parametrize(("rows", "dim"), [(1500, 2000), (1024, 3), (1025, 3), (2100, 2100)])
def test_rows_fewer_than_their_width_need_no_d_by_d_sums(rows, dim, monkeypatch):
    def refuse(centre):
        raise AssertionError("V d^2 sums were begun")

    if rows != 1025:
        monkeypatch.setattr("superjax.embeddings.rows.MomentSums", refuse)
    x = gaussian(rows, dim, mean=0.2)
    products = oracles.pair_products(oracles.unit(x))
    found = unit_rows(x).moments
    assert found.pairs == len(products)
    assert found.mean == pytest.approx(products.mean(), rel=1e-9)
    assert found.std == pytest.approx(products.std(), rel=1e-9)


def test_extremes_and_neighbours_never_leave_the_unit_interval():
    """Float32 products of equal unit rows exceed 1 for many directions."""
    x = np.repeat(gaussian(300, 70), 2, axis=0) * np.tile([1.0, -1.0], 300)[:, None]
    x = np.concatenate([x, x[::2]])
    unit = unit_rows(x).unit
    assert np.einsum("vd,vd->v", unit, unit).max() > 1
    spectrum = cosine_spectrum(x, bins=4, neighbors=1)
    assert spectrum.max_cosine <= 1
    assert spectrum.min_cosine >= -1
    assert np.nanmax(spectrum.neighbors.cosine) <= 1
    assert (spectrum.max_cosine, spectrum.min_cosine) == pytest.approx((1, -1), abs=1e-6)


def test_partner_cosines():
    x, y = gaussian(1500, 6), gaussian(1400, 6, seed=1)
    x[3], y[5] = 0, np.nan
    found = partner_cosines(x, y)
    with np.errstate(invalid="ignore"):
        expected = (x[:1400] * y).sum(1) / np.linalg.norm(x[:1400], axis=1) / np.linalg.norm(y, axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.flatnonzero(np.isnan(found)).tolist() == [3, 5]
    with pytest.raises(InputError, match="6 elements and the output rows 5"):
        partner_cosines(x, y[:, :5])


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (np.ones(3), {}, r"shape \[3\], expected \[V, d\]"),
        (np.ones((3, 0)), {}, "no elements"),
        (np.ones((3, 2), complex), {}, "complex128"),
        (np.array([["a"]]), {}, "not real numbers"),
        (np.ones((3, 2)), {"bins": -1}, "bins is -1"),
        (np.ones((3, 2)), {"neighbors": -2}, "neighbors is -2"),
        (np.ones((3, 2)), {"block": 0}, "block is 0"),
        (np.ones((3, 2)), {"vocab_limit": 4}, "matrix has 3 rows"),
        (np.ones((3, 2)), {"vocab_limit": 0}, "vocab_limit is 0"),
    ],
)
def test_bad_input_names_cause_and_remedy(x, options, message):
    with pytest.raises(InputError, match=message) as caught:
        cosine_spectrum(x, **options)
    assert "\n" not in str(caught.value)


def test_more_than_one_block_of_rows_is_used_here():
    assert ROWS_PER_BLOCK < 1500, "the tests above mean to cross a block's edge"
