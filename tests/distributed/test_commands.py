"""train, pack and embed as two processes of four devices each give what one process of eight gives."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from superjax.cli import main
from tests import oracles

pytestmark = pytest.mark.processes


@pytest.fixture
def both(processes, tmp_path):
    """A command, run as two processes and as one: their folders."""

    def run(*arguments):
        two, one = tmp_path / "two", tmp_path / "one"
        processes.start_both(*arguments, f"--out={two}")
        first, other = processes.ends()
        assert (first[0], other[0]) == (0, 0), (first, other)
        assert other[1:] == ("", ""), "only the first process speaks"
        assert main([*arguments, f"--out={one}"]) == 0
        assert "8 devices" in first[1]
        assert "Gloo" not in first[1] + first[2], "the runtime speaks into its log"
        assert json.loads((two / "manifest.json").read_text())["device_count"] == 8
        assert {path.name for path in two.rglob("*.*")} == {path.name for path in one.rglob("*.*")}
        return two, one

    return run


def table(folder):
    with (folder / "table.csv").open() as file:
        return list(csv.DictReader(file))


def test_train(both):
    two, one = both("train", "--n=20", "--m=4", "--decay=-1,1", "--seeds=4", "--steps=20", "--batch=64")
    with np.load(two / "arrays.npz") as ours, np.load(one / "arrays.npz") as theirs:
        assert ours.files == theirs.files
        for name in theirs.files:
            np.testing.assert_allclose(ours[name], theirs[name], atol=1e-5)
    for ours, theirs in zip(table(two), table(one), strict=True):
        assert float(ours["loss"]) == pytest.approx(float(theirs["loss"]), rel=1e-5)


def test_pack(both):
    """A small cell, whose restarts are spread over the processes, and one whose rows are."""
    two, one = both("pack", "--k=12,100", "--d=8", "--restarts=1", "--steps=16", "--save_vectors")
    small, large = zip(table(two), table(one), strict=True)
    assert float(small[0]["value"]) == pytest.approx(float(small[1]["value"]), abs=1e-9)
    assert float(large[0]["value"]) == pytest.approx(float(large[1]["value"]), abs=1e-5)
    ours, theirs = (np.load(folder / "vectors" / "coherence_100_8.npy") for folder in (two, one))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_embed(both, tmp_path):
    rows = np.random.default_rng(0).standard_normal((401, 16)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    two, one = both("embed", f"--checkpoint={tmp_path / 'rows.npy'}", "--bins=64", "--neighbors=2")
    for folder in (two, one):
        with np.load(folder / "arrays.npz") as arrays:
            oracles.assert_counts_match(arrays["counts_0"], oracles.pair_products(oracles.unit(rows)), 64)
    ours, theirs = (json.loads((folder / "summary.json").read_text())["matrices"][0] for folder in (two, one))
    assert ours == theirs


EMBED, PACK = ("embed", "--checkpoint"), ("pack", "--k=9", "--d=3", "--steps=5", "--init")


@pytest.mark.parametrize(
    ("command", "there"), [(EMBED, False), (EMBED, True), (PACK, True)], ids=["absent", "another", "start"]
)
def test_what_one_process_cannot_read_or_reads_otherwise_ends_both(processes, tmp_path, command, there):
    """One path, but a file of each process's own, as on hosts without a common disk."""
    for place in range(2):
        (home := tmp_path / str(place)).mkdir()
        if place == 0 or there:
            np.save(home / "rows.npy", np.eye(9, 3) + 1 + place)
        *arguments, file = command
        path, out = "/proc/self/cwd/rows.npy", f"--out={tmp_path / 'run'}"
        processes.start(*arguments, f"{file}={path}", out, place=place, devices=1, cwd=home)
    ends = processes.ends()
    assert [code for code, _, _ in ends] == [2, 2], ends
    if there:
        complaint = "process 1 has other settings or files than process 0; give all the same\n"
        assert [said for _, _, said in ends] == [f"superjax: {complaint}", f"superjax: process 1: {complaint}"]
    else:
        assert ends[0][2] == "superjax: process 1 cannot go on; see what it says\n"
        assert ends[1][2].startswith("superjax: process 1: /proc/self/cwd/rows.npy: ")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("there", [False, True], ids=["absent", "another"])
def test_a_disk_that_one_process_does_not_see_ends_both(processes, tmp_path, there):
    """One path, but a disk of each host's own; one may have such a folder, and a process before left it there."""
    for place in range(2):
        (home := tmp_path / str(place)).mkdir()
        if place == 1 and there:
            (home / "run").mkdir()
            (home / "run" / ".writer").write_text("process 1 on elsewhere")
        processes.start(
            "pack", "--k=300", "--d=8", "--steps=5", "--out=/proc/self/cwd/run", place=place, devices=1, cwd=home
        )
    ends = processes.ends()
    assert [code for code, _, _ in ends] == [2, 2], ends
    assert ends[0][2] == "superjax: process 1 cannot go on; see what it says\n"
    complaint = "/proc/self/cwd/run: is not on a disk that this process shares with process 0; give another --out\n"
    assert ends[1][2] == f"superjax: process 1: {complaint}"
    assert [(tmp_path / str(place) / "run").exists() for place in range(2)] == [False, there]


def test_processes_that_were_given_different_commands_end(processes, tmp_path):
    for place in range(2):
        processes.start("pack", "--k=300", "--d=8", f"--steps={5 + place}", place=place, devices=1)
    ends = processes.ends()
    assert [code for code, _, _ in ends] == [2, 2], ends
    assert ends[0][2] == "superjax: process 1 has other settings or files than process 0; give all the same\n"


def test_a_folder_that_the_first_process_refuses_ends_both(processes, tmp_path):
    (tmp_path / "mine.txt").write_text("not a run")
    processes.start_both("pack", "--k=3", "--d=3", f"--out={tmp_path}", devices=1)
    ends = processes.ends()
    assert [code for code, _, _ in ends] == [2, 2], ends
    assert ends[0][2] == f"superjax: {tmp_path}: holds files but no manifest.json; give another --out\n"
    assert ends[1][2] == ends[0][2].replace("superjax: ", "superjax: process 1: ")
