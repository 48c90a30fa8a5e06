"""What the command line keeps of work under way: when to save, and how an interrupt finds it saved."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from superjax.cli.interrupts import Interrupts
from superjax.core import processes
from superjax.core.arrays import Arrays
from superjax.core.errors import EnvironmentFailure
from superjax.runs.store import Saved, Store


class Checkpoints:
    """A running command's checkpoints; the library calls `offer` whenever its work stands at a point to go on from.

    Args:
        folder: for records of what is done, the same in every process; None where nothing is kept.
        store: the states in it.
        interrupts: asks for the end of the run.
        begin: makes the run folder, before the first checkpoint.
        report: told where the work stood when a checkpoint is known to be on the disk.
    """

    def __init__(
        self,
        folder: Path | None,
        store: Store | None,
        interrupts: Interrupts,
        begin: Callable[[], Any],
        report: Callable[[str], None],
    ) -> None:
        self.folder = folder
        self._store, self._interrupts, self._begin, self._report = store, interrupts, begin, report
        self._noticed = 0
        self._saved: str | None = None
        self._last: tuple[Arrays, str] | None = None

    @property
    def saved(self) -> str | None:
        """What is on the disk by now, in words: where the newest state stands, or what has been done since."""
        with suppress(EnvironmentFailure):  # it is told in what ends the run, if a full disk takes no report of it
            self._notice()
        return self._saved

    def newest(self) -> Saved | None:
        """The newest whole checkpoint that an earlier process left."""
        return None if self._store is None else self._store.newest()

    def offer(self, arrays: Arrays, item: str = "") -> None:
        """Save if it is time, or if an end is asked for: then all that is under way is saved, and the run ends.

        Args:
            arrays: the state, its `step` and the `steps` of the whole among them; read before this returns.
            item: what it is a state of.

        Raises:
            KeyboardInterrupt: an end was asked for.
            EnvironmentFailure: the disk refuses.
        """
        self._interrupts.deferred, self._last = True, None
        ending = processes.any_of_them(self._interrupts.requested)
        if self._store is not None and (self._store.due(int(arrays["step"])) or ending):
            self._begin()
            self._store.save(arrays, item)
            if ending:
                self._store.wait()
        self._notice()
        if ending:
            raise KeyboardInterrupt
        if int(arrays["step"]) == int(arrays["steps"]):  # nothing overwrites these arrays any more
            self._last = arrays, item
            if processes.alone():
                self._interrupts.settle()

    def done(self, what: str) -> None:
        """The work that was offered last is done, and kept otherwise.

        Args:
            what: all that is done by now, in words.
        """
        self._last, self._saved = None, what
        if self._store is not None:  # a state of that work which gets to the disk only now is no news
            self._noticed = self._store.saves

    def save_last(self) -> None:
        """Save the end of a loop whose results are not yet kept otherwise."""
        if self._store is not None and self._last is not None and processes.alone():
            self._begin()
            self._store.save(*self._last)
            self._store.wait()
            self._last = None

    def _notice(self) -> None:
        """Report a state that is known to be on the disk since the last look."""
        if self._store is None or self._store.complete <= self._noticed or self._store.committed is None:
            return
        self._noticed, self._saved = self._store.complete, self._store.committed
        self._report(self._store.committed)
