"""A small real file system for tests of full and read-only disks, gone with the process however it ends."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_NEW_MOUNTS = 0x00020000


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A tmpfs of `size` at `place`, in mounts of this process and its children alone: a killed test leaves none behind.

    Skips the test where no file system can be mounted.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    try:
        if libc.unshare(_NEW_MOUNTS):
            pytest.skip(f"no mounts of our own here: {os.strerror(ctypes.get_errno())}; run as root")
        try:
            place.mkdir()
            for command in (
                ["mount", "--make-rprivate", "/"],
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place],
            ):
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
            yield place
            subprocess.run(["umount", "-l", place], check=True)
        finally:
            if libc.setns(before, _NEW_MOUNTS):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(before)
