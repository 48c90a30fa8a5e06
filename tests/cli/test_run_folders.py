"""Which run a folder holds: its inputs count, failures are done again, a name is taken once."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from superjax.cli import main
from superjax.cli.app import COMMANDS
from superjax.runs import RunFolder
from tests.cli import count_command


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(COMMANDS, "count", "tests.cli.count_command")


def save_rows(path, seed=0):
    np.save(path, np.random.default_rng(seed).normal(size=(30, 4)).astype(np.float32))


def test_a_changed_input_is_another_run(tmp_path, capsys):
    save_rows("rows.npy")
    arguments = ["embed", "--checkpoint=rows.npy", "--bins=10", "--out=r"]
    assert main(arguments) == 0
    assert main(arguments) == 0
    assert "left alone" in capsys.readouterr().out
    save_rows("rows.npy", seed=1)
    os.utime("rows.npy", ns=(1, 1))
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"superjax: r: holds a run with {tmp_path / 'rows.npy'} = [")
    assert "give another --out" in said


def test_an_input_that_came_later_or_was_repaired_is_done_again(tmp_path, capsys):
    save_rows("a.npy")
    arguments = ["embed", "--checkpoint=a.npy,b.npy", "--bins=10", "--out=r"]
    assert main(arguments) == 3
    (tmp_path / "b.npy").write_bytes(b"no array")
    assert main(arguments) == 3
    save_rows("b.npy", seed=1)
    assert main(arguments) == 0
    with open("r/table.csv") as file:
        assert len(list(csv.DictReader(file))) == 2
    assert json.loads((tmp_path / "r/manifest.json").read_text())["failures"] == []
    assert main(arguments) == 0
    assert "left alone" in capsys.readouterr().out


def test_the_same_file_by_another_path_is_the_same_run(tmp_path, capsys, monkeypatch):
    save_rows("rows.npy")
    assert main(["embed", "--checkpoint=rows.npy", "--bins=10", "--out=r"]) == 0
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    assert main(["embed", "--checkpoint=../rows.npy", "--bins=10", "--out=../r"]) == 0
    assert "left alone" in capsys.readouterr().out


def test_what_failed_is_done_again(monkeypatch, capsys):
    monkeypatch.setattr(count_command, "ENDING", "partial")
    assert main(["count", "--word=a", "--out=r"]) == 3
    monkeypatch.setattr(count_command, "ENDING", "done")
    assert main(["count", "--word=a", "--out=r"]) == 0
    assert "left alone" not in capsys.readouterr().out
    assert main(["count", "--word=a", "--out=r"]) == 0
    assert "left alone" in capsys.readouterr().out


def test_members_that_failed_are_trained_again_and_the_others_not(capsys):
    arguments = ["train", "--n=12", "--m=3", "--lr=0.01,1e12", "--decay=-1", "--steps=30", "--batch=16", "--out=r"]
    assert main(arguments) == 3
    first = RunFolder(Path("r")).read_text("table.csv")
    capsys.readouterr()
    assert main(arguments) == 3
    said = capsys.readouterr().err
    assert "note: going on: 1 of 2 members are done" in said
    assert "failed: member 1: failed at step" in said
    assert RunFolder(Path("r")).read_text("table.csv") == first
    capsys.readouterr()
    assert main([*arguments, "--noresume"]) == 3
    assert "going on" not in capsys.readouterr().err


def test_a_name_that_two_runs_choose_in_one_second_is_taken_by_one(tmp_path):
    first, second = (RunFolder(tmp_path / "runs/train-20261130-120000", fresh=True) for _ in range(2))
    run = {"command": "train", "config": {}}
    for folder in (first, second):
        assert folder.state(run) == "new"
        folder.claim()
    first.begin(run)
    second.begin({**run, "seed": 1})
    assert (first.path.name, second.path.name) == ("train-20261130-120000", "train-20261130-120000-2")
    for folder in (first, second):
        folder.finish(run)


def test_a_folder_that_was_taken_and_not_used_goes_again(tmp_path):
    folder = RunFolder(tmp_path / "runs/deep/r")
    folder.claim()
    assert (tmp_path / "runs/deep/r").is_dir()
    folder.release()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_of_its_claim_is_in_nobodys_way(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r/.writer").write_text("process 1 on elsewhere")
    assert main(["count", "--word=a", "--out=r"]) == 0
    assert not (tmp_path / "r/.writer").exists()


def test_a_finished_run_on_a_disk_that_cannot_be_written_is_shown(capsys, monkeypatch):
    assert main(["count", "--word=a", "--out=r"]) == 0
    monkeypatch.setattr(RunFolder, "claim", lambda self: pytest.fail("it is not to be written"))
    assert main(["count", "--word=a", "--out=r"]) == 0
    assert "left alone" in capsys.readouterr().out
