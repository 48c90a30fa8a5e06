"""A disk that fills up or turns read-only under a run: exit 4, one line with the last saved step, and it goes on."""

from __future__ import annotations

import contextlib
import errno
import subprocess
import time

import pytest

from superjax.cli import main
from superjax.cli.endings import ENVIRONMENT, USAGE
from tests.faults import runs
from tests.faults.disks import small_disk
from tests.faults.runs import TRAIN, Run

pytestmark = pytest.mark.faults


@pytest.fixture
def disk(tmp_path):
    """A file system of 8 MB of its own."""
    with small_disk(tmp_path / "disk", "8m") as place:
        yield place


@contextlib.contextmanager
def full(disk):
    """Not a byte is free, whatever the run frees."""
    filler = disk / "filler"

    def fill():
        with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    yield fill
    filler.unlink()


@contextlib.contextmanager
def read_only(disk):
    """Nothing can be written any more."""

    def seal():
        subprocess.run(["mount", "-o", "remount,ro", disk], capture_output=True)  # refused while a file is written

    yield seal
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


@pytest.mark.parametrize(
    ("fault", "number"), [(full, errno.ENOSPC), (read_only, errno.EROFS)], ids=["full", "read_only"]
)
def test_a_disk_that_refuses_ends_the_run_with_its_last_saved_step_and_it_goes_on_later(disk, fault, number):
    folder = disk / "run"
    with Run(TRAIN, folder) as run:
        assert run.wait_for_report()
        with fault(disk) as strike:
            while run.process.poll() is None:
                strike()
                time.sleep(0.01)
            code, said = run.end()
    assert code == ENVIRONMENT, said
    assert said.count("\n") == 1, said
    assert {errno.ENOSPC: "No space left on device", errno.EROFS: "Read-only file system"}[number] in said
    done, step = runs.reported(folder)
    assert f"{folder} keeps what was saved before, last step " in said
    assert runs.step_in(said) >= step > runs.START
    assert not list(folder.rglob(".partial-*"))
    again = runs.finish(TRAIN, folder)
    assert runs.gone_on(again) >= (done, step)
    assert not runs.saving(folder)


def test_two_processes_on_one_run_folder_the_second_is_refused_at_its_start(tmp_path, capsys):
    folder = tmp_path / "run"
    with Run(TRAIN, folder) as run:
        assert run.wait_for(lambda: (folder / ".writer").exists() and (folder / ".writer").read_text())
        began = time.monotonic()
        assert main([*TRAIN, *runs.ALWAYS, f"--out={folder}"]) == USAGE
        assert run.process.poll() is None, "it had ended, and refused nothing"
        said = capsys.readouterr().err
    assert f"another process is writing here (process {run.process.pid} on " in said
    assert said.count("\n") == 1
    assert time.monotonic() - began < runs.PATIENCE_S
