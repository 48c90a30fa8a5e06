"""Starting `superjax COMMAND --distributed` as several processes of this host, and seeing that none is left."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

import superjax

PATIENCE_S = 120
"""Seconds after which a process is taken to hang; a busy machine takes a fraction of them."""


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


class Processes:
    """The processes of one run, each with its parent."""

    def __init__(self) -> None:
        self.port = free_port()
        self._notes = tempfile.TemporaryDirectory()
        self.started: list[subprocess.Popen] = []

    def start(
        self, *arguments: str, place: int = 0, of: int = 2, devices: int = 4, timeout: int = 60,
        cluster: dict[str, str] | None = None, cwd: Path | None = None,
    ) -> None:  # fmt: skip
        """Start one of them; who it is, it is told by flags, or by a cluster's variables."""
        flags = [f"--coordinator=127.0.0.1:{self.port}", f"--num_processes={of}", f"--process_id={place}"]
        flags = flags if cluster is None else []
        self.started.append(
            subprocess.Popen(
                [sys.executable, "-m", "superjax", *arguments, "--distributed", *flags, f"--devices={devices}",
                 f"--distributed_timeout={timeout}"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=cwd,
                env={**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "TMPDIR": self._notes.name,
                     "PYTHONPATH": str(Path(superjax.__file__).parents[1]), **(cluster or {})},
            )
        )  # fmt: skip

    def start_both(self, *arguments: str, **options: Any) -> None:
        for place in range(2):
            self.start(*arguments, place=place, **options)

    def worker(self, place: int) -> psutil.Process:
        """The worker under a parent."""
        return psutil.Process(self.started[place].pid).children()[0]

    def ends(self) -> list[tuple[int, str, str]]:
        """Exit code, stdout and stderr of each, in the order of their start."""
        return [(one.wait(), out, err) for one in self.started for out, err in [one.communicate(timeout=PATIENCE_S)]]

    def kill(self) -> None:
        """Leave nothing behind."""
        for one in self.started:
            for child in psutil.Process(one.pid).children(recursive=True) if one.poll() is None else []:
                child.kill()
            one.kill()
            one.communicate()
        self._notes.cleanup()


def wait_for(path: Path) -> None:
    """Wait until there is something at the path."""
    until = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not come"
        time.sleep(0.05)
