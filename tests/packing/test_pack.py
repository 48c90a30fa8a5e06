"""`pack`: exact sizes, known optima from random starts, starts that are given or broken, and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from superjax.core.errors import InputError, InputWarning
from superjax.packing import (
    AnnealHparams,
    exact_packing,
    given_start,
    has_closed_form,
    memory_needed,
    pack,
    proven_bound,
)
from superjax.packing.objectives import Objective
from superjax.packing.rows import anneal_rows
from superjax.packing.starts import random_start
from tests.packing import helpers

PHI = (1 + np.sqrt(5)) / 2
ANTIPRISM = (2 * np.sqrt(2) - 1) / 7  # largest cosine of the square antiprism, a root of 7 x^2 + 2 x - 1


@pytest.mark.parametrize(("k", "d"), [(1, 1), (1, 5), (2, 2), (4, 7), (16, 16)])
def test_up_to_d_lines_are_exactly_orthonormal(k, d):
    found = pack(k, d)
    assert found.coherence == found.value == found.bound == 0.0
    np.testing.assert_array_equal(found.vectors @ found.vectors.T, np.eye(k))


@pytest.mark.parametrize("d", [1, 2, 3, 16, 100])
def test_d_plus_one_lines_are_the_simplex(d):
    found = pack(d + 1, d)
    gram = found.vectors @ found.vectors.T
    np.testing.assert_allclose(np.abs(gram[~np.eye(d + 1, dtype=bool)]), 1 / d, atol=1e-14)
    assert found.coherence == pytest.approx(found.bound, abs=1e-14)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 9])
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("name", ["coherence", "spherical", "riesz"])
def test_closed_forms_are_no_worse_than_random_search_on_the_circle_and_simplices(k, d, name):
    exact = exact_packing(Objective(name), k, d)
    assert has_closed_form(k, d) == (exact is not None)
    if exact is None:
        assert k > d + 1
        assert d > 2
        return
    assert exact.shape == (k, d)
    np.testing.assert_allclose(np.linalg.norm(exact, axis=1), 1, atol=1e-14)
    if k == 1 or d == 1:
        return
    value = {"coherence": helpers.coherence, "spherical": lambda x: helpers.off_diagonal(x).max(),
             "riesz": lambda x: helpers.riesz(x, 1.0)[0]}[name]  # fmt: skip
    assert all(value(exact) < value(helpers.random_unit(k, d, seed)) + 1e-12 for seed in range(50))
    bound = proven_bound(name, k, d)
    assert bound is None or value(exact) == pytest.approx(bound.value, abs=1e-12)


@pytest.mark.parametrize(
    ("k", "d", "name", "optimum"),
    [
        (6, 3, "coherence", 1 / np.sqrt(5)),  # the icosahedron's axes
        (16, 6, "coherence", 1 / 3),
        (8, 3, "spherical", ANTIPRISM),
        (24, 4, "spherical", 0.5),  # the 24-cell
        pytest.param(7, 3, "coherence", 1 / np.sqrt(3), marks=pytest.mark.slow),
        pytest.param(6, 4, "coherence", 1 / 3, marks=pytest.mark.slow),
        pytest.param(10, 5, "coherence", 1 / 3, marks=pytest.mark.slow),
        pytest.param(28, 7, "coherence", 1 / 3, marks=pytest.mark.slow),
        pytest.param(12, 3, "spherical", 1 / np.sqrt(5), marks=pytest.mark.slow),  # the icosahedron
        pytest.param(8, 4, "spherical", 0.0, marks=pytest.mark.slow),  # the cross-polytope
        pytest.param(32, 16, "spherical", 0.0, marks=pytest.mark.slow),
    ],
)
def test_known_optima_are_found_from_random_starts(k, d, name, optimum):
    found = pack(k, d, objective=name, restarts=512 if k == 24 else 64)
    assert found.value == pytest.approx(optimum, abs=1e-10)
    assert found.vectors.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-12)
    gram = helpers.off_diagonal(found.vectors)
    largest = gram.max() if name == "spherical" else helpers.coherence(found.vectors)
    assert found.value == pytest.approx(largest, abs=1e-14)


@pytest.mark.parametrize(("k", "energy"), [(5, 0.5 + 3 * np.sqrt(2) + np.sqrt(3)), (12, 49.165253057629)])
def test_thomson_energies(k, energy):
    found = pack(k, 3, objective="riesz", restarts=16, steps=200)
    assert found.value == pytest.approx(energy, rel=1e-11)
    assert found.bound is None


@pytest.mark.parametrize("devices", [2, 8])
def test_up_to_a_thousand_vectors_any_number_of_devices_finds_the_same(devices):
    one, many = pack(101, 8, steps=300), pack(101, 8, steps=300, mesh=helpers.mesh_of(devices))
    assert one.vectors.tobytes() == many.vectors.tobytes()


def test_more_vectors_end_within_a_ten_thousandth_on_any_number_of_devices():
    reached = [pack(1100, 40, steps=600, mesh=helpers.mesh_of(devices)).coherence for devices in (1, 2, 5)]
    assert len(set(reached)) > 1
    assert np.ptp(reached) < 1e-4


def test_a_start_at_the_proven_bound_is_the_result_at_once():
    told = []
    found = pack(144, 16, init="construction", on_value=lambda *seen: told.append(seen))
    assert found.value == pytest.approx(0.25, abs=1e-12)
    assert (found.steps, told) == (0, [])


@pytest.mark.parametrize(("k", "s"), [(40, 20.0), (40, 100.0), (300, 20.0), (300, 100.0)])
def test_energies_of_any_power_are_packed(k, s):
    """Large powers overflow float32, and at random starts float64; the packing comes near the best spherical code."""
    found = pack(k, 3, objective="riesz", riesz_s=s, restarts=8 if k == 40 else None, steps=400)
    assert np.isfinite(found.value)
    assert np.all(np.isfinite(found.history[1:]))
    code = pack(k, 3, objective="spherical", restarts=8 if k == 40 else None, steps=400)
    distance = [np.sqrt(2 - 2 * helpers.off_diagonal(one.vectors).max()) for one in (found, code)]
    assert distance[0] > 0.9 * distance[1]


def test_large_packings_descend_and_tell_how():
    told = []
    found = pack(150, 8, steps=300, on_value=lambda *values: told.append(values))
    assert found.coherence == pytest.approx(helpers.coherence(found.vectors), abs=1e-12)
    assert found.coherence == pytest.approx(found.history.min(), abs=1e-6)
    assert found.history.shape == (300,)
    assert found.bound < found.coherence < 0.75 * helpers.coherence(found.start)
    assert told[-1][:2] == (300, 300)
    assert told[-1][2] == found.history.min()
    assert all(later[2] <= earlier[2] for earlier, later in itertools.pairwise(told))


def test_the_seed_decides_and_restarts_keep_the_best():
    one, same, other = (pack(70, 9, steps=60, seed=seed) for seed in (1, 1, 2))
    assert one.vectors.tobytes() == same.vectors.tobytes()
    assert one.start.tobytes() != other.start.tobytes()
    three = [pack(70, 9, steps=60, seed=1, restarts=3, mesh=helpers.mesh_of(devices)) for devices in (1, 2)]
    alone = [helpers.coherence(_alone(seed=1, restart=restart)) for restart in range(3)]
    assert [found.value for found in three] == pytest.approx([min(alone)] * 2, abs=5e-3)
    assert three[0].restarts == 3


def _alone(seed, restart):
    """One restart by itself, on the path of rows."""
    x = random_start(70, 9, seed, restart)
    return anneal_rows(Objective(), x, AnnealHparams(), 60, mesh=helpers.mesh_of(1), block=None, precision="highest").x


def test_a_start_is_never_made_worse():
    rigid = given_start("construction", 28, 7, 0)
    found = pack(28, 7, init="construction", restarts=4, steps=50)
    assert found.value <= helpers.coherence(rigid) + 1e-15 == pytest.approx(1 / 3)
    kerdock = pack(144, 16, init="construction", steps=20)
    assert kerdock.value == pytest.approx(0.25, abs=1e-12)
    x = helpers.random_unit(150, 8)
    assert pack(150, 8, init=x, steps=200).value < helpers.coherence(x)


def test_zero_rows_of_an_array_are_drawn_anew_with_a_warning():
    x = np.zeros((4, 3))
    x[1] = [0, 0, 2]
    with pytest.warns(InputWarning, match="init: 3 rows are zero and were drawn at random"):
        start = given_start(x, 4, 3, seed=0)
    np.testing.assert_allclose(np.linalg.norm(start, axis=1), 1, atol=1e-7)
    assert start[1].tolist() == [0, 0, 1]
    with pytest.warns(InputWarning):
        assert np.isfinite(pack(70, 9, init=np.zeros((70, 9)), steps=30).value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0, "d": 3}, "k: 0 is not positive"),
        ({"k": 3, "d": -1}, "d: -1 is not positive"),
        ({"k": 5, "d": 3, "steps": 0}, "steps: 0 is not positive"),
        ({"k": 5, "d": 3, "restarts": 0}, "restarts: 0 is not positive"),
        ({"k": 5, "d": 3, "objective": "tight"}, "objective: tight is unknown"),
        ({"k": 5, "d": 3, "init": np.ones((4, 3))}, r"init: holds an array of shape \[4, 3\]; give \[5, 3\]"),
        ({"k": 2, "d": 3, "init": np.full((2, 3), np.nan)}, "init: row 0 is not finite"),
        ({"k": 5, "d": 3, "init": "no/such.npy"}, "no/such.npy: No such file or directory; give a file"),
    ],
)
def test_what_cannot_be_packed_is_refused_in_one_line(settings, message):
    with pytest.raises(InputError, match=message) as caught:
        pack(**settings)
    assert "\n" not in str(caught.value)


def test_files_of_vectors_are_read_or_refused(tmp_path):
    rows = helpers.random_unit(5, 3)
    np.save(tmp_path / "good.npy", rows)
    np.testing.assert_allclose(given_start(tmp_path / "good.npy", 5, 3, 0), rows, atol=1e-15)
    rows[2] = 0
    np.save(tmp_path / "zero.npy", rows)
    (tmp_path / "text.npy").write_text("no array")
    np.savez(tmp_path / "several.npz", a=rows)
    (tmp_path / "short.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:-8])
    promised = (tmp_path / "good.npy").read_bytes().replace(b"(5, 3)", b"(9999999999999, 3)", 1)
    (tmp_path / "promises.npy").write_bytes(promised.replace(b" " * 12 + b"\n", b"\n", 1))
    np.save(tmp_path / "objects.npy", np.array([["a"]], object))
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    for name, message in (
        ("zero.npy", "row 2 is zero"), ("text.npy", "is no whole .npy file"), ("several.npz", "holds several arrays"),
        ("short.npy", "is no whole .npy file"), ("promises.npy", "is no whole .npy file"),
        ("objects.npy", "is no whole .npy file"), ("none.npy", "holds no rows"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            given_start(tmp_path / name, 5, 3, 0)


def test_the_memory_estimate_grows_with_the_rows_only():
    assert memory_needed(2_000_000, 64) < 20.1 * memory_needed(100_000, 64)


def test_the_memory_estimate_counts_neighbour_lists():
    assert memory_needed(4000, 32) > memory_needed(3999, 32) + 4 * 4000 * 256
