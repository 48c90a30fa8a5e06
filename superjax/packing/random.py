"""What chance gives: the best of many random draws, beside the exact law of their maximum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from superjax.core import keys, sphere
from superjax.core import mesh as meshes
from superjax.core.errors import InputError
from superjax.core.pairwise import Precision, reduce_pairs
from superjax.core.reducers import Extremes
from superjax.laws import max_coherence_cdf, max_coherence_mean
from superjax.packing.rows import layout

_WORK_A_CALL = 2**36  # multiply-adds of one compiled call: seconds on a CPU, so that progress moves


@dataclass(frozen=True)
class RandomDraws:
    """Coherences of random packings.

    Attributes:
        coherence: [T] float64, one a draw, in the order drawn.
        best: the smallest of them.
        expected_best: mean of the smallest of T by the law.
        expected_mean: mean of one by the law.
        deviation: largest difference between the draws' distribution function and the law's (Kolmogorov and Smirnov);
            about 1 / sqrt(T) where the law holds.
    """

    coherence: np.ndarray
    best: float
    expected_best: float
    expected_mean: float
    deviation: float


def best_random(
    k: int,
    d: int,
    draws: int = 1000,
    *,
    seed: int = 0,
    mesh: Mesh | None = None,
    precision: Precision = "highest",
    on_progress: Callable[[int, int], None] | None = None,
) -> RandomDraws:
    """Draw k random directions many times; no draw and no Gram matrix is kept.

    Args:
        k: number of vectors >= 2.
        d: dimension >= 2.
        draws: T >= 1.
        seed: of the draws, which do not depend on the devices.
        mesh: the devices, over which draws are spread; the first local one by default.
        precision: of the Gram products.
        on_progress: called with (draws done, draws).

    Raises:
        InputError: a size out of range.

    Source:
        The law is that of :func:`superjax.laws.max_coherence_cdf`.

    Example:
        >>> found = best_random(20, 4, draws=50)
        >>> bool(found.best == found.coherence.min()), len(found.coherence)
        (True, 50)
    """
    for name, number, least in (("k", k, 2), ("d", d, 2), ("draws", draws, 1)):
        if number < least:
            raise InputError(f"{name}: {number} is too small; give a whole number from {least} on")
    mesh = meshes.single_device_mesh() if mesh is None else mesh
    block = layout(k, meshes.row_mesh(list(mesh.devices.flat[:1]))).block
    together = mesh.size * max(1, min(_WORK_A_CALL // (k * k * d), -(-draws // mesh.size)))
    found: list[np.ndarray] = []
    for first in range(0, draws, together):
        numbers = np.arange(first, first + together, dtype=np.uint32)
        call = partial(_coherences, k=k, d=d, block=block, mesh=mesh, precision=jax.lax.Precision(precision))
        found.append(meshes.to_host(call(meshes.shard_rows(numbers, mesh), np.uint32(seed))))
        if on_progress is not None:
            on_progress(min(first + together, draws), draws)
    coherence = np.concatenate(found)[:draws].astype(np.float64)
    return RandomDraws(
        coherence=coherence,
        best=float(coherence.min()),
        expected_best=float(max_coherence_mean(k, d, draws)),
        expected_mean=float(max_coherence_mean(k, d)),
        deviation=_deviation(coherence, k, d),
    )


@partial(jax.jit, static_argnames=("k", "d", "block", "mesh", "precision"))
def _coherences(
    numbers: jax.Array, seed: jax.Array, *, k: int, d: int, block: int, mesh: Mesh, precision: jax.lax.Precision
) -> jax.Array:
    """The coherence of every numbered draw, [T]."""
    padded = -(-k // block) * block

    def one(seed: jax.Array, number: jax.Array) -> jax.Array:
        key = jax.random.fold_in(jax.random.fold_in(keys.stream(0, keys.VECTORS, k, d), seed), number)
        x = jnp.pad(sphere.uniform(key, k, d), ((0, padded - k), (0, 0)))
        ends, _ = reduce_pairs(x, Extremes(), block=block, count=k, precision=precision)
        return jnp.maximum(ends.largest, -ends.smallest)

    def body(numbers: jax.Array, seed: jax.Array) -> jax.Array:
        return jax.lax.map(partial(one, seed), numbers)

    return meshes.over_rows(body, mesh, replicated_args=1)(numbers, seed)


def _deviation(coherence: np.ndarray, k: int, d: int) -> float:
    ordered = np.sort(coherence)
    law = np.asarray(max_coherence_cdf(np.minimum(ordered, 1 - 1e-15), k, d))
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return float(max(np.max(steps[1:] - law), np.max(law - steps[:-1])))
