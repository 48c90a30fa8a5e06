"""Joining fails in one line: nobody there, a port that is taken, no cluster, devices that have started, wrong flags."""

from __future__ import annotations

import json
import socket

import jax
import pytest

from superjax.cli import distributed, main
from superjax.cli.app import load
from superjax.cli.parsing import parse
from superjax.core.errors import InputError
from tests.distributed.processes import Processes, free_port

pytestmark = pytest.mark.processes

JOB = ("pack", "--k=3", "--d=3")


@pytest.fixture
def alone():
    """Another run's first process, whose other one never comes."""
    started = Processes()
    yield started
    started.kill()


def test_a_process_without_the_others_gives_up(processes, alone):
    processes.start(*JOB, place=1, timeout=2)
    alone.start(*JOB, place=0, timeout=2)
    [(code, out, complaint)] = processes.ends()
    assert (code, out, complaint.count("\n")) == (4, "", 1)
    assert f"--coordinator=127.0.0.1:{processes.port}: not reached within 2 s (Connection refused)" in complaint
    [(code, out, complaint)] = alone.ends()
    assert (code, out, complaint.count("\n")) == (4, "", 1)
    assert f"--coordinator=127.0.0.1:{alone.port}: not all processes joined within 2 s; start all" in complaint
    assert "--distributed_timeout" in complaint


def test_a_port_that_is_taken(processes):
    with socket.create_server(("", processes.port)):
        processes.start(*JOB)
        [(code, out, complaint)] = processes.ends()
    assert (code, out) == (2, "")
    assert f"127.0.0.1:{processes.port}: cannot listen there (Address already in use); give another port" in complaint


def test_devices_that_have_started(capsys):
    """real_problems 36: joining after the backend is up would do nothing, or hang."""
    assert jax.devices()
    assert main([*JOB, "--distributed", f"--coordinator=127.0.0.1:{free_port()}", "--num_processes=1"]) == 2
    assert capsys.readouterr().err == (
        "superjax: --distributed: JAX has started devices in this process; run it before that, or from the shell\n"
    )


def test_one_process_without_the_flag_joins_nothing(tmp_path, capsys):
    """real_problems 36."""
    assert main([*JOB, f"--out={tmp_path / 'run'}"]) == 0
    assert not jax.distributed.is_initialized()


def test_under_slurm_nobody_need_be_told_who_it_is(processes, tmp_path):
    """The variables that Slurm sets for two tasks on this host; the port follows from the job's number."""
    job = {"SLURM_JOB_ID": str(processes.port), "SLURM_STEP_NODELIST": "localhost", "SLURM_STEP_NUM_NODES": "1"}
    for place in range(2):
        task = {"SLURM_NTASKS": "2", "SLURM_PROCID": str(place), "SLURM_LOCALID": str(place)}
        processes.start(*JOB, f"--out={tmp_path / 'run'}", place=place, devices=2, cluster={**job, **task})
    first, other = processes.ends()
    assert (first[0], other) == (0, (0, "", "")), first
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["device_count"] == 4


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--process_id=1"], r"--process_id: means nothing alone; add --distributed"),
        (["--distributed", "--coordinator=a:1"], r"--num_processes: missing; --coordinator needs"),
        (["--distributed", "--num_processes=2", "--process_id=0"], r"--coordinator: missing"),
        (["--distributed", "--coordinator=a", "--num_processes=2", "--process_id=0"], r"give HOST:PORT"),
        (["--distributed", "--coordinator=a:65536", "--num_processes=2", "--process_id=0"], r"give HOST:PORT"),
        (["--distributed", "--coordinator=a:1", "--num_processes=2", "--process_id=2"], r"give 0 to 1"),
    ],
)
def test_flags_that_do_not_fit(flags, complaint):
    with pytest.raises(InputError, match=complaint):
        distributed.check(parse("pack", load("pack"), [*JOB[1:], *flags]))


def test_wrong_flags_and_no_cluster_end_a_worker_with_2(processes, alone, monkeypatch):
    for name in ("SLURM_JOB_ID", "OMPI_MCA_orte_hnp_uri", "KUBERNETES_SERVICE_HOST", "JAX_COORDINATOR_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    processes.start(*JOB, "--steps=none")
    alone.start(*JOB, cluster={})
    [(code, _, complaint)] = processes.ends()
    assert (code, complaint.count("\n")) == (2, 1)
    assert "--steps=none: give a positive integer" in complaint
    [(code, _, complaint)] = alone.ends()
    assert (code, complaint.count("\n")) == (2, 1)
    assert "--distributed: no cluster is detected here; give --coordinator=HOST:PORT" in complaint
