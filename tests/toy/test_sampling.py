"""The sparse draw against the dense one and against the law itself: independent Bernoulli(p_i), uniform values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from superjax.core import keys
from superjax.toy import activation_probabilities, sampling

BATCH = 512
DRAWS = 60


def _events(p, batch, draws, seed=0, extra_slots=0):
    """[draws, batch, n] samples of the event sampler, as NumPy."""
    table = sampling.event_table(p, batch, 2.0)
    slots = table.slots + extra_slots

    def draw(index):
        key = jax.random.fold_in(keys.stream(seed, keys.DATA), index)
        return sampling.to_dense(sampling.draw_events(key, table, batch, slots), batch, len(p))

    return np.asarray(jax.jit(lambda: jax.lax.map(draw, jnp.arange(draws)))())


def _dense(p, batch, draws, seed=0):
    table = sampling.dense_table(p, 2.0)

    def draw(index):
        return sampling.draw_dense(jax.random.fold_in(keys.stream(seed, keys.DATA), index), table, batch)

    return np.asarray(jax.jit(lambda: jax.lax.map(draw, jnp.arange(draws)))())


LAWS = {
    "power law at density 1": activation_probabilities("power", 100, alpha=1.0),
    "steep power law": activation_probabilities("power", 70, alpha=2.0),
    "two active features in a sample": activation_probabilities("power", 200, alpha=1.3, density=2.4),
    "even": activation_probabilities("uniform", 80, density=3.0),
    "some impossible": np.where(np.arange(90) % 3, 0.02, 0.0).astype(np.float32),
}


@pytest.mark.parametrize("draw", [_events, _dense])
@pytest.mark.parametrize("law", LAWS)
def test_marginals_pairs_counts_and_values_follow_the_law(draw, law):
    p = LAWS[law].astype(np.float64)
    x = draw(p, BATCH, DRAWS).reshape(-1, len(p))
    active = x > 0
    samples = len(x)

    # Marginals: every feature within 5 standard errors, and their chi^2 not too large.
    z = (active.mean(axis=0) - p) / np.sqrt(np.maximum(p * (1 - p), 1e-12) / samples)
    assert not active[:, p == 0].any()
    possible = (p > 0) & (p < 1)
    assert np.abs(z[possible]).max() < 5
    assert stats.chi2.sf((z[possible] ** 2).sum(), possible.sum()) > 1e-4

    # Pair correlations: of the frequent features, where they can be seen.
    often = np.argsort(-p)[:12]
    joint = (active[:, often].T.astype(float) @ active[:, often]) / samples
    expected = np.outer(p[often], p[often])
    error = np.sqrt(expected * (1 - expected) / samples)
    off = ~np.eye(12, dtype=bool)
    assert (np.abs(joint - expected)[off] < 5 * error[off] + 1e-12).all()

    # The number of active features is Poisson binomial.
    counts = np.bincount(active.sum(axis=1), minlength=len(p) + 1)
    law_of_count = _poisson_binomial(p)
    seen = law_of_count * samples > 8
    expected_counts = law_of_count[seen] * samples
    chi2 = ((counts[seen] - expected_counts) ** 2 / expected_counts).sum()
    assert stats.chi2.sf(chi2, seen.sum() - 1) > 1e-4

    # Values are uniform on (0, 2).
    assert stats.kstest(x[active][:20_000], stats.uniform(0, 2).cdf).pvalue > 1e-4


def _poisson_binomial(p):
    law = np.ones(1)
    for q in p:
        law = np.convolve(law, [1 - q, q])
    return law


def test_certain_features_are_always_active():
    p = np.array([1.0, 0.5, 1.0, 0.0], np.float32)
    x = _dense(p, 2000, 3)
    # A value of exactly zero is one of 2^24, and cannot be told from an inactive feature.
    assert (x[..., [0, 2]] > 0).mean() > 0.999
    assert not x[..., 3].any()
    assert not sampling.is_sparse(p)


@pytest.mark.parametrize(("p", "sparse"), [(0.001, True), (0.01, True), (0.05, False), (1.0, False)])
def test_events_are_drawn_where_they_are_few(p, sparse):
    assert sampling.is_sparse(np.full(500, p)) is sparse


def test_count_of_events_never_passes_the_slots_and_none_is_dropped():
    table = sampling.event_table(np.full(100, 0.01), 64, 2.0)
    largest = sampling._number_of_events(jnp.uint32(2**32 - 1), table)
    assert int(largest) == table.slots
    assert int(sampling._number_of_events(jnp.uint32(0), table)) == int(table.count_low)
    mean = 64 * 100 * -np.log1p(-0.01)
    # What the table leaves out, folded onto its last entry, is below half a unit of its words.
    assert stats.poisson.sf(table.slots - 1, mean) < 2.0**-32
    every_word = np.linspace(0, 2**32 - 1, 200_001).astype(np.uint32)
    drawn = np.array(jax.vmap(lambda word: sampling._number_of_events(word, table))(jnp.asarray(every_word)))
    assert abs(drawn.mean() - mean) < 0.01
    assert abs(drawn.var() - mean) < 0.1


def test_more_slots_change_no_sample():
    p = LAWS["power law at density 1"]
    assert np.array_equal(_events(p, 64, 5), _events(p, 64, 5, extra_slots=300))


def test_padded_tables_draw_the_same():
    small = sampling.event_table(np.full(100, 1e-4), 64, 2.0)
    large = sampling.event_table(np.full(100, 0.02), 64, 2.0)
    stacked = sampling.stack_tables([small, large])
    key = keys.stream(1, keys.DATA)
    alone = sampling.draw_events(key, small, 64, large.slots)
    among = sampling.draw_events(key, jax.tree.map(lambda leaf: leaf[0], stacked), 64, large.slots)
    assert all(np.array_equal(a, b) for a, b in zip(alone, among, strict=True))
    assert int(sampling._number_of_events(jnp.uint32(2**32 - 1), jax.tree.map(lambda t: t[0], stacked))) == small.slots


def test_entries_are_ordered_unique_and_filled_rows_come_first():
    p = activation_probabilities("power", 100, alpha=1.0, density=3.0)
    table = sampling.event_table(p, 256, 2.0)
    batch = sampling.draw_events(keys.stream(0, keys.DATA), table, 256, table.slots)
    used = np.asarray(batch.used) == 1
    pairs = list(zip(np.asarray(batch.row)[used], np.asarray(batch.feature)[used], strict=True))
    assert len(set(pairs)) == len(pairs) > 600
    assert set(np.asarray(batch.row)[used]) == set(range(int(batch.filled)))
    assert np.all(np.diff(np.asarray(batch.row)) >= 0)


def test_alias_tables_hold_the_weights():
    weights = np.array([0.0, 1e-9, 3.0, 0.5, 0.5, 1e-3])
    threshold, alias = sampling._alias_table(weights)
    keep = threshold / 2.0**32
    found = keep.copy()
    np.add.at(found, alias, 1 - keep)
    np.testing.assert_allclose(found / len(weights), weights / weights.sum(), atol=1e-9)
    assert found[0] == 0
