"""Folders that processes take: locked also where only files can be, and nothing left where the disk refuses."""

from __future__ import annotations

import errno
import fcntl
import os
import stat

import pytest

from superjax.core.errors import InputError, InputWarning
from superjax.runs import claim
from superjax.runs.claim import Claim, writer


@pytest.fixture
def network_disk(monkeypatch):
    """Locks as NFS has them: of files that are open for writing, of nothing else."""
    real = fcntl.flock

    def flock(descriptor, how):
        writing = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) or not writing:
            raise OSError(errno.EBADF, "Bad file descriptor")
        real(descriptor, how)

    monkeypatch.setattr(claim.fcntl, "flock", flock)


def test_a_network_disk_locks_too(tmp_path, network_disk):
    own = Claim(tmp_path / "r")
    with pytest.raises(InputError, match=rf"is writing here \(process {os.getpid()} on [^\n)]+\); give"):
        Claim(tmp_path / "r")
    own.release(keep=True)
    Claim(tmp_path / "r").release(keep=False)
    assert writer(tmp_path / "r") is None


def test_a_disk_without_locks_is_told_of(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(claim.fcntl, "flock", flock)
    with pytest.warns(InputWarning, match=r"its disk has no locks \(No locks available\); let no other process write"):
        Claim(tmp_path / "r").release(keep=False)
    assert not (tmp_path / "r").exists()


def test_a_lock_on_a_file_that_was_just_removed_is_none(tmp_path, monkeypatch):
    """Between our opening it and our lock, its owner gives the folder back."""
    first, real, tries = Claim(tmp_path / "r"), fcntl.flock, []

    def flock(descriptor, how):
        tries.append(descriptor)
        if len(tries) == 1:
            first.release(keep=True)
        real(descriptor, how)

    monkeypatch.setattr(claim.fcntl, "flock", flock)
    second = Claim(tmp_path / "r")
    assert len(tries) == 2
    assert writer(tmp_path / "r").startswith(f"process {os.getpid()} on ")
    with pytest.raises(InputError, match="another process is writing here"):
        Claim(tmp_path / "r")
    second.release(keep=False)


def test_every_claim_has_a_word_of_its_own(tmp_path):
    said = []
    for _ in range(2):
        own = Claim(tmp_path / "r")
        said.append(writer(tmp_path / "r"))
        own.release(keep=False)
    assert said[0].splitlines()[0] == said[1].splitlines()[0]
    assert said[0] != said[1]


def test_a_full_disk_keeps_nothing_of_a_claim(tmp_path, monkeypatch):
    def fsync(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(claim.os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        Claim(tmp_path / "deep" / "r")
    assert list(tmp_path.iterdir()) == []
