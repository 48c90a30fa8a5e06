"""How randomness is derived: typed threefry keys from what a draw is for, never from an index in an ensemble."""

from __future__ import annotations

import hashlib

import jax
import jax.numpy as jnp
import numpy as np

PARAMETERS, DATA, TEST_DATA, VECTORS = 1, 2, 3, 4
"""What a stream is for; two streams of one seed never share a key."""

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def stream(seed: int, purpose: int, *sizes: int) -> jax.Array:
    """The key of one stream of randomness, a function of its arguments alone.

    Args:
        seed: 0 <= seed < 2^63.
        purpose: one of the constants of this module.
        sizes: whole numbers in [0, 2^32) that belong to the identity of the draw, such as n and m, or a digest.

    Returns:
        A typed threefry key, [].

    Example:
        >>> one, same, other = stream(0, DATA, 20), stream(0, DATA, 20), stream(0, DATA, 21)
        >>> bool(jnp.all(jax.random.key_data(one) == jax.random.key_data(same)))
        True
        >>> bool(jnp.all(jax.random.key_data(one) == jax.random.key_data(other)))
        False
    """
    return _fold(np.array([seed & 0xFFFFFFFF, seed >> 32, purpose, *sizes], np.uint32))


@jax.jit
def _fold(numbers: jax.Array) -> jax.Array:
    key = jax.random.key(numbers[0], impl="threefry2x32")
    for place in range(1, len(numbers)):
        key = jax.random.fold_in(key, numbers[place])
    return key


def digest(values: np.ndarray, label: str = "") -> tuple[int, int]:
    """Two 32-bit numbers that name an array of float32 and a label, for `stream`.

    Args:
        values: any shape; compared as float32.
        label: what else tells two draws apart.

    Example:
        >>> digest(np.ones(3)) == digest(np.ones(3, np.float32)) != digest(np.ones(3), "other")
        True
    """
    array = np.ascontiguousarray(values, "<f4")
    name = f"{array.shape}{label}".encode()
    found = hashlib.blake2b(name + array.tobytes(), digest_size=8).digest()
    return int.from_bytes(found[:4], "little"), int.from_bytes(found[4:], "little")


def words(key: jax.Array, number: int) -> tuple[jax.Array, jax.Array]:
    """Two independent words of 32 random bits for each of `number` places; a longer draw begins with a shorter one.

    Threefry-2x32 in 20 rounds of the counters (place, 0). Written out in full, XLA fuses it with whatever uses the
    bits, which on a CPU is several times faster than `jax.random.bits`.

    Args:
        key: typed threefry key, [].
        number: N >= 0.

    Returns:
        Two [N] uint32 arrays.

    Source:
        Salmon, Moraes, Dror and Shaw 2011, Parallel random numbers: as easy as 1, 2, 3.

    Example:
        >>> long, short = words(stream(0, DATA), 8)[0], words(stream(0, DATA), 3)[0]
        >>> bool(jnp.all(long[:3] == short))
        True
    """
    data = jax.random.key_data(key)
    place = jnp.arange(number, dtype=jnp.uint32)
    return _threefry(data[0], data[1], place, jnp.zeros_like(place))


def _threefry(key0: jax.Array, key1: jax.Array, x0: jax.Array, x1: jax.Array) -> tuple[jax.Array, jax.Array]:
    schedule = (key0, key1, key0 ^ key1 ^ np.uint32(_PARITY))
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))) ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


def unit_interval(bits: jax.Array) -> jax.Array:
    """Uniform float32 in [0, 1), the upper 24 of the 32 bits given."""
    return (bits >> np.uint32(8)).astype(jnp.float32) * np.float32(2.0**-24)


def below(bits: jax.Array, bound: int) -> jax.Array:
    """Uniform int32 in [0, bound) from 32 bits: the upper half of their 64-bit product with `bound`.

    The probabilities of two values differ by at most 2^-32.

    Args:
        bits: [...] uint32.
        bound: 1 <= bound < 2^31.

    Example:
        >>> below(jnp.array([0, 2**31, 2**32 - 1], jnp.uint32), 1000).tolist()
        [0, 500, 999]
    """
    high, low = bits >> np.uint32(16), bits & np.uint32(0xFFFF)
    bound_high, bound_low = np.uint32(bound >> 16), np.uint32(bound & 0xFFFF)
    middle = high * bound_low + (low * bound_low >> np.uint32(16))
    other = low * bound_high + (middle & np.uint32(0xFFFF))
    return (high * bound_high + (middle >> np.uint32(16)) + (other >> np.uint32(16))).astype(jnp.int32)
