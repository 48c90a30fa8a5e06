"""Real runs of `superjax` in processes of their own, ended at moments of our choosing."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

PATIENCE_S = 240.0
"""A loaded machine is slow; only a run that hangs takes this long."""

ALL = 10**9
START = (0, 0)
NOTHING, EVERYTHING = (0, START), (ALL, START)
"""More items than any run has."""

TRAIN = ("train", "--n=40", "--m=3,5", "--decay=-1,1", "--seeds=2", "--steps=8000", "--batch=128", "--chunk=3")
PACK = ("pack", "--k=12,170", "--d=5", "--steps=1500", "--restarts=3", "--save_vectors")
ALWAYS = ("--checkpoint_every=0", "--devices=2")


class Run:
    """One process of `superjax`, writing into `folder`.

    Args:
        arguments: the command and its flags.
        folder: its run folder.
        flags: further flags.
    """

    def __init__(self, arguments, folder, *flags):
        self.folder = Path(folder)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "superjax", *arguments, *ALWAYS, f"--out={folder}", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def wait_for(self, happened):
        """Wait until `happened()`, or the run is over; says which."""
        until = time.monotonic() + PATIENCE_S
        while not happened():
            if self.process.poll() is not None:
                return False
            assert time.monotonic() < until, "the run hangs"
            time.sleep(0.002)
        return True

    def wait_for_report(self):
        """Wait until this process has reported a state saved that was not before."""
        before = reported(self.folder)
        return self.wait_for(lambda: reported(self.folder) > before and reported(self.folder)[1] > START)

    def send(self, number):
        """Send a signal; the exit code, and what stood on stderr."""
        self.process.send_signal(number)
        return self.end()

    def kill(self):
        """End it without a word; says whether it was still running."""
        code, said = self.send(signal.SIGKILL)
        assert code in (0, -signal.SIGKILL), said
        return code != 0

    def end(self):
        """The exit code, and what stood on stderr."""
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said


def environment():
    return {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONUNBUFFERED": "1"}


def finish(arguments, folder, *flags):
    """Run to the end; what stood on stderr."""
    with Run(arguments, folder, *flags) as run:
        code, said = run.end()
    assert code == 0, said
    return said


def saving(folder):
    """Whether a checkpoint is half written just now."""
    return any((Path(folder) / "checkpoints" / "state").glob("*tmp*"))


def reported(folder):
    """What `progress.json` says is saved: (items done, where what is under way stands)."""
    try:
        progress = json.loads((Path(folder) / "progress.json").read_text())
    except FileNotFoundError:
        return EVERYTHING if finished(folder) else NOTHING
    return progress.get("done", 0), step_in(progress.get("saved") or "")


def finished(folder):
    """Whether the manifest says so."""
    manifest = Path(folder) / "manifest.json"
    return manifest.exists() and json.loads(manifest.read_text())["status"] == "finished"


def gone_on(said):
    """Where a run says that it goes on: (items done, where what is under way stands)."""
    match = re.search(r"going on: (\d+) of \d+ (?:members|cells) are done(.*)", said)
    return (int(match[1]), step_in(match[2])) if match else NOTHING


def step_in(text):
    """(Round or restart, step) of a loop's state."""
    match = re.search(r"(?:(?:round|restart) (\d+), )?step (\d+) of", text)
    return (int(match[1] or 0), int(match[2])) if match else START


def table(folder):
    """The rows of `table.csv`, but for the seconds they took."""
    with (Path(folder) / "table.csv").open() as file:
        return [{name: cell for name, cell in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def assert_same_results(folder, reference):
    """Bit for bit: the table, every array, every vector."""
    assert table(folder) == table(reference)
    files = [
        path.relative_to(reference) for path in Path(reference).rglob("*.np[yz]") if "checkpoints" not in str(path)
    ]
    assert Path("arrays.npz") in files
    for name in files:
        ours, theirs = np.load(Path(folder) / name), np.load(Path(reference) / name)
        if isinstance(theirs, np.ndarray):
            np.testing.assert_array_equal(ours, theirs)
            continue
        assert ours.files == theirs.files
        for array in theirs.files:
            np.testing.assert_array_equal(ours[array], theirs[array])
