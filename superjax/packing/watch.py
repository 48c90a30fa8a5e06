"""Whom an optimisation tells how it goes on, and what it goes on from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from superjax.core import loop
from superjax.core.arrays import Arrays
from superjax.core.errors import InputError
from superjax.packing.anneal import PackingState

OnValue = Callable[[int, int, float], None]
"""Called with (steps done, steps, least value so far) as an optimisation goes on."""

OnCheckpoint = Callable[[Arrays], None]
"""Called with arrays by name from which it can go on exactly; to be read before it returns."""


def both(on_value: OnValue | None, on_progress: Callable[[int, int], None] | None) -> OnValue | None:
    """One `OnValue` that tells both; None where nobody is to be told.

    Args:
        on_value: told the value too.
        on_progress: told the steps alone.
    """
    if on_progress is None:
        return on_value

    def tell(done: int, steps: int, value: float) -> None:
        on_progress(done, steps)
        if on_value is not None:
            on_value(done, steps, value)

    return tell


@dataclass(frozen=True)
class Watch:
    """The callbacks of `pack`, and the checkpoint to go on from.

    Attributes:
        on_value: told how far it is.
        on_checkpoint: given what to keep.
        saved: what an earlier one was given; None to begin.
        around: arrays that every checkpoint holds beside the loop's: where the loop stands in the whole.
    """

    on_value: OnValue | None = None
    on_checkpoint: OnCheckpoint | None = None
    saved: Mapping[str, Any] | None = None
    around: Mapping[str, np.ndarray] = field(default_factory=dict)

    def within(self, **around: Any) -> Watch:
        """The same for a loop that is a part of the whole.

        Args:
            around: arrays that say which part.
        """
        return replace(self, around={**self.around, **{name: np.asarray(value) for name, value in around.items()}})

    def begun(self) -> Watch:
        """The same for the next loop, which has no checkpoint."""
        return replace(self, saved=None)

    def keep(self, now: loop.LoopState, steps: int) -> None:
        """Hand on a state of the loop.

        Args:
            now: the state.
            steps: of the loop in all.
        """
        if self.on_checkpoint is not None:
            self.on_checkpoint({**self.around, **now.arrays(steps)})


def saved_loop(saved: Mapping[str, Any], k: int, d: int, steps: int, packings: int | None = None) -> loop.LoopState:
    """A checkpoint's loop as it was laid out when it was saved.

    Args:
        saved: the checkpoint.
        k: vectors.
        d: their dimension.
        steps: of the loop in all.
        packings: that were optimised at once; None for one packing whose rows were spread over devices.

    Raises:
        InputError: it is another optimisation's.
    """
    shape, columns = np.shape(saved.get("state/x", ())), np.shape(saved.get("history/value", ()))
    if len(shape) != (2 if packings is None else 3) or len(columns) != 2 or shape[0] < (packings or k):
        raise InputError("checkpoint: belongs to another packing; start anew")
    rows = shape[:1] if packings is None else (shape[0], k)
    scalars = columns[1:] if packings is None else (shape[0], 1)

    def like(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, np.float32)

    wide, narrow, one = like(*rows, d), like(*rows, 1), like(*scalars)
    state = PackingState(x=wide, mean=wide, square=narrow, largest=one, least=one, best=wide, best_value=one)
    history = {"value": np.zeros((steps, columns[1]))}
    return loop.restore(loop.LoopState(np.asarray(0, np.int64), state, history), saved, steps)
