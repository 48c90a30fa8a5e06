"""Chunks are chosen from the memory there is, and bound what an ensemble takes."""

from __future__ import annotations

import subprocess
import sys

import jax
import pytest

from superjax.core.errors import InputError
from superjax.core.host import Memory
from superjax.toy import memory
from superjax.toy.members import Program

PROGRAM = Program(n=1000, m=100, batch=2048, activation="relu", sparse=True)

RSS = """
import resource, sys
import jax
from superjax import toy
members = toy.grid(n=1000, m=50, batch=64, decay=[i / 512 for i in range(int(sys.argv[1]))])
small = toy.Training(steps=2, test_batches=2)
toy.train_ensemble(members[:2], small, chunk=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
toy.train_ensemble(members, small, chunk=int(sys.argv[2]))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_as_many_members_as_the_budget_holds():
    each, beside = memory.member_bytes(PROGRAM), memory.working_bytes(PROGRAM)
    devices = jax.devices()[:2]
    assert memory.members_at_a_time(PROGRAM, devices, 2 * beside + 10 * each) == 10
    assert memory.members_at_a_time(PROGRAM, devices, 2 * beside + each) == 1
    with pytest.raises(InputError, match=r"one member of 1000 x 100 .* give a smaller n, m or batch"):
        memory.members_at_a_time(PROGRAM, devices, 2 * beside + each - 1)


def test_there_is_memory():
    assert 2**28 < memory.available_bytes(jax.devices()) < 2**46


def test_it_is_what_the_control_group_leaves(monkeypatch):
    monkeypatch.setattr(memory, "host_memory", lambda: Memory(2000, 700))
    assert memory.available_bytes(jax.devices()) == 700


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [32, 512])
def test_512_members_stay_below_the_stated_peak(chunk):
    done = subprocess.run(
        [sys.executable, "-c", RSS, "512", str(chunk)], capture_output=True, text=True, check=True, timeout=600
    )
    program = Program(n=1000, m=50, batch=64, activation="relu", sparse=True)
    results = 512 * 4 * program.n * (program.m + 1)
    stated = chunk * memory.member_bytes(program) + results
    assert int(done.stdout) < 1.25 * stated + 2**27
