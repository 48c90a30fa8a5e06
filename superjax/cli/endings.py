"""How a run ends when it does not end well: the exit code, and the line that says what to do."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from superjax.cli.terminal import Terminal
from superjax.core.errors import EnvironmentFailure, InputError
from superjax.runs import RunFolder
from superjax.runs.results import ERROR, MANIFEST

DONE, INTERNAL, USAGE, PARTIAL, ENVIRONMENT, INTERRUPTED = 0, 1, 2, 3, 4, 130
REPORT_IT = "please report it together with the output of `superjax doctor`"

_MACHINE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EMFILE}


_ANEW = {"--noresume", "-noresume"}

LOST_PEER = "a peer died or was lost"

_PEER_GONE = (
    "Gloo", "NCCL", "Connection closed by peer", "coordination service", "CoordinationService", "UNAVAILABLE",
    "barrier", "Barrier",
)  # fmt: skip
"""What the runtime or Orbax says, in one way or another, when another process of the run has gone."""


def partial(failures: Sequence[str], terminal: Terminal) -> int:
    """List what failed while the rest was done; no failure is success."""
    for failure in failures:
        terminal.complain(f"failed: {failure}")
    return PARTIAL if failures else DONE


def interrupted(argv: Sequence[str], folder: RunFolder | None, saved: str | None, terminal: Terminal) -> int:
    """Say how to go on: with the folder that was begun, or from the start.

    Args:
        argv: the command line.
        folder: the run folder, if there is one.
        saved: where the work stood when it was last saved.
        terminal: where to say so.
    """
    if folder is not None and keeps(argv, folder):
        stands = f", saved at {saved}" if saved else ""
        terminal.complain(f"interrupted{stands}; {_continue_with(argv, folder)}")
    else:
        terminal.complain(f"interrupted, nothing was saved; run it again with: superjax {shlex.join(argv)}")
    return INTERRUPTED


def environment_failed(
    cause: str, argv: Sequence[str], folder: RunFolder | None, saved: str | None, terminal: Terminal
) -> int:
    """Say what the machine could not do, what is left, and how to go on.

    Args:
        cause: what it could not do.
        argv: the command line.
        folder: the run folder, if there is one.
        saved: where the work stood when it was last saved.
        terminal: where to say so.
    """
    kept = what_is_kept(argv, folder, saved) if folder is not None and keeps(argv, folder) else "nothing was saved"
    terminal.complain(f"{cause}; {kept}")
    return ENVIRONMENT


def keeps(argv: Sequence[str], folder: RunFolder) -> bool:
    """Whether the folder has something to go on from: this process's work, or an earlier one's that was taken up.

    Args:
        argv: the command line.
        folder: the run folder.
    """
    return folder.begun or ((folder.path / MANIFEST).exists() and not _ANEW.intersection(argv))


def what_is_kept(argv: Sequence[str], folder: RunFolder, saved: str | None) -> str:
    """What a run that has begun leaves when it ends now, and how to go on.

    Args:
        argv: the command line.
        folder: the run folder.
        saved: where the work stood when it was last saved.
    """
    last = f", last {saved}" if saved else ""
    return f"{folder.path} keeps what was saved before{last}; {_continue_with(argv, folder)}"


def _continue_with(argv: Sequence[str], folder: RunFolder) -> str:
    """The command line that goes on in the folder."""
    named = any(argument.lstrip("-").startswith("out=") or argument.lstrip("-") == "out" for argument in argv)
    going_on = [*(one for one in argv if one not in _ANEW), *([] if named else [f"--out={folder.path}"])]
    return f"continue with: superjax {shlex.join(going_on)}"


def environment_cause(error: BaseException, *, joined: bool = False) -> str | None:
    """The machine's part in an error, in one line; None when it is the program's own fault.

    Args:
        error: what ended the run.
        joined: whether the run has joined other processes, so that one of them may be the cause.

    Example:
        >>> environment_cause(OSError(errno.ENOSPC, "No space left on device", "runs/x"))
        "[Errno 28] No space left on device: 'runs/x'"
        >>> environment_cause(KeyError("x")) is None
        True
    """
    if any(_is_of_a_lost_peer(one, joined) for one in _chain(error)):
        return LOST_PEER
    if isinstance(error, EnvironmentFailure):
        return str(error)
    if isinstance(error, OSError) and error.errno in _MACHINE_ERRORS:
        return str(error)
    return out_of_memory(error)


def out_of_memory(error: BaseException) -> str | None:
    """What lacked memory, in one line; None for another error.

    Example:
        >>> out_of_memory(MemoryError("4 GiB")), out_of_memory(ValueError("4 GiB"))
        ('out of memory (4 GiB)', None)
    """
    if isinstance(error, MemoryError):
        return f"out of memory ({error})" if str(error) else "out of memory"
    # By name: without a device there is no need to import jax in order to know.
    exhausted = any(words in str(error) for words in ("RESOURCE_EXHAUSTED", "Out of memory"))
    if type(error).__name__ == "JaxRuntimeError" and exhausted:
        return f"out of device memory ({str(error).splitlines()[0]})"
    return None


def _chain(error: BaseException) -> list[BaseException]:
    """The error and all that led to it, each once."""
    found = [error]
    for one in found:
        causes = (one.__cause__, one.__context__)
        found += [cause for cause in causes if cause is not None and all(cause is not other for other in found)]
    return found


def _is_of_a_lost_peer(error: BaseException, joined: bool) -> bool:
    """Jax raises a ValueError at times, and Orbax wraps what it gets: among others, the words decide."""
    return (joined or type(error).__name__ == "JaxRuntimeError") and any(words in str(error) for words in _PEER_GONE)


def crashed(
    error: Exception, folder: RunFolder | None, entries: Callable[[], dict[str, Any]], terminal: Terminal
) -> int:
    """Keep the traceback in the run folder, or print it where there is none, and ask for a report.

    Args:
        error: what was raised.
        folder: the run folder, or None.
        entries: makes the manifest.
        terminal: where to complain.
    """
    kept = folder is not None and _keep_traceback(error, folder, entries)
    if folder is not None and kept:
        where = f"traceback in {folder.path / ERROR}"
    else:
        terminal.complain_at_length(error)
        where = "traceback above"
    terminal.complain(f"internal error, {type(error).__name__}: {error}; {where}; {REPORT_IT}")
    return INTERNAL


def _keep_traceback(error: Exception, folder: RunFolder, entries: Callable[[], dict[str, Any]]) -> bool:
    try:
        if not folder.begun:
            folder.begin(entries())
        folder.write_text(ERROR, "".join(traceback.format_exception(error)))
        folder.finish(entries(), status="failed")
    except (EnvironmentFailure, InputError):
        return False
    return True


def end_at_once(code: int) -> NoReturn:
    """End the process without waiting for threads that wait for something else.

    Args:
        code: the exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)
