"""What every other package stands on: the tile engine, meshes, randomness, grids. jax and numpy only."""
