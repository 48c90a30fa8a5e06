"""Which of the processes of a run this is, and what they decide together; alone, each decides for itself."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from superjax.cli.endings import DONE, PARTIAL
from superjax.core.errors import EnvironmentFailure, InputError

T = TypeVar("T")

_FAILED = -1.0

_REFUSED = "\0"
"""In front of a refusal that the first process tells the others."""


@dataclass(frozen=True)
class Place:
    """Which of the processes of a run this is.

    Attributes:
        process: its number; the first one, 0, writes and speaks.
        processes: how many there are.
        expect: told, in a worker, what it means if the runtime aborts the process from now on, and the remedy.
    """

    process: int = 0
    processes: int = 1
    expect: Callable[[str, str], None] = lambda cause, remedy: None

    @property
    def first(self) -> bool:
        """Whether this process writes the run folder, and speaks."""
        return self.process == 0

    def told(self, answer: Callable[[], str]) -> str:
        """The first process's answer, in every process.

        Args:
            answer: what only the first process can tell.

        Raises:
            InputError, EnvironmentFailure: in every process, when the answer raised it.
        """
        if self.processes == 1:
            return answer()
        from superjax.core import processes

        try:
            text = answer() if self.first else ""
        except (InputError, EnvironmentFailure) as error:
            processes.agreed_text(f"{_REFUSED}{type(error).__name__}:{error}")
            raise
        text = processes.agreed_text(text)
        if text.startswith(_REFUSED):
            kind, _, cause = text.removeprefix(_REFUSED).partition(":")
            raise (InputError if kind == InputError.__name__ else EnvironmentFailure)(cause)
        return text

    def decided(self, question: Callable[[], bool]) -> bool:
        """The first process's answer to a question of yes or no, in every process; raises as `told` does.

        Args:
            question: what only the first process can tell.
        """
        return bool(self.told(lambda: "yes" if question() else ""))

    def together(self, work: Callable[[], T], content: Callable[[T], Iterable[bytes | memoryview]]) -> T:
        """What the work gives, when it gives the same in every process.

        Args:
            work: such as reading a file, which may be absent on one host, or another one.
            content: what must be the same of it, as bytes.

        Raises:
            InputError: in every process, when the work raised it in one or gave another content.
        """
        if self.processes == 1:
            return work()
        from superjax.core import processes

        try:
            found = work()
        except InputError:
            processes.everyones(_FAILED)
            raise
        checksum = 0
        for part in content(found):
            checksum = zlib.crc32(part, checksum)
        everyones = processes.everyones(checksum)
        if _FAILED in everyones:
            raise InputError(f"process {everyones.index(_FAILED)} cannot go on; see what it says")
        for process, other in enumerate(everyones):
            if other != everyones[0]:
                raise InputError(f"process {process} has other settings or files than process 0; give all the same")
        return found

    def ended_as_the_first(self, code: int) -> int:
        """The exit code of the first process, for one that did its part; it comes when all is saved.

        Args:
            code: this process's own.
        """
        if self.processes == 1 or code not in (DONE, PARTIAL):
            return code
        from superjax.core import processes

        return processes.agreed(code)


ALONE = Place()
"""The one process of an ordinary run."""
