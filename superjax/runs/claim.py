"""A folder taken by one process: made if need be, locked against the others, and marked with whose it is."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from pathlib import Path

from superjax.core.errors import InputError

WRITER = ".writer"
"""The file that names who writes here; only a lock says whether they still do."""


class Claim:
    """A folder that this process alone writes, until `release`.

    The lock is the system's, on the folder itself: it ends with the process, however that ends. Some network disks have
    no such lock.

    Args:
        folder: made if absent, with its parents.
        fresh: it must not be there yet.

    Raises:
        InputError: another process has it.
        FileExistsError: it is there, and should be fresh.
        OSError: the disk refuses.

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
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(exist_ok=not fresh)
        self._lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise InputError(
                f"{_shown(folder)}: another process is writing here{_writer(folder)}; give another --out"
            ) from None
        except OSError:
            pass
        (folder / WRITER).write_text(f"process {os.getpid()} on {socket.gethostname()}")

    def release(self, *, keep: bool) -> None:
        """Give the folder back.

        Args:
            keep: whether it stays even if nothing was written into it.
        """
        with contextlib.suppress(OSError):
            (self._folder / WRITER).unlink(missing_ok=True)
        for place in () if keep else self._made:
            with contextlib.suppress(OSError):  # no longer empty
                place.rmdir()
        os.close(self._lock)


def _writer(folder: Path) -> str:
    try:
        return f" ({(folder / WRITER).read_text()})"
    except OSError:
        return ""


def _shown(folder: Path) -> str:
    """The path as a user would write it: from the working folder, where it lies below that."""
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)
