"""Differences between runs: which entries, how large, and what they stood on."""

from __future__ import annotations

import math

import pytest

from superjax.runs import ground_differences, summary_differences


def test_equal_summaries_have_no_difference_and_times_do_not_count():
    then = {"a": [1, 2.5, None, "x", True], "cells": [{"seconds": 1.0, "value": 0.25}], "wall_time_s": 3.0}
    now = {"a": [1, 2.5, None, "x", True], "cells": [{"seconds": 9.0, "value": 0.25}], "wall_time_s": 4.0}
    assert summary_differences(then, now) == []


@pytest.mark.parametrize(
    ("then", "now", "size"),
    [
        (2.0, 1.0, 0.5),
        (-1.0, 1.0, 2.0),
        (100, 101, 1 / 101),
        (3e-9, -1e-9, 4e-3),  # both are zero, to what a float32 sum can say
        (1.0, None, math.inf),
        (None, 0.0, math.inf),
        ("weak", "strong", math.inf),
        (True, 0.5, math.inf),
        ([1, 2], [1, 2, 3], math.inf),
        ({"b": 1}, 4, math.inf),
    ],
)
def test_sizes(then, now, size):
    (found,) = summary_differences({"x": {"y": then}}, {"x": {"y": now}})
    assert found.place == "x.y"
    assert found.size == pytest.approx(size)


def test_a_key_of_one_side_alone_is_a_difference_and_the_largest_comes_first():
    found = summary_differences(
        {"a": 1.0, "b": [{"c": 1.0}, {"c": 2.0}]}, {"a": 1.1, "b": [{"c": 1.0}, {"c": 4.0}], "d": 1}
    )
    assert [one.place for one in found] == ["d", "b[1].c", "a"]


def test_the_ground_is_versions_devices_precision_seed_and_settings():
    then = {
        "versions": {"jax": "1", "numpy": "2"}, "device_count": 2, "precision": "highest", "seed": 0, "git": None,
        "config": {"steps": 5}, "started": "yesterday", "argv": ["a"], "cwd": "/a", "compile_time_s": 1.0,
    }  # fmt: skip
    assert ground_differences(then, {**then, "started": "today", "argv": ["b"], "cwd": "/b", "compile_time_s": 2}) == []
    now = {**then, "versions": {"jax": "1", "numpy": "3"}, "seed": 1, "config": {"steps": 6}}
    assert [one.place for one in ground_differences(then, now)] == ["config.steps", "versions.numpy", "seed"]
