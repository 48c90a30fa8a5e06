"""One packing on 1 to 8 devices: same start, same gradients, same coherence, memory as 1/N; and degenerate starts."""

from __future__ import annotations

import re
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from superjax.core import loop, sphere
from superjax.core import mesh as meshes
from superjax.core.pairwise import reduce_pairs_in_ring
from superjax.packing.anneal import AnnealHparams
from superjax.packing.objectives import Objective
from superjax.packing.rows import anneal_rows, layout, prepare
from superjax.packing.starts import nudged, random_start
from tests.packing import helpers

anneal = partial(anneal_rows, block=None, precision="highest")


def gradients_of_first_steps(x, steps, devices):
    """The starting rows and the normalised gradient at each of the first steps, from the sharded optimiser."""
    objective, mesh = Objective(), helpers.mesh_of(devices)
    step, state, constants = prepare(objective, x, AnnealHparams(), 100, mesh=mesh, block=None, precision="highest")

    def body(state, constants, index):
        here = jax.tree.map(lambda leaf: leaf[0], constants).at(index / 99)
        scale = objective.scale(state.least[0], *x.shape)
        reducer = objective.reducer(here.sharpness, state.largest[0], scale, *x.shape)
        totals, pull = reduce_pairs_in_ring(state.x, reducer, devices=devices, count=len(x), block=step.block)
        return sphere.tangent(state.x, pull / totals.weight)

    gradient = jax.jit(meshes.over_rows(body, mesh, replicated_args=1))
    first, found = meshes.to_host(state.x)[: len(x)], []
    now = loop.LoopState(np.asarray(0, np.int64), state, {"value": np.zeros((100, devices))})
    for index in range(steps):
        found.append(meshes.to_host(gradient(now.state, constants, jnp.float32(index)))[: len(x)])
        now = loop.run(step, now, constants, index + 1, mesh=mesh)
    return first, np.stack(found)


@cache
def on_one_device():
    return gradients_of_first_steps(random_start(101, 8, seed=3), 20, 1)


@pytest.mark.parametrize("devices", [2, 4, 8])
def test_any_number_of_devices_has_the_same_start_gradients_and_result(devices):
    x = random_start(101, 8, seed=3)
    start_one, one = on_one_device()
    start_many, many = gradients_of_first_steps(x, 20, devices)
    assert start_one.tobytes() == start_many.tobytes() == x.tobytes()
    assert np.abs(many - one).max() < min(1e-6, 1e-3 * np.abs(one).max())


def test_the_gradients_are_those_of_float64():
    x = random_start(60, 5, seed=1)
    _, found = gradients_of_first_steps(x, 1, 4)
    largest = helpers.coherence(x)
    _, gradient = helpers.smooth_maximum(x, 3.0 / largest, signed=False)
    expected = gradient - np.sum(gradient * x, 1, keepdims=True) * x
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


def test_the_final_coherence_does_not_depend_on_the_devices():
    """The path is chaotic in the last bits, so the optima differ; with many vectors they are equally good."""
    x = random_start(200, 100, seed=0)
    reached = [
        helpers.coherence(anneal(Objective(), x, AnnealHparams(), 500, mesh=helpers.mesh_of(devices)).x)
        for devices in (1, 4)
    ]
    assert np.ptp(reached) < 1e-4
    assert max(reached) < 0.3 * helpers.coherence(x)


@pytest.mark.parametrize(("k", "devices"), [(3, 8), (17, 4)])
def test_few_rows_on_many_devices(k, devices):
    x = random_start(k, 2, seed=0)
    found = anneal(Objective(), x, AnnealHparams(), 300, mesh=helpers.mesh_of(devices)).x
    assert found.shape == (k, 2)
    assert helpers.coherence(found) == pytest.approx(np.cos(np.pi / k), abs=5e-3)


def test_the_best_iterate_is_kept_and_rows_stay_unit():
    """A good packing is only spoilt by steps at a low sharpness: what comes back is the packing itself."""
    good = anneal(Objective(), random_start(90, 12, seed=5), AnnealHparams(), 300, mesh=helpers.mesh_of(2)).x
    found = anneal(Objective(), good, AnnealHparams(last_sharpness=4.0), 60, mesh=helpers.mesh_of(2))
    assert found.history[-1] > found.history[0] * 1.05
    assert found.history[0] == found.history.min()
    assert found.x.tobytes() == good.tobytes()
    np.testing.assert_allclose(np.linalg.norm(found.x.astype(np.float64), axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", ["coherence", "spherical", "riesz"])
def test_coincident_and_antipodal_starts_part(name):
    rows = np.repeat(helpers.random_unit(3, 3), 4, axis=0)
    rows[::2] *= -1 if name == "coherence" else 1
    found = anneal(Objective(name), nudged(rows, seed=0), AnnealHparams(), 600, mesh=helpers.mesh_of(1)).x
    reached = helpers.coherence(found) if name == "coherence" else helpers.off_diagonal(found).max()
    assert np.all(np.isfinite(found))
    assert reached < {"coherence": 0.78, "spherical": 0.5, "riesz": 0.5}[name]  # 12 of them; optima .7445, .4472


def test_the_schedule_and_the_first_steps_are_the_ones_of_the_formula():
    """Ten steps in float64 NumPy, written out again from the docstrings, agree with the compiled ones."""
    x = random_start(30, 4, seed=2)
    steps, hparams = 10, AnnealHparams()
    found = anneal(Objective(), x, hparams, steps, mesh=helpers.mesh_of(1)).history
    y = np.asarray(x, np.float64)
    mean, square = np.zeros_like(y), np.zeros((30, 1))
    least, expected = helpers.coherence(y), []
    for index in range(steps):
        time = index / (steps - 1)
        sharpness, rate = 3.0 * (1000 / 3) ** time, 0.7**time
        least = least if not expected else min([helpers.coherence(x), *expected])
        _, gradient = helpers.smooth_maximum(y, sharpness / least, signed=False)
        gradient -= np.sum(gradient * y, 1, keepdims=True) * y
        mean = 0.9 * mean + 0.1 * gradient
        mean -= np.sum(mean * y, 1, keepdims=True) * y
        square = 0.99 * square + 0.01 * np.mean(gradient**2, 1, keepdims=True)
        newton = min(0.5, 1.5 * 4 / 30) / (30 * 4) * rate
        size = np.maximum(np.sqrt(square / (1 - 0.99 ** (index + 1))), newton) * (1 - 0.9 ** (index + 1))
        expected.append(helpers.coherence(y))
        y = y - min(rate * least / sharpness, 0.3 / np.sqrt(4)) * mean / size
        y /= np.linalg.norm(y, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=2e-4)
    np.testing.assert_allclose(found[:4], expected[:4], atol=2e-6)


def compiled_text(devices, k=1024, d=16):
    mesh = helpers.mesh_of(devices)
    step, state, constants = prepare(
        Objective(), random_start(k, d, 0), AnnealHparams(), 10, mesh=mesh, block=32, precision="highest"
    )
    lowered = loop._advance.lower(state, constants, np.int32(0), np.int32(3), step=step, chunk=8, mesh=mesh)
    compiled = lowered.compile()
    return compiled.as_text(), compiled.memory_analysis()


def test_the_sharded_program_gathers_nothing_and_holds_no_gram_matrix():
    k, d = 1024, 16
    argument = {}
    for devices in (1, 8):
        text, memory = compiled_text(devices, k, d)
        shapes = {tuple(map(int, dims.split(","))) for dims in re.findall(r"f32\[([\d,]+)\]", text)}
        rows = k // devices
        assert max(map(np.prod, shapes)) <= max(rows * d, 32 * 32)  # the shard, or one tile
        gathered = re.findall(r"= ?\(?f32\[([\d,]*)\][^=]*? all-gather", text)
        assert all(np.prod([int(n) for n in dims.split(",") if n]) <= devices for dims in gathered)
        assert ("collective-permute" in text) == (devices > 1)
        argument[devices] = memory.argument_size_in_bytes
    assert argument[8] < argument[1] / 8 + 1024


def test_tiles_fit_the_work():
    assert layout(10, helpers.mesh_of(8)).block == 2
    assert layout(1, helpers.mesh_of(4)) == (1, 4)
    assert layout(100_000, helpers.mesh_of(1)).block <= 256
    tiles = layout(2000, helpers.mesh_of(2))
    assert (tiles.rows % (2 * tiles.block), tiles.rows >= 2000) == (0, True)
