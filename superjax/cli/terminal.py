"""Where the command line writes: answers to stdout; notes, complaints and progress to stderr."""

from __future__ import annotations

import os
import shutil
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from superjax.core.errors import InputWarning

_ERASE_LINE = "\r\x1b[2K"


class Terminal:
    """The two streams of a process, which may be a terminal, a file, or a pipe whose reader has gone.

    Args:
        out: for answers.
        err: for everything else.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self.err = err
        self._noted: set[str] = set()

    @property
    def width(self) -> int:
        """Characters a line: the terminal's, 80 where there is none."""
        return shutil.get_terminal_size((80, 24)).columns if self._out.isatty() else 80

    def say(self, text: str) -> None:
        """Print an answer."""
        _write(self._out, text + "\n")

    def note(self, text: str) -> None:
        """Print a remark on one line, once."""
        if text not in self._noted:
            self._noted.add(text)
            self._remark(f"note: {one_line(text)}")

    def complain(self, text: str) -> None:
        """Print what went wrong, on one line."""
        self._remark(f"superjax: {one_line(text)}")

    def complain_at_length(self, error: BaseException) -> None:
        """Print a traceback, where there is no folder to save it in."""
        _write(self.err, "".join(traceback.format_exception(error)))

    def _remark(self, line: str) -> None:
        # A progress bar may stand on this line; it draws itself again below.
        _write(self.err, (_ERASE_LINE if self.err.isatty() else "") + line + "\n")

    def of_process(self, number: int) -> Terminal:
        """The terminal of a process that is not the first: silent, but for complaints, which say whose they are."""
        return _PeerTerminal(self, number)

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Show the library's InputWarnings as notes; other warnings go where they went."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", InputWarning)
            show_others = warnings.showwarning

            def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
                if issubclass(category, InputWarning):
                    self.note(str(message))
                else:
                    show_others(message, category, *where, **more)

            warnings.showwarning = show
            yield


class _PeerTerminal(Terminal):
    def __init__(self, real: Terminal, number: int) -> None:
        nowhere = open(os.devnull, "w")  # noqa: SIM115  # open as long as the process lives
        super().__init__(nowhere, nowhere)
        self._real, self._number = real, number

    def complain(self, text: str) -> None:
        self._real.complain(f"process {self._number}: {text}")

    def complain_at_length(self, error: BaseException) -> None:
        self._real.complain_at_length(error)


def one_line(text: object) -> str:
    """The text with every run of white space, line ends among them, as one blank."""
    return " ".join(str(text).split())


def _write(stream: TextIO, text: str) -> None:
    """Write and flush; characters the stream cannot show are escaped, and a reader that has gone is no error."""
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # What is still buffered must go somewhere, or the interpreter complains as it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
