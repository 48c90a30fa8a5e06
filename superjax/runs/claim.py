"""A folder taken by one process: made if need be, locked against the others, and marked with whose it is."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import uuid
import warnings
from pathlib import Path

from superjax.core.errors import InputError, InputWarning

WRITER = ".writer"
"""The file that names who writes here; only its lock says whether they still do."""


class Claim:
    """A folder that this process alone writes, until `release`.

    The lock is the system's, on a file in the folder, since network disks lock no folders: it ends with the process,
    however that ends. Where the disk has no such lock, an `InputWarning` says so.

    Args:
        folder: made if absent, with its parents.
        fresh: it must not be there yet.

    Raises:
        InputError: another process has it.
        FileExistsError: it is there, and should be fresh.
        OSError: the disk refuses; what was made is gone again.

    Example:
        >>> import tempfile
        >>> place = Path(tempfile.mkdtemp()) / "a" / "b"
        >>> claim = Claim(place)
        >>> place.exists()
        True
        >>> claim.release(keep=False)
        >>> place.parent.exists(), place.parent.parent.exists()
        (False, True)
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        folder = folder.absolute()
        self._folder = folder
        self._made = [place for place in (folder, *folder.parents) if not place.exists()]
        self._lock: int | None = None
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(exist_ok=not fresh)
            self._lock = _locked(folder)
            with (folder / WRITER).open("w") as file:
                file.write(f"process {os.getpid()} on {socket.gethostname()}\n{uuid.uuid4().hex}\n")
                file.flush()
                os.fsync(file.fileno())  # for processes on other hosts
        except FileExistsError:  # another's
            raise
        except BaseException:  # an interrupt, too
            self.release(keep=False)
            raise

    def release(self, *, keep: bool) -> None:
        """Give the folder back.

        Args:
            keep: whether it stays even if nothing was written into it.
        """
        if self._lock is not None:
            with contextlib.suppress(OSError):
                (self._folder / WRITER).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                os.close(self._lock)
        for place in () if keep else self._made:
            with contextlib.suppress(OSError):  # no longer empty
                place.rmdir()


def writer(folder: Path) -> str | None:
    """What the process that writes the folder put down: who it is, and a word that no other claim has.

    Args:
        folder: of a run.

    Returns:
        Two lines; None where nobody writes, as far as this host sees.
    """
    try:
        return (folder / WRITER).read_text() or None
    except (OSError, UnicodeDecodeError):
        return None


def _locked(folder: Path) -> int:
    """The descriptor of the folder's own file, open and locked.

    Raises:
        InputError: another process has the lock.
        OSError: the disk refuses.
    """
    while True:
        lock = _lock(folder)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(folder / WRITER)):
                return lock
        os.close(lock)  # of a process that has just given the folder back, with this file


def _lock(folder: Path) -> int:
    """The same, of a file that may have been removed meanwhile."""
    for how in (os.O_RDONLY, os.O_RDWR):  # network disks lock only what can be written, which others then keep mounted
        lock = os.open(folder / WRITER, how | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            os.close(lock)
            named = writer(folder)
            who = f" ({named.splitlines()[0]})" if named else ""
            raise InputError(f"{_shown(folder)}: another process is writing here{who}; give another --out") from None
        except OSError as error:
            os.close(lock)
            cause = error.strerror
    warnings.warn(
        f"{_shown(folder)}: its disk has no locks ({cause}); let no other process write there",
        InputWarning,
        stacklevel=2,
    )
    return os.open(folder / WRITER, os.O_RDONLY)


def _shown(folder: Path) -> str:
    """The path as a user would write it: from the working folder, where it lies below that."""
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)
