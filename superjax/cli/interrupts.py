"""SIGINT and SIGTERM: they end a run at once where nothing is lost by it, else as soon as its state is saved."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

_ONCE_S = 2.0
"""Signals that follow each other faster are one: `timeout` and terminals send them to a process and to its group."""


class Interrupts:
    """While the block runs, a signal raises KeyboardInterrupt, or waits for `deferred` work to come to a point.

    A second one does not wait. Without effect outside of the main thread, which alone gets signals; a signal that the
    process was started to ignore stays ignored.
    """

    def __init__(self) -> None:
        self.deferred = False
        """Whether work is under way that would be lost."""
        self.requested = False
        """Whether an end is asked for, and waits."""
        self._before: dict[int, Any] = {}
        self._last = -_ONCE_S
        self._told = sys.unraisablehook

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._hear)
        self._told, sys.unraisablehook = sys.unraisablehook, self._tell
        return self

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self._told
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def settle(self) -> None:
        """Nothing is under way any more: what waited happens.

        Raises:
            KeyboardInterrupt: an end was asked for.
        """
        self.deferred = False
        if self.requested:
            raise KeyboardInterrupt

    def _tell(self, what: sys.UnraisableHookArgs) -> None:
        """An end that was asked for in a place which cannot raise it comes with the next state; no stack of it."""
        if what.exc_type is not KeyboardInterrupt:
            self._told(what)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        repeated, self._last = now - self._last < _ONCE_S, now
        if self.deferred and (repeated or not self.requested):
            self.requested = True
            return
        if not repeated or not self.requested:
            self.requested = True
            raise KeyboardInterrupt
