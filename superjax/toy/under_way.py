"""What a checkpoint of training holds: the members that are being trained, and those that wait to be taken up."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from superjax.core.arrays import Arrays

State = Mapping[str, Any]
"""Some members at one step: `places` [N, F] in the ensemble, -1 where there is none, and the loop's arrays by name."""


def states_in(arrays: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The states that `joined` put together, in their order.

    Args:
        arrays: a checkpoint, as `on_checkpoint` got it.

    Example:
        >>> state = {"places": np.array([[0, 1]]), "step": np.asarray(3)}
        >>> [int(one["step"]) for one in states_in(joined([state, {**state, "step": np.asarray(8)}]))]
        [3, 8]
    """
    states = [{name: leaf for name, leaf in arrays.items() if not name.startswith("left/")}]
    for number in count():
        under = f"left/{number}/"
        state = {name.removeprefix(under): leaf for name, leaf in arrays.items() if name.startswith(under)}
        if not state:
            return states
        states.append(state)
    raise AssertionError


def joined(states: Sequence[State]) -> Arrays:
    """One checkpoint of several states, at least one: the first as it is, the others under `left/`.

    Args:
        states: of different members, the one whose step says how far the work is first.
    """
    first, *others = states
    return {**first, **{f"left/{at}/{name}": leaf for at, one in enumerate(others) for name, leaf in one.items()}}


def remaining(states: Sequence[State], done: Collection[int]) -> list[State]:
    """The states without some members; those that then have none are left out.

    Args:
        states: as from `states_in`.
        done: places of members that need their state no more.

    Example:
        >>> [one["places"].tolist() for one in remaining([{"places": np.array([[0, 1]])}], {1})]
        [[[0, -1]]]
    """
    gone = np.array(sorted(done), np.int64)
    kept = [{**one, "places": np.where(np.isin(one["places"], gone), -1, one["places"])} for one in states]
    return [one for one in kept if (one["places"] >= 0).any()]


def frozen(states: Sequence[State]) -> set[int]:
    """Places of the members that have failed already.

    Args:
        states: as from `states_in`.
    """
    return {int(place) for one in states for place in one["places"][np.asarray(one["state/failed_at"]) >= 0]} - {-1}
