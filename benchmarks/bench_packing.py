"""A packing step and the time to a published coherence, against plain PyTorch: python -m benchmarks.bench_packing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from benchmarks import _harness
from superjax.core import loop
from superjax.core import mesh as meshes
from superjax.core.pairwise import Tile, reduce_pairs_in_ring
from superjax.packing import AnnealHparams, Packing, coherence, pack
from superjax.packing.objectives import Objective, Pull, SmoothMaximum
from superjax.packing.rows import layout, prepare
from superjax.packing.starts import random_start

WANTED = {(2000, 32): 7.0, (2000, 256): 2.5, (8000, 128): 6.0}
"""Size of a step -> how many times faster than PyTorch it shall be."""

RACES = ((2000, 32), (2000, 256))
"""Sizes of the race to the coherence that the published recipe reaches."""

LISTED = ((4000, 32), (8000, 32))
"""Sizes at which packings with and without neighbour lists are compared."""

RECIPE_STEPS, RACE_STEPS, LISTED_STEPS = 5000, 1500, 400


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ProductsOnly(SmoothMaximum):
    """The floor: the three products of every tile and nothing between them."""

    def tile(self, tile: Tile) -> tuple[Pull, jax.Array, jax.Array]:
        product = partial(jnp.matmul, precision="highest")
        totals = Pull(jnp.float32(1), tile.gram[0, 0])
        return totals, product(tile.gram, tile.right), product(tile.gram.T, tile.left)


class TorchRecipe:
    """The published recipe in plain PyTorch: normalise, full Gram, sum of |G|^p, autograd, Adam."""

    def __init__(self, start: np.ndarray) -> None:
        import torch

        k, d = start.shape
        self.exponent = min(int((40 if k <= 4000 else 60) / math.log(d)), 20)
        self.v = torch.tensor(start, requires_grad=True)
        self.adam = torch.optim.Adam([self.v], lr=0.005)
        self.diagonal = torch.eye(k, dtype=torch.bool)

    def run(self, steps: int) -> None:
        """So many steps: the first after other work is slower than those that follow."""
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        """One step."""
        self.adam.zero_grad()
        unit = self.v / self.v.norm(dim=1, keepdim=True)
        gram = (unit @ unit.T).masked_fill(self.diagonal, 0.0)
        (gram.abs() ** self.exponent).sum().backward()
        self.adam.step()

    def coherence(self) -> float:
        """Of the present vectors, in float64."""
        return coherence(self.v.detach().numpy())


def our_steps(k: int, d: int, steps: int, mesh: Mesh) -> Callable[[], Any]:
    """A call that makes `steps` steps of the optimiser from a random start."""
    x = random_start(k, d, 0)
    step, state, constants = prepare(
        Objective(), x, AnnealHparams(), RACE_STEPS, mesh=mesh, block=None, precision="highest"
    )

    def run() -> Any:
        fresh = jax.tree.map(lambda leaf: leaf.copy(), state)  # the loop gives its state away
        jax.block_until_ready(fresh)
        out = loop._advance(fresh, constants, np.int32(0), np.int32(steps), step=step, chunk=256, mesh=mesh)
        return jax.block_until_ready(out)

    return run


def products_only(k: int, d: int, steps: int, mesh: Mesh) -> Callable[[], Any]:
    """A call that makes the products of `steps` steps and nothing else."""
    tiles = layout(k, mesh)
    x = meshes.shard_rows(meshes.pad_rows(random_start(k, d, 0), tiles.rows), mesh)
    reducer = ProductsOnly(jnp.float32(1), jnp.float32(1))

    def body(x: jax.Array) -> jax.Array:
        def once(_: jax.Array, x: jax.Array) -> jax.Array:
            rows = reduce_pairs_in_ring(x, reducer, devices=mesh.size, count=k, block=tiles.block)[1]
            return x + 1e-30 * rows

        return jax.lax.fori_loop(0, steps, once, x)

    compiled = jax.jit(meshes.over_rows(body, mesh))
    return lambda: jax.block_until_ready(compiled(x))


def time_steps(k: int, d: int, mesh: Mesh, repeats: int) -> dict[str, Any]:
    """A step of each at one size, in turns, and what they do a second."""
    steps = max(5, int(2e9 / (k * k * d)) * 5)
    recipe_steps = 1 + steps // 3
    recipe = TorchRecipe(random_start(k, d, 0))
    one_device = meshes.row_mesh(list(mesh.devices.flat[:1]))
    cases: dict[str, Callable[[], Any]] = {
        "ours, ring": our_steps(k, d, steps, mesh),
        "ours, one device": our_steps(k, d, steps, one_device),
        "floor": products_only(k, d, steps, one_device),
        "torch": partial(recipe.run, recipe_steps),
    }
    times = _harness.take_turns(cases, repeats)
    seconds = {name: times[name].best / (recipe_steps if name == "torch" else steps) for name in cases}
    ours = min(seconds["ours, ring"], seconds["ours, one device"])
    size = f"({k}, {d})"
    wanted = WANTED.get((k, d))
    return {
        f"{size} torch step, ms": 1e3 * seconds["torch"],
        f"{size} our step on all devices, ms": 1e3 * seconds["ours, ring"],
        f"{size} our step on one device, ms": 1e3 * seconds["ours, one device"],
        f"{size} products alone, ms": 1e3 * seconds["floor"],
        f"{size} times faster, the better of ours (wanted: {wanted})": seconds["torch"] / ours,
        f"{size} GFLOP/s": 3 * k * k * d / ours / 1e9,
        f"{size} share of the products of one device": seconds["floor"] / ours,
    }


def time_lists(k: int, d: int, mesh: Mesh, steps: int) -> dict[str, Any]:
    """Whole packings with and without neighbour lists, compiled before: seconds and coherence."""
    found: dict[bool, Packing] = {}

    def packed(lists: bool) -> None:
        found[lists] = pack(k, d, steps=steps, mesh=mesh, neighbour_lists=lists)

    times = _harness.take_turns({"lists": partial(packed, True), "full": partial(packed, False)}, 1)
    seconds = {name: timed.best for name, timed in times.items()}
    size = f"({k}, {d}) {steps} steps"
    return {
        f"{size}, lists, s": seconds["lists"],
        f"{size}, full passes alone, s": seconds["full"],
        f"{size}, times faster by lists": seconds["full"] / seconds["lists"],
        f"{size}, lists, coherence": found[True].coherence,
        f"{size}, full passes alone, coherence": found[False].coherence,
    }


def race(k: int, d: int, mesh: Mesh, recipe_steps: int, our_steps: int) -> dict[str, Any]:
    """Time to the best coherence that the published recipe reaches, by each."""
    recipe = TorchRecipe(random_start(k, d, 0))
    best, began, checking = math.inf, time.perf_counter(), 0.0
    for number in range(1, recipe_steps + 1):
        recipe.step()
        if number % 20 == 0 or number == recipe_steps:
            started = time.perf_counter()
            value = recipe.coherence()
            checking += time.perf_counter() - started
            if value < best:
                best, theirs = value, time.perf_counter() - began - checking
    reached: list[float] = []
    began = time.perf_counter()

    def watch(_: int, __: int, value: float) -> None:
        if value <= best and not reached:
            reached.append(time.perf_counter() - began)

    found = pack(k, d, steps=our_steps, mesh=mesh, on_value=watch)
    size = f"({k}, {d})"
    return {
        f"{size} recipe's best coherence": best,
        f"{size} recipe's time to it, s": theirs,
        f"{size} our time to it, compilation included, s": reached[0] if reached else None,
        f"{size} our share of its time (wanted: <= .1)": reached[0] / theirs if reached else None,
        f"{size} our coherence after {our_steps} steps": found.coherence,
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run the benchmark and print its table; --steps=0 leaves out neighbour lists and the race, 20 minutes."""
    flags = _harness.arguments(__doc__, argv, steps=RECIPE_STEPS)
    mesh = meshes.row_mesh(_harness.start_devices(flags.devices))
    sizes: Sequence[tuple[int, int]] = tuple(WANTED)
    races: Sequence[tuple[int, int]] = RACES if flags.steps else ()
    listed: Sequence[tuple[int, int]] = LISTED if flags.steps else ()
    recipe_steps, race_steps, listed_steps = flags.steps, 300, LISTED_STEPS
    if flags.smoke:
        sizes, races, listed = ((200, 16),), ((200, 16),), ((4000, 8),)
        recipe_steps, race_steps, listed_steps = 20, 200, 160
    results: dict[str, Any] = {}
    for k, d in sizes:
        results |= time_steps(k, d, mesh, 1 if flags.smoke else flags.repeats)
    one_device = meshes.row_mesh(list(mesh.devices.flat[:1]))
    for k, d in listed:
        results |= time_lists(k, d, one_device, listed_steps)
    for k, d in races:
        results |= race(k, d, mesh, recipe_steps, race_steps)
    _harness.report("packing against plain PyTorch", results, flags.json)
    return results


if __name__ == "__main__":
    main()
