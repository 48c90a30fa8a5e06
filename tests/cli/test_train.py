"""`superjax train`: files, numbers, words, repeated runs, frozen members, and how bad input ends."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from superjax.cli import checkpoints, main
from superjax.toy import geometry, load_params

SMALL = ["--n=100", "--m=4,8", "--decay=-1,1", "--steps=30", "--batch=64"]

CONTRACT = {"n", "m", "decay", "alpha", "density", "seed", "loss", "loss_stderr", "phi_half", "phi_one"}
CONTRACT |= {"mean_sq_overlap", "status"}


def train(*arguments):
    return main(["train", *arguments])


def read(folder):
    summary = json.loads((folder / "summary.json").read_text(), parse_constant=pytest.fail)
    with (folder / "table.csv").open() as file:
        return summary, list(csv.DictReader(file))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train") / "run"
    assert train(*SMALL, "--seeds=2", "--seed=5", "--alpha=0.5,1", f"--out={folder}") == 0
    return folder


def test_table_has_a_row_a_member_and_the_contract(trained):
    _, rows = read(trained)
    assert len(rows) == 16
    assert set(rows[0]) >= CONTRACT
    assert {row["seed"] for row in rows} == {"5", "6"}
    assert {row["status"] for row in rows} == {"trained"}


def test_final_parameters_are_saved_and_are_those_of_the_table(trained):
    _, rows = read(trained)
    found = load_params(trained)
    assert len(found) == 16
    for row, params in zip(rows, found, strict=True):
        assert params.W.shape == (100, int(row["m"]))
        measured = geometry(params.W)
        assert measured.phi_half == pytest.approx(float(row["phi_half"]))
        assert measured.overlaps.mean == pytest.approx(float(row["mean_sq_overlap"]), rel=1e-6)


def test_exponents_are_least_squares_of_the_table(trained):
    summary, rows = read(trained)
    assert summary["members"] == 16
    assert summary["programs"] == 2
    assert len(summary["exponents"]) == 4
    for entry in summary["exponents"]:
        chosen = [
            row for row in rows if float(row["alpha"]) == entry["alpha"] and float(row["decay"]) == entry["decay"]
        ]
        means = [np.mean([float(row["loss"]) for row in chosen if int(row["m"]) == m]) for m in entry["m"]]
        slope = np.polyfit(np.log(entry["m"]), np.log(means), 1)[0]
        assert entry["exponent"] == pytest.approx(-slope)
        assert entry["seeds"] == 2
        assert entry["interval"][0] <= entry["exponent"] <= entry["interval"][1]
        assert entry["trivial_loss"] > 0


def test_figures_and_histories_are_saved(trained):
    names = {path.name for path in (trained / "figures").iterdir()}
    assert {"loss.png", "represented.png", "exponents.svg", "geometry.png"} <= names
    with np.load(trained / "arrays.npz") as arrays:
        assert arrays["history"].shape == (16, 30)
        assert np.all(arrays["history"] > 0)
        assert arrays["history_step"].tolist() == list(range(1, 31))


def test_a_finished_run_is_left_alone_and_another_refused(trained, capsys):
    before = (trained / "arrays.npz").stat().st_mtime_ns
    assert train(*SMALL, "--seeds=2", "--seed=5", "--alpha=0.5,1", f"--out={trained}") == 0
    assert (trained / "arrays.npz").stat().st_mtime_ns == before
    assert "left alone" in capsys.readouterr().out
    assert train(*SMALL, "--seeds=2", "--seed=5", "--alpha=0.5", f"--out={trained}") == 2
    assert "holds a run with alpha" in capsys.readouterr().err


def test_what_is_printed(tmp_path, capsys):
    assert train("--n=40", "--m=2,4", "--decay=-1", "--steps=10", "--batch=32", f"--out={tmp_path / 'run'}") == 0
    out = capsys.readouterr().out
    assert "power, alpha=1, density=1, decay=-1: loss ~ m^-" in out
    assert out.splitlines()[0].split() == ["m", "decay", "loss", "phi_half", "phi_one", "overlap"]
    assert "precision highest" in out
    assert (tmp_path / "run" / "figures" / "gram.png").exists()


def test_members_worse_than_nothing_represented_are_counted_in_a_sentence(tmp_path, capsys):
    small = ("--n=20", "--m=2,4", "--decay=-1", "--batch=64")
    assert train(*small, "--steps=2", f"--out={tmp_path / 'run'}") == 0
    out = " ".join(capsys.readouterr().out.split())
    summary, rows = read(tmp_path / "run")
    [curve] = summary["exponents"]
    assert sum(float(row["loss"]) > curve["trivial_loss"] for row in rows) == 2
    assert f"2 of 2 members lose more than a model that represents nothing ({curve['trivial_loss']:.3g})" in out
    enough = ("--n=6", "--m=4", "--decay=0", "--batch=128", "--steps=400")
    assert train(*enough, f"--out={tmp_path / 'longer'}") == 0
    assert "represents nothing" not in " ".join(capsys.readouterr().out.split())


def test_a_member_that_diverges_is_listed(tmp_path, capsys):
    code = train(
        "--n=100", "--m=4", "--decay=-1", "--steps=30", "--batch=64", "--lr=0.01,1e12", f"--out={tmp_path / 'run'}"
    )
    assert code == 3
    assert "failed: member 1: failed at step" in capsys.readouterr().err
    _, rows = read(tmp_path / "run")
    assert rows[0]["status"] == "trained"
    assert rows[1]["status"].startswith("failed at step")
    assert rows[1]["loss"] == ""
    assert np.all(np.isfinite(load_params(tmp_path / "run")[1].W))


def test_a_member_that_failed_is_trained_again_though_its_frozen_state_is_saved(tmp_path, capsys, monkeypatch):
    offered, begun = checkpoints.Checkpoints.offer, []

    def offer(self, arrays, item=""):
        begun.append((arrays["places"].ravel().tolist(), int(arrays["step"])))
        offered(self, arrays, item)
        self._store.wait()  # so that the newest is of the end, where member 1 has failed

    monkeypatch.setattr(checkpoints.Checkpoints, "offer", offer)
    out = f"--out={tmp_path / 'run'}"
    diverging = ["--n=12", "--m=3", "--decay=-1", "--steps=30", "--batch=16", "--lr=0.01,1e12", "--devices=1", out]
    assert train(*diverging, "--checkpoint_every=0") == 3
    assert begun[-1] == ([0, 1], 30)
    begun.clear()
    assert train(*diverging, "--checkpoint_every=0") == 3
    assert begun[0] == ([1], 1)
    assert "going on: 1 of 2 members are done\n" in capsys.readouterr().err


def test_a_dry_run_trains_nothing(capsys, tmp_path):
    assert train("--preset=liu_small", "--dry_run", f"--out={tmp_path / 'run'}") == 0
    out = capsys.readouterr().out
    assert "1020 members in 6 groups, each compiled once; 20000 steps, 20,400,000 model-steps" in out
    assert "events" in out
    assert [line.split()[1] for line in out.splitlines()[1:7]] == ["100", "63", "39", "25", "15", "10"]  # longest first
    assert "GFLOP/s that plain products reach here now" in out
    assert list(tmp_path.iterdir()) == []


def test_presets_can_be_changed_by_flags(capsys):
    assert train("--preset=quick", "--decay=0", "--m=2**3:2**5", "--seeds=1", "--dry_run") == 0
    assert "3 members in 3 groups, each compiled once; 1200 steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--n=10", "--m=11"], "--m: 11 is not possible; give 1 <= m <= n = 10"),
        (["--m=0"], "--m: 0 is not possible"),
        (["--n=1", "--m=1"], "--n: 1 is not possible"),
        (["--steps=0"], "--steps=0:"),
        (["--batch=0"], "--batch=0:"),
        (["--seeds=0"], "--seeds=0:"),
        (["--m=10,1x"], "--m=10,1x: expected a number at character 5, 'x'"),
        (["--m=1.5"], "--m=1.5: expected a whole number at character 1"),
        (["--decay=0:1"], "--decay=0:1: a range is A:B:N"),
        (["--m="], "--m: no value, so the grid is empty"),
        (["--preset=liu"], "preset: 'liu' is unknown; choose one of quick, liu_small"),
        (["--distribution=zipf"], "--distribution: 'zipf' is unknown; choose one of power"),
        (["--distribution="], "--distribution: no value, so the grid is empty"),
        (["--density=900"], "--density: the most frequent feature would be active with probability"),
        (["--density=0"], "--density: 0.0 is not possible"),
        (["--activation=tanh"], "--activation=tanh: give one of relu, linear"),
        (["--n=2**22", "--m=2**20", "--batch=1", "--distribution=uniform"], "n, m, batch: one member of"),
    ],
)
def test_bad_input_is_one_line(arguments, words, tmp_path, capsys):
    assert train(*arguments, f"--out={tmp_path / 'run'}") == 2
    found = capsys.readouterr().err
    assert found.count("\n") == 1
    assert words in found
    assert "Traceback" not in found
    assert not (tmp_path / "run").exists()
