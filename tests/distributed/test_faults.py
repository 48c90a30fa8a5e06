"""A process that dies ends the others in one line, one that is told to stop stops all; either way the run goes on."""

from __future__ import annotations

import signal
import time

import numpy as np
import psutil
import pytest

from superjax.cli import main
from tests.distributed.processes import PATIENCE_S, wait_for

pytestmark = [pytest.mark.processes, pytest.mark.faults]

SILENCE_S = 8
"""What --distributed_timeout is here; by default it is 100."""

WELL_BEFORE_DEFAULT_S = 60

TRAIN = ("train", "--n=20", "--m=4", "--seeds=2", "--steps=40000", "--batch=16", "--checkpoint_steps=500")

PACK = ("pack", "--k=1030", "--d=8", "--steps=600", "--checkpoint_steps=25")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Arrays of the run that nobody stops, in one process."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert main([*TRAIN, f"--out={folder}", "--devices=2"]) == 0
    return arrays(folder)


def arrays(folder):
    with np.load(folder / "arrays.npz") as saved:
        return {name: saved[name] for name in saved.files}


def assert_same(found, expected):
    """What other devices may change in a member is far below what another number of steps would."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-3, atol=1e-4)


@pytest.fixture
def under_way(processes, tmp_path):
    """Two processes that have saved something of one run; the run's folder."""
    processes.start_both(*TRAIN, f"--out={tmp_path / 'run'}", devices=1, timeout=SILENCE_S)
    wait_for(tmp_path / "run" / "progress.json")
    return tmp_path / "run"


def assert_lost_peer(code, complaint, folder):
    *progress, complaint = complaint.splitlines()
    assert all("members: " in line for line in progress), progress
    assert code == 4
    assert complaint.startswith(f"superjax: a peer died or was lost; {folder} keeps what was saved before, last step ")
    assert f" of 40000; continue with: superjax {' '.join(TRAIN)} --out={folder} --distributed" in complaint


def test_the_first_process_dies(processes, under_way, undisturbed):
    """Its parent is killed with -9; the runtime aborts the other one, with a C++ stack that only the log has."""
    orphan = processes.worker(0)
    parent = psutil.Process(processes.started[0].pid)
    assert [any("jaxlib" in part.path for part in one.memory_maps()) for one in (parent, orphan)] == [False, True]
    processes.started[0].kill()
    psutil.wait_procs([orphan], timeout=PATIENCE_S)
    assert not orphan.is_running()
    died = time.monotonic()
    first, other = processes.ends()
    assert time.monotonic() - died < WELL_BEFORE_DEFAULT_S
    assert first[0] == -signal.SIGKILL
    assert_lost_peer(other[0], other[2].replace("process 1: ", ""), under_way)
    again = type(processes)()
    try:
        again.start_both(*TRAIN, f"--out={under_way}", devices=1)
        (code, _, notes), other = again.ends()
    finally:
        again.kill()
    assert (code, other) == (0, (0, "", ""))
    assert "going on: 0 of 4 members are done, the others at step " in notes
    assert_same(arrays(under_way), undisturbed)


def test_another_process_dies_and_the_run_goes_on_alone(processes, under_way, undisturbed, capsys):
    """Its worker is killed with -9, as a host without memory does; its parent says so."""
    processes.worker(1).kill()
    died = time.monotonic()
    first, other = processes.ends()
    assert time.monotonic() - died < WELL_BEFORE_DEFAULT_S
    assert_lost_peer(first[0], first[2], under_way)
    assert other[0] == 4
    assert other[2].startswith(f"superjax: the worker was ended by SIGKILL; {under_way} keeps what was saved before")
    assert main([*TRAIN, f"--out={under_way}"]) == 0
    assert "going on: 0 of 4 members are done, the others at step " in capsys.readouterr().err
    assert_same(arrays(under_way), undisturbed)


def test_one_process_is_told_to_stop(processes, tmp_path):
    """SIGTERM reaches one parent and its worker, as a scheduler sends it; both processes save the same step, and the
    packing goes on from it in one."""
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    processes.start_both(*PACK, f"--out={stopped}", devices=1)
    wait_for(stopped / "progress.json")
    processes.worker(1).terminate()
    processes.started[1].terminate()
    first, other = processes.ends()
    assert (first[0], other[0]) == (130, 130)
    said = first[2].splitlines()[-1]
    assert said.startswith("superjax: interrupted, saved at coherence_1030_8, restart 1, step ")
    assert said.split(";")[0] == other[2].replace("process 1: ", "").split(";")[0]
    for folder in (stopped, whole):
        assert main([*PACK, f"--out={folder}", "--devices=2"]) == 0
    assert_same(arrays(stopped), arrays(whole))
