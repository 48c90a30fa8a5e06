"""Silence where Orbax tells again, late and at length, what the command says in one line."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

_SILENT = logging.CRITICAL + 1
_LATE = "Event loop is closed"
"""What a thread says that brings the news of a write when nobody waits for it any more."""


@contextmanager
def quiet_orbax() -> Iterator[None]:
    """Keep Orbax from printing stacks of errors that it raises as well, of threads and tasks that notice late."""
    loggers = [logging.getLogger(name) for name in ("absl", "asyncio")]
    levels, hook, unraisable_hook = [logger.level for logger in loggers], sys.excepthook, sys.unraisablehook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if str(error) != _LATE:
            hook(kind, error, trace)

    def show_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
        if str(unraisable.exc_value) != _LATE:
            unraisable_hook(unraisable)

    for logger in loggers:
        logger.setLevel(_SILENT)
    sys.excepthook, sys.unraisablehook = show, show_unraisable
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"coroutine .* was never awaited", RuntimeWarning)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        sys.excepthook, sys.unraisablehook = hook, unraisable_hook
