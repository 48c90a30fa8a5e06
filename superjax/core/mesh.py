"""The only home of device meshes: which devices, how rows are laid over them, and how shards move round the ring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROWS = "rows"
"""Name of the one mesh axis: rows of a matrix, or members of an ensemble."""


def row_mesh(devices: Sequence[jax.Device] | None = None) -> Mesh:
    """A one-axis mesh over `devices`, all devices of every process by default.

    Args:
        devices: the devices in ring order; ``None`` means ``jax.devices()``.

    Returns:
        A mesh with the single axis ``"rows"``.

    Example:
        >>> import jax
        >>> row_mesh(jax.devices()[:1]).shape["rows"]
        1
    """
    return Mesh(np.asarray(jax.devices() if devices is None else devices, dtype=object), (ROWS,))


def single_device_mesh() -> Mesh:
    """The mesh of this process's first device, what ``mesh=None`` means throughout the library."""
    return row_mesh(jax.local_devices()[:1])


def pad_rows(x: np.ndarray, multiple: int) -> np.ndarray:
    """`x` with zero rows appended until it has a positive multiple of `multiple` rows; `x` itself if it does already.

    Args:
        x: [V, ...] array.
        multiple: positive int.

    Returns:
        [max(1, ceil(V / multiple)) * multiple, ...] array of the same dtype.

    Example:
        >>> pad_rows(np.ones((5, 2)), 4).shape
        (8, 2)
    """
    missing = -len(x) % multiple or (0 if len(x) else multiple)
    if not missing:
        return x
    return np.concatenate([x, np.zeros((missing, *x.shape[1:]), x.dtype)])


def shard_rows(x: np.ndarray, mesh: Mesh) -> jax.Array:
    """Put `x` [V, ...] on `mesh`, split by rows; V must divide by the number of devices.

    Every process passes the same `x` and keeps only the rows of its own devices.
    """
    sharding = NamedSharding(mesh, PartitionSpec(ROWS))
    return jax.make_array_from_callback(x.shape, sharding, lambda index: x[index])


def replicate(tree: Any, mesh: Mesh) -> Any:
    """Put every leaf of `tree` on all devices of `mesh`."""
    sharding = NamedSharding(mesh, PartitionSpec())
    return jax.tree.map(
        lambda leaf: jax.make_array_from_callback(np.shape(leaf), sharding, lambda i: np.asarray(leaf)[i]), tree
    )


def to_host(tree: Any) -> Any:
    """`tree` as NumPy arrays in this process, gathering shards that live in other processes."""

    def fetch(leaf: jax.Array) -> np.ndarray:
        if leaf.is_fully_addressable or leaf.is_fully_replicated:
            return np.asarray(leaf)
        from jax.experimental import multihost_utils

        return np.asarray(multihost_utils.process_allgather(leaf, tiled=True))

    return jax.tree.map(fetch, tree)


def over_rows(body: Callable[..., Any], mesh: Mesh, replicated_args: int = 0) -> Callable[..., Any]:
    """`shard_map` of `body` over `mesh`: arguments and results by rows, but the last `replicated_args` arguments whole.

    Inside `body` each sharded argument is this device's block of rows, and collectives use the axis ``"rows"``.
    """

    def mapped(*args: Any) -> Any:
        by_rows = len(args) - replicated_args
        specs = (PartitionSpec(ROWS),) * by_rows + (PartitionSpec(),) * replicated_args
        return jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(ROWS))(*args)

    return mapped


def same_everywhere(tree: Any, mesh: Mesh) -> Any:
    """Under jit: constrain every leaf of `tree` to be whole on all devices of `mesh`."""
    sharding = NamedSharding(mesh, PartitionSpec())
    return jax.tree.map(lambda leaf: jax.lax.with_sharding_constraint(leaf, sharding), tree)


def varying(tree: Any) -> Any:
    """Inside `over_rows`: mark constants as values that differ between devices, as the carry of a loop must be."""
    return jax.tree.map(lambda leaf: jax.lax.pcast(leaf, ROWS, to="varying"), tree)


def shift(tree: Any, by: int, devices: int) -> Any:
    """Inside `over_rows`: every device receives the `tree` of the device `by` places further along the ring."""
    if by % devices == 0:
        return tree
    moves = [((place + by) % devices, place) for place in range(devices)]
    return jax.tree.map(lambda leaf: jax.lax.ppermute(leaf, ROWS, moves), tree)
