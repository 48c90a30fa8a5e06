"""What everything else stands on: the tile engine, meshes, randomness, grids. jax and numpy only."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from superjax.core.errors import EnvironmentFailure, InputError, InputWarning

if TYPE_CHECKING:
    from superjax.core.mesh import row_mesh
    from superjax.core.pairwise import Reducer, Tile, reduce_pairs, reduce_pairs_in_ring, stream_pairs

_HOMES = {
    "Reducer": "pairwise",
    "Tile": "pairwise",
    "reduce_pairs": "pairwise",
    "reduce_pairs_in_ring": "pairwise",
    "row_mesh": "mesh",
    "stream_pairs": "pairwise",
}
"""name -> its module, imported when asked for: errors alone do not need jax."""

__all__ = [
    "EnvironmentFailure",
    "InputError",
    "InputWarning",
    "Reducer",
    "Tile",
    "reduce_pairs",
    "reduce_pairs_in_ring",
    "row_mesh",
    "stream_pairs",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"superjax.core.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'superjax.core' has no attribute {name!r}")
