"""The small process above a distributed worker: it passes signals on, and makes one line of a worker that was aborted.

When a peer dies, the runtime aborts the survivors with a C++ stack. So `superjax COMMAND --distributed` starts itself
again as a worker, and waits. The worker leaves notes in a folder of their own: what the runtime prints, and what to say
if the worker vanishes. This module imports no jax.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from absl import flags

from superjax.cli.endings import ENVIRONMENT, INTERRUPTED
from superjax.cli.terminal import Terminal

_WORKER = "SUPERJAX_WORKER"
"""In a worker's environment: the pipe that tells whether its parent lives, and the folder of their notes."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def wanted(arguments: Sequence[str]) -> bool:
    """Whether a command's arguments ask for `--distributed`; mistakes are left to the worker.

    Args:
        arguments: what follows the command's name.

    Example:
        >>> wanted(["--k=8", "--distributed", "--process_id=1"]), wanted(["--k=8", "--nodistributed"])
        (True, False)
    """
    values = flags.FlagValues()
    values.set_gnu_getopt(True)
    flags.DEFINE_bool("distributed", False, "", flag_values=values)
    try:
        values(["superjax", *arguments], known_only=True)
    except flags.Error:
        return False
    return values.distributed


def supervise(arguments: Sequence[str], terminal: Terminal) -> int:
    """Run the command in a worker, and wait for it.

    Args:
        arguments: the whole command line after the program's name.
        terminal: where to complain.

    Returns:
        The worker's exit code; 4 when it was aborted or killed.
    """
    notes = Notes(Path(tempfile.mkdtemp(prefix="superjax-")))
    listening, holding = os.pipe()
    # What lies in the working folder must not come before what is installed, unless it did so for this process.
    safe = [] if sys.path[0] in ("", os.getcwd()) else ["-P"]
    worker = subprocess.Popen(
        [sys.executable, *safe, "-m", "superjax", *arguments],
        env={**os.environ, _WORKER: f"{listening}:{notes.folder}"}, pass_fds=(listening,),
        stdin=subprocess.DEVNULL, process_group=0,
    )  # fmt: skip
    os.close(listening)
    try:
        with _passing_on(worker) as passed:
            code = worker.wait()
    finally:
        os.close(holding)
    if code >= 0:
        notes.remove()
        return code
    if passed and -code in passed:
        notes.remove()
        terminal.complain("interrupted before anything was saved; run it again")
        return INTERRUPTED
    terminal.complain(notes.epitaph(-code))
    return ENVIRONMENT


@contextmanager
def _passing_on(worker: subprocess.Popen[bytes]) -> Iterator[set[int]]:
    """Pass signals on to the worker while the block runs; yields the set of those that came."""
    passed: set[int] = set()

    def pass_on(number: int, _: object) -> None:
        passed.add(number)
        worker.send_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield passed
        return
    before = {number: signal.signal(number, pass_on) for number in _SIGNALS}
    try:
        yield passed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class Notes:
    """What a worker leaves for its parent.

    Attributes:
        folder: theirs alone; removed when all went well.
    """

    folder: Path

    @property
    def log(self) -> Path:
        """What the runtime prints."""
        return self.folder / "runtime.log"

    def expect(self, cause: str, remedy: str) -> None:
        """Put down what it will mean if the worker is aborted from now on, and what to do then."""
        temporary = self.folder / "expected.new"
        temporary.write_text(f"{cause}\n{remedy}")
        os.replace(temporary, self.folder / "expected")

    def epitaph(self, number: int) -> str:
        """One line on a worker that ended by a signal.

        Args:
            number: of the signal.
        """
        try:
            cause, remedy = (self.folder / "expected").read_text().split("\n")
        except (OSError, ValueError):
            cause, remedy = "the worker did not start", "try the command without --distributed"
        if number != signal.SIGABRT:
            cause = f"the worker was ended by {signal.Signals(number).name}"
        return f"{cause}; {remedy}; the runtime's own words are in {self.log}"

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Worker:
    """This process, where it is the worker of a parent.

    Attributes:
        notes: what to leave for the parent.
    """

    notes: Notes


def this_worker() -> Worker | None:
    """This process as a worker, ready to work: apart from the runtime's words, and gone when its parent is."""
    told = os.environ.pop(_WORKER, None)
    if told is None:
        return None
    listening, folder = told.split(":", 1)
    worker = Worker(Notes(Path(folder)))
    for heard, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(heard) is not signal.SIG_IGN:
            signal.signal(heard, usual)  # the parent says how it ended
    sys.stdout, sys.stderr = _own(sys.stdout), _own(sys.stderr)
    log = os.open(worker.notes.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    logging.basicConfig(stream=os.fdopen(log, "w", buffering=1), force=True)  # what JAX and Orbax log, stacks and all
    threading.Thread(target=_follow, args=(int(listening),), daemon=True).start()
    return worker


def _own(stream: TextIO) -> TextIO:
    """The same stream under a number of its own, since the runtime writes to the usual one."""
    return os.fdopen(os.dup(stream.fileno()), "w", buffering=1, encoding=stream.encoding, errors=stream.errors)


def _follow(listening: int) -> None:
    """Die with the parent: the pipe has an end when the parent has."""
    os.read(listening, 1)
    os.kill(os.getpid(), signal.SIGKILL)
