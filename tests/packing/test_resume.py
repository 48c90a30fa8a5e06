"""A packing that was stopped goes on exactly: large ones, several restarts, searches with rounds, on other devices."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest

from superjax.core.errors import InputError
from superjax.core.mesh import row_mesh
from superjax.packing import pack, pack_orbits


class Stop(Exception):
    """The end of a search that is stopped."""


def stopped(run, at, resume=None):
    """Stop at the `at`-th checkpoint, or the first for which `at` holds, and give it as a disk would: NumPy arrays."""
    seen = []

    def keep(arrays):
        seen.append({name: np.array(leaf) for name, leaf in arrays.items()})
        if at(arrays) if callable(at) else len(seen) == at:
            raise Stop

    with pytest.raises(Stop):
        run(on_checkpoint=keep, resume=resume)
    return seen[-1]


def assert_same(found, whole):
    np.testing.assert_array_equal(found.vectors, whole.vectors)
    np.testing.assert_array_equal(found.history, whole.history)
    assert (found.value, found.steps, found.restarts) == (whole.value, whole.steps, whole.restarts)


def large(**options):
    return pack(90, 8, steps=60, **options)


def sharded(**options):
    return pack(1100, 8, steps=40, **options)


def with_lists(**options):
    return pack(4000, 8, steps=160, **options)


def large_with_restarts(**options):
    return pack(520, 3, steps=12, restarts=3, **options)


def together(**options):
    return pack(90, 8, steps=60, restarts=4, **options)


def searched(**options):
    return pack(10, 4, steps=60, restarts=6, seed=3, **options)


def orbits(**options):
    return pack_orbits(40, 4, steps=80, **options)


@pytest.mark.parametrize("run", [large, with_lists, large_with_restarts, together, searched, orbits])
def test_42_it_goes_on_bitwise_after_several_stops(run):
    kept = None
    for at in (2, 1, 3):
        kept = stopped(run, at, kept)
    assert_same(run(resume=kept), run())


def test_rounds_over_neighbour_lists_go_on_bitwise_from_their_first_step():
    kept = stopped(with_lists, lambda arrays: int(arrays["step"]) == 120)
    assert_same(with_lists(resume=kept), with_lists())


def test_rounds_go_on_exactly_on_several_devices_too():
    def run(**options):
        return pack(4000, 8, steps=400, mesh=row_mesh(jax.devices()[:2]), **options)

    kept = stopped(run, lambda arrays: int(arrays["step"]) == 360)
    assert_same(run(resume=kept), run())


def test_stopped_on_two_devices_between_rounds_it_goes_on_to_the_next():
    full = partial(with_lists, mesh=row_mesh(jax.devices()[:2]), neighbour_lists=False)
    kept = stopped(full, lambda arrays: int(arrays["step"]) >= 2)
    told = []
    found = with_lists(resume=kept, on_value=lambda done, *_: told.append(done))
    assert {120, 160} <= set(told)
    assert found.value == pytest.approx(with_lists().value, rel=5e-3)


@pytest.mark.parametrize("number", [1, 2])
def test_a_search_goes_on_in_a_later_round(number):
    kept = stopped(searched, lambda arrays: int(arrays["round"]) == number and int(arrays["step"]) > 5)
    assert len(kept["elite"]) > 0
    assert_same(searched(resume=kept), searched())


@pytest.mark.parametrize("number", [0, 1])
def test_a_search_goes_on_where_all_are_annealed_and_none_polished(number):
    kept = stopped(searched, lambda arrays: int(arrays["round"]) == number and arrays["step"] == arrays["steps"])
    assert_same(searched(resume=kept), searched())


def test_the_checkpoint_of_a_search_that_went_about_it_otherwise_is_refused():
    kept = stopped(searched, 2)
    del kept["sharpened"]
    with pytest.raises(InputError, match="belongs to another packing"):
        searched(resume=kept)


def test_restarts_that_are_done_are_not_done_again():
    kept = stopped(large_with_restarts, lambda arrays: int(arrays["restart"]) == 2)
    told, heard = [], []
    found = large_with_restarts(
        resume=kept, on_value=lambda *seen: told.append(seen), on_progress=lambda *seen: heard.append(seen)
    )
    assert_same(found, large_with_restarts())
    assert told[0][0] > 12 * 2
    assert heard == [seen[:2] for seen in told]
    assert heard[-1] == (36, 36)


@pytest.mark.parametrize("run", [sharded, together, searched])
@pytest.mark.parametrize("devices", [1, 3])
def test_39_stopped_on_8_devices_it_goes_on_on_fewer(run, devices):
    kept = stopped(lambda **options: run(mesh=row_mesh(), **options), 3)
    found = run(resume=kept, mesh=row_mesh(jax.devices()[:devices]))
    assert found.value == pytest.approx(run(mesh=row_mesh()).value, rel=2e-3)
    step = int(kept["step"])
    if run is sharded:  # before the stop as it was, after it on from there
        np.testing.assert_array_equal(found.history[:step], kept["history/value"][:step, 0])
        np.testing.assert_allclose(found.history[step], run(mesh=row_mesh()).history[step], rtol=1e-4)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda **options: pack(90, 9, steps=60, **options), r"x is float32\[90, 8\], this work has float32\[90, 9\]"),
        (lambda **options: pack(100, 8, steps=60, **options), "belongs to another packing"),
        (lambda **options: pack(90, 8, steps=61, **options), "is of 60 steps, this work has 61|history/value"),
        (together, "belongs to another packing"),
        (searched, "belongs to another packing"),
    ],
)
def test_40_the_checkpoint_of_another_packing_is_refused(run, said):
    kept = stopped(large, 2)
    with pytest.raises(InputError, match=said):
        run(resume=kept)
