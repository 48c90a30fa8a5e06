"""Interrupts in the midst of work: saved and gone on with, on other devices too; at once where nothing is under way."""

from __future__ import annotations

import csv
import json
import re
import signal

import numpy as np
import pytest

from superjax.cli import main
from superjax.cli.checkpoints import Checkpoints
from superjax.cli.interrupts import Interrupts

TRAIN = ["train", "--n=20", "--m=2,4", "--decay=-1", "--seeds=2", "--steps=60", "--batch=16"]
PACK = ["pack", "--k=170,8", "--d=4", "--steps=60", "--restarts=2"]


@pytest.fixture(autouse=True)
def heard():
    """A shell starts what it puts in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def strike(monkeypatch):
    """Sends SIGTERM just before the `at`-th state is offered."""

    def prepare(at):
        offered, real = [], Checkpoints.offer

        def offer(self, arrays, item=""):
            offered.append(item)
            if len(offered) == at:
                signal.raise_signal(signal.SIGTERM)
            real(self, arrays, item)

        monkeypatch.setattr(Checkpoints, "offer", offer)

    return prepare


def table(folder):
    with (folder / "table.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("arguments", "value", "devices"), [(TRAIN, "loss", 3), (PACK, "value", 1)], ids=["train", "pack"]
)
def test_39_interrupted_on_8_devices_it_goes_on_on_fewer(arguments, value, devices, tmp_path, strike, capsys):
    whole, folder = tmp_path / "whole", tmp_path / "run"
    assert main([*arguments, f"--out={whole}"]) == 0
    strike(4)
    assert main([*arguments, "--devices=8", f"--out={folder}"]) == 130
    said = capsys.readouterr().err
    assert "interrupted, saved at " in said
    assert f"continue with: superjax {' '.join(arguments)} --devices=8 --out={folder}" in said
    assert main([*arguments, f"--devices={devices}", f"--out={folder}"]) == 0
    assert "going on: " in capsys.readouterr().err
    ours, theirs = table(folder), table(whole)
    assert [row[value] for row in ours] != []
    np.testing.assert_allclose(
        [float(row[value]) for row in ours],
        [float(row[value]) for row in theirs],
        rtol=1e-5 if value == "loss" else 5e-3,
    )


def test_a_changed_configuration_is_refused_by_the_field(tmp_path, strike, capsys):
    strike(4)
    assert main([*TRAIN, f"--out={tmp_path / 'run'}"]) == 130
    capsys.readouterr()
    assert main([*TRAIN, "--seed=3", f"--out={tmp_path / 'run'}"]) == 2
    assert "holds a run with seed = 0, this one has 3" in capsys.readouterr().err


def test_what_was_saved_before_is_spoken_of_when_the_next_attempt_ends_at_once(tmp_path, strike, monkeypatch, capsys):
    strike(4)
    assert main([*TRAIN, f"--out={tmp_path / 'run'}"]) == 130
    saved = re.search("saved at ([^;]*);", capsys.readouterr().err)[1]
    for ending, code in ((KeyboardInterrupt(), 130), (MemoryError(), 4)):

        def end(*_, ending=ending, **__):
            raise ending

        monkeypatch.setattr("superjax.toy.train_ensemble", end)
        assert main([*TRAIN, f"--out={tmp_path / 'run'}"]) == code
        said = capsys.readouterr().err.splitlines()[-1]
        assert "nothing was saved" not in said
        assert f"{saved}; continue with: superjax {' '.join(TRAIN)} --out=" in said


def test_after_running_out_of_memory_a_smaller_chunk_goes_on(tmp_path, strike, capsys):
    """What changes no result does not make another run of it."""
    strike(4)
    assert main([*TRAIN, "--devices=1", f"--out={tmp_path / 'run'}"]) == 130
    assert main([*TRAIN, "--devices=1", "--chunk=1", f"--out={tmp_path / 'run'}"]) == 0
    assert "going on: " in capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["config"]["chunk"] == 1


def test_noresume_forgets_what_was_saved(tmp_path, strike, capsys):
    strike(4)
    assert main([*TRAIN, f"--out={tmp_path / 'run'}"]) == 130
    capsys.readouterr()
    assert main([*TRAIN, f"--out={tmp_path / 'run'}", "--noresume"]) == 0
    assert "going on" not in capsys.readouterr().err


def test_members_that_are_done_can_be_read_while_the_others_train(tmp_path, strike):
    strike(9)
    assert main([*TRAIN, "--chunk=1", "--devices=1", f"--out={tmp_path / 'run'}"]) == 130
    rows = table(tmp_path / "run")
    assert 0 < len(rows) < 4
    assert all(row["status"] == "trained" and float(row["loss"]) > 0 for row in rows)


def test_a_signal_waits_for_work_under_way_and_a_later_one_does_not(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("superjax.cli.interrupts.time.monotonic", lambda: now[0])
    with Interrupts() as interrupts:
        interrupts.deferred = True
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)  # `timeout` sends each signal to the process and to its group
        assert interrupts.requested
        with pytest.raises(KeyboardInterrupt):
            interrupts.settle()
        interrupts.deferred = True
        now[0] += 5
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    with Interrupts(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_signal_that_is_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        assert not interrupts.requested


def test_a_signal_in_a_place_that_cannot_raise_is_kept_without_a_stack(capsys):
    class Struck:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    with Interrupts() as interrupts:
        Struck()
        assert interrupts.requested
        with pytest.raises(KeyboardInterrupt):
            interrupts.settle()
    assert capsys.readouterr().err == ""
