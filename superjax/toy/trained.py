"""What training gives, whom it tells on its way, and what is left of it when it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from superjax.core.arrays import Arrays
from superjax.toy.model import Params


class Trained(NamedTuple):
    """One trained member on the host.

    Attributes:
        params: W [n, m] and b [n], float32.
        loss: test loss, NaN if the member failed.
        loss_stderr: its standard error over test batches.
        history: [P] float64, mean training loss in each window.
        failed_at: first step whose loss or gradient was not finite, or -1.
    """

    params: Params
    loss: float
    loss_stderr: float
    history: np.ndarray
    failed_at: int

    @property
    def status(self) -> str:
        """ "trained", or "failed at step N" where it was frozen."""
        return "trained" if self.failed_at < 0 else f"failed at step {self.failed_at}"


@dataclass(frozen=True)
class Unfinished:
    """What is left of an ensemble's training that was stopped: hand it back, and it goes on.

    Attributes:
        trained: member's place in the ensemble -> what it became; these are not trained again.
        under_way: the newest checkpoint, as `on_checkpoint` got it; None where no member was half trained.
    """

    trained: Mapping[int, Trained] = field(default_factory=dict)
    under_way: Mapping[str, Any] | None = None


class Watchers(NamedTuple):
    """Who is told of the training of a group: callbacks of `train_ensemble`."""

    on_progress: Callable[[int], None]
    on_checkpoint: Callable[[Arrays], None] | None = None
    on_trained: Callable[[Mapping[int, Trained]], None] | None = None
