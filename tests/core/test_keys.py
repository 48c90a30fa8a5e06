"""Randomness: threefry as JAX has it, streams that never meet, integers below a bound."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superjax.core import keys


def test_words_are_threefry_as_jax_has_it():
    from jax.extend.random import threefry_2x32

    key = keys.stream(7, keys.DATA, 3)
    counters = jnp.concatenate([jnp.arange(9, dtype=jnp.uint32), jnp.zeros(9, jnp.uint32)])
    expected = threefry_2x32(jax.random.key_data(key), counters)
    assert np.array_equal(jnp.concatenate(jax.jit(keys.words, static_argnums=1)(key, 9)), expected)


def test_streams_differ_by_every_part_of_their_identity():
    arguments = [
        (seed, purpose, *sizes)
        for seed in (0, 1, 2**32, 2**40 + 1)
        for purpose in (keys.PARAMETERS, keys.DATA, keys.TEST_DATA, keys.VECTORS)
        for sizes in ((), (1,), (1, 2), (2, 1))
    ]
    seen = [tuple(np.asarray(jax.random.key_data(keys.stream(*each)))) for each in arguments]
    assert len(set(seen)) == len(arguments)
    again = tuple(np.asarray(jax.random.key_data(keys.stream(*arguments[5]))))
    assert again == seen[5]


def test_streams_are_typed_threefry_keys():
    key = keys.stream(0, keys.DATA)
    assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    assert "fry" in str(key.dtype)


@pytest.mark.parametrize("bound", [1, 2, 1000, 65_535, 65_536, 70_001, 2**31 - 1])
def test_below_is_the_upper_half_of_the_exact_product(bound):
    bits = np.concatenate([np.arange(5), 2**32 - 1 - np.arange(5), np.random.default_rng(0).integers(2**32, size=500)])
    exact = [int(word) * bound >> 32 for word in bits]
    assert keys.below(jnp.asarray(bits, jnp.uint32), bound).tolist() == exact


def test_words_look_random():
    first, second = (np.asarray(bits) for bits in keys.words(keys.stream(0, keys.DATA), 200_000))
    for bits in (first, second):
        uniform = np.asarray(keys.unit_interval(jnp.asarray(bits)), np.float64)
        assert uniform.min() >= 0
        assert uniform.max() < 1
        assert abs(uniform.mean() - 0.5) < 0.003
        assert abs(uniform.var() - 1 / 12) < 0.001
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.01


def test_digest_tells_arrays_labels_and_shapes_apart():
    parts = itertools.product(
        [np.ones(4), np.ones((2, 2)), np.array([1, 1, 1, 1 + 2**-23])], ["uniform(0, 2)", "uniform(0, 1)"]
    )
    assert len({keys.digest(values, label) for values, label in parts}) == 6
    assert keys.digest(np.array([0.1, 0.2])) == keys.digest(np.array([0.1, 0.2], np.float32))
