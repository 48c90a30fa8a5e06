"""What every other package stands on: the tile engine, meshes, randomness, grids. jax and numpy only."""

from superjax.core.errors import EnvironmentFailure, InputError, InputWarning
from superjax.core.mesh import row_mesh
from superjax.core.pairwise import Reducer, Tile, reduce_pairs, reduce_pairs_in_ring, stream_pairs

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
