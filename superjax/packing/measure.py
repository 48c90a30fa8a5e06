"""What a set of vectors amounts to, over all pairs, in float64 on the host or in float32 on the devices."""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from superjax.core.errors import InputError
from superjax.core.pairwise import stream_pairs
from superjax.core.reducers import Extremes, Histogram
from superjax.packing.objectives import RieszEnergy

_BLOCK = 1024
_HOST_WORK, _PAIR = 2**43, 2048


def quick_on_host(k: int, d: int) -> bool:
    """Whether all pairs take a minute or two in float64 on the host, where one costs as much as 2048 multiply-adds.

    Args:
        k: number of vectors.
        d: dimension.

    Example:
        >>> quick_on_host(32_000, 4096), quick_on_host(100_000, 64)
        (True, False)
    """
    return k * k * max(d, _PAIR) <= _HOST_WORK


def coherence(x: np.ndarray, *, mesh: Mesh | None = None) -> float:
    r"""The coherence :math:`\max_{i \ne j} |\langle x_i, x_j \rangle| / (\|x_i\| \|x_j\|)` over all pairs of rows.

    Args:
        x: [k, d] rows of any norm but 0.
        mesh: compute in float32 on these devices, which is faster for large sets; by default in float64 on the host.

    Returns:
        A number in [0, 1], 0 for fewer than two rows; good to about 1e-15, or 1e-7 with `mesh`.

    Raises:
        InputError: `x` is no matrix of finite rows that are not zero.

    Example:
        >>> round(coherence(np.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])), 12)
        0.8
    """
    unit = unit_rows(x, "x")
    if len(unit) < 2:
        return 0.0
    if mesh is not None:
        ends, _ = stream_pairs(unit.astype(np.float32), Extremes(), mesh=mesh)
        return min(max(float(-ends.smallest), float(ends.largest)), 1.0)
    return min(max(float(np.max(np.abs(products))) for products in pair_products(unit)), 1.0)


def largest_cosine(x: np.ndarray, *, mesh: Mesh | None = None) -> float:
    """The largest signed cosine of two rows; -1 for fewer than two.

    Args:
        x: [k, d] rows of any norm but 0.
        mesh: compute in float32 on these devices; by default in float64 on the host.

    Returns:
        A number in [-1, 1].

    Example:
        >>> largest_cosine(np.array([[1.0, 0.0], [-1.0, 0.0]]))
        -1.0
    """
    unit = unit_rows(x, "x")
    if mesh is not None and len(unit) > 1:
        ends, _ = stream_pairs(unit.astype(np.float32), Extremes(), mesh=mesh)
        return min(float(ends.largest), 1.0)
    largest = max((float(np.max(products)) for products in pair_products(unit)), default=-1.0)
    return min(max(largest, -1.0), 1.0)


def riesz_energy(x: np.ndarray, s: float = 1.0, *, mesh: Mesh | None = None) -> float:
    r"""Riesz energy :math:`\sum_{i<j} \|x_i - x_j\|^{-s}` of unit rows; s = 1 is Thomson's.

    Args:
        x: [k, d] rows, scaled to length one.
        s: power > 0.
        mesh: compute in float32 on these devices, good to about 1e-5 s; by default in float64 on the host.

    Returns:
        The energy, infinite for coincident rows.

    Example:
        >>> riesz_energy(np.array([[1.0, 0.0], [-1.0, 0.0]]))
        0.5
    """
    unit = unit_rows(x, "x")
    if mesh is not None and len(unit) > 1:
        nearest = max(2 - 2 * largest_cosine(unit, mesh=mesh), 1e-12)
        reducer = RieszEnergy(jnp.float32(s), 1e-12, jnp.float32(nearest))
        totals, _ = stream_pairs(unit.astype(np.float32), reducer, mesh=mesh)
        with np.errstate(over="ignore"):
            return float(totals.weight * np.float64(nearest) ** (-s / 2))
    with np.errstate(divide="ignore", over="ignore"):
        return float(sum(np.sum(np.maximum(2 - 2 * products, 0) ** (-s / 2)) for products in pair_products(unit)))


def gram_histogram(x: np.ndarray, bins: int = 400, *, mesh: Mesh | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the cosines of all pairs in equal bins over [-1, 1].

    Args:
        x: [k, d] rows of any norm but 0.
        bins: K >= 1.
        mesh: compute in float32 on these devices, some 50 times faster; by default in float64 on the host.

    Returns:
        int64 counts [K], and edges [K + 1].

    Example:
        >>> gram_histogram(np.eye(3), bins=1)[0].tolist()
        [3]
    """
    edges = np.linspace(-1, 1, bins + 1)
    if mesh is not None:
        return stream_pairs(unit_rows(x, "x").astype(np.float32), Histogram(bins), mesh=mesh)[0], edges
    counts = np.zeros(bins, np.int64)
    for products in pair_products(unit_rows(x, "x")):
        counts += np.histogram(np.clip(products, -1, 1), bins=edges)[0]
    return counts, edges


def unit_rows(x: np.ndarray, name: str) -> np.ndarray:
    """The rows of a matrix scaled to length one in float64.

    Args:
        x: [k, d] real numbers.
        name: the file or argument, for the message.

    Raises:
        InputError: no matrix, or a row that is zero or not finite.
    """
    wide = np.asarray(x)
    if wide.ndim != 2 or wide.shape[1] == 0 or wide.dtype.kind not in "biuf":
        raise InputError(f"{name}: is {wide.dtype} of shape {list(wide.shape)}; give k rows of d real numbers")
    wide = wide.astype(np.float64)
    bad = np.flatnonzero(~np.all(np.isfinite(wide), axis=1))
    if len(bad):
        raise InputError(f"{name}: row {bad[0]} is not finite; give rows of finite numbers")
    largest = np.max(np.abs(wide), axis=1, keepdims=True, initial=0)
    if not np.all(largest):
        raise InputError(f"{name}: row {np.flatnonzero(largest == 0)[0]} is zero; give rows that have a direction")
    scaled = wide / largest
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)


def pair_products(unit: np.ndarray, block: int = _BLOCK) -> Iterator[np.ndarray]:
    """The inner products of all pairs of rows, each pair once, one tile at a time."""
    for first in range(0, len(unit), block):
        left = unit[first : first + block]
        inner = (left @ left.T)[np.triu_indices(len(left), 1)]
        if inner.size:
            yield inner
        for second in range(first + block, len(unit), block):
            yield left @ unit[second : second + block].T
