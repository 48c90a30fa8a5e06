"""Signals while the program is being loaded: one line, exit code 130, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import superjax

STRUCK = """
import signal, sys

where, number = sys.argv[1], int(sys.argv[2])

class Strike:
    def find_spec(self, name, *_):
        if name == where:
            if name == "superjax.cli.app":
                assert not {"numpy", "absl", "jax"} & sys.modules.keys(), "too much is loaded before signals are heard"
            signal.raise_signal(number)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Strike())
from superjax.__main__ import entry
sys.argv[1:] = ["pack", "--k=3", "--d=2", "--out=run"]
entry()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("loading", ["superjax.cli.app", "absl", "jax"])
def test_a_signal_while_loading(loading, number, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", STRUCK, loading, str(int(number))],
        capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(superjax.__file__).parents[1])},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr.startswith("superjax: interrupted")
    assert "run it again" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
