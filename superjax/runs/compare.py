"""Two runs side by side: how far their summaries lie apart, and whether they stood on the same ground."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

SMALLEST = 1e-6
"""Numbers below this size are compared as if they had it: a mean of 1e-9 is zero."""

TIMES = {"seconds", "wall_time_s", "compile_time_s"}
"""Entries that are different in every run."""


@dataclass(frozen=True)
class Difference:
    """One entry that two runs do not share.

    Attributes:
        place: where it stands, such as `cells[2].value`.
        then: what the first run has.
        now: what the second has.
        size: for two numbers |then - now| / max(|then|, |now|, 1e-6), in [0, 2]; infinity for anything else.
    """

    place: str
    then: Any
    now: Any
    size: float


def summary_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """The entries of two summaries that are not the same, the largest difference first; times are passed over.

    Args:
        then: the first run's `summary.json`.
        now: the second's.

    Returns:
        One entry for each place; none when the summaries are equal.

    Example:
        >>> found = summary_differences({"cells": [{"value": 0.5, "k": 4}]}, {"cells": [{"value": 0.4, "k": 4}]})
        >>> [(one.place, one.then, one.now, round(one.size, 3)) for one in found]
        [('cells[0].value', 0.5, 0.4, 0.2)]
    """
    return sorted(_differences("", then, now), key=lambda one: -one.size)


def _differences(place: str, then: Any, now: Any) -> Iterator[Difference]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*then, *now)):
            if key not in TIMES:
                yield from _differences(f"{place}.{key}" if place else key, then.get(key), now.get(key))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from _differences(f"{place}[{number}]", one, other)
    elif then != now:
        yield Difference(place, then, now, _size(then, now))


def _size(then: Any, now: Any) -> float:
    numbers = all(isinstance(value, Real) and not isinstance(value, bool) for value in (then, now))
    return abs(then - now) / max(abs(then), abs(now), SMALLEST) if numbers else float("inf")


def ground_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """What two manifests say differently about versions, source, devices, precision, seed, configuration and inputs.

    Args:
        then: the first run's `manifest.json`.
        now: the second's.

    Returns:
        One entry for each, in the manifest's order; none when a result should be the same number for number.

    Example:
        >>> then = {"versions": {"jax": "0.10.1"}, "device_count": 2, "wall_time_s": 3.0}
        >>> [(one.place, one.now) for one in ground_differences(then, {**then, "device_count": 8, "wall_time_s": 1.0})]
        [('device_count', 8)]
    """
    stood_on = ("config", "versions", "platform", "device_kind", "device_count", "precision", "seed", "git", "inputs")
    return [one for name in stood_on for one in _differences(name, then.get(name), now.get(name))]
