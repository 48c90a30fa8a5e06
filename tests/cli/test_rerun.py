"""`superjax rerun`: the same numbers on the same ground, named differences elsewhere, and no trust in a manifest."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

from superjax.cli import main

TRAIN = ("train", "--n=12", "--m=3", "--steps=30", "--batch=64", "--seeds=2")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run, and the folder it was started in."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        assert main([*TRAIN, "--out=first"]) == 0
    return home / "first"


@pytest.fixture
def bracket(tmp_path, monkeypatch):
    """A quick finished run to be tampered with; the present folder is another one."""
    assert main(["capacity", "--d=64", "--epsilon=0.2", f"--out={tmp_path / 'first'}"]) == 0
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "first"


def tamper(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_a_training_run_comes_out_bitwise_equal(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["rerun", str(trained), "--out=again"]) == 0
    out = capsys.readouterr().out
    assert "none, every number is the same" in out
    with np.load(trained / "arrays.npz") as then, np.load(tmp_path / "again/run/arrays.npz") as now:
        assert set(then.files) == set(now.files)
        for name in then.files:
            np.testing.assert_array_equal(then[name], now[name])
    assert json.loads((tmp_path / "again/run/manifest.json").read_text())["argv"][2:] == list(TRAIN[1:])
    assert json.loads((tmp_path / "again/summary.json").read_text())["same"] is True


def test_other_ground_is_named_and_allows_one_percent(bracket, capsys):
    def shift(by):
        return lambda summary: summary.update(epsilon=summary["epsilon"] * by)

    tamper(bracket / "manifest.json", lambda manifest: manifest["versions"].update(jax="0.4.1"))
    tamper(bracket / "summary.json", shift(1.005))
    assert main(["rerun", str(bracket), "--out=a"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert 'versions.jax: "0.4.1" then' in out
    assert "5.0e-03, relative; epsilon" in out

    assert main(["rerun", str(bracket), "--tolerance=0.001", "--out=b"]) == 3
    tamper(bracket / "summary.json", shift(1.5))
    assert main(["rerun", str(bracket), "--out=c"]) == 3
    captured = capsys.readouterr()
    assert "NOT the same" in captured.out
    assert captured.err.count("failed: epsilon") == 2


def test_the_same_ground_allows_nothing(bracket, capsys):
    tamper(bracket / "summary.json", lambda summary: summary["bound"].update(name="another"))
    assert main(["rerun", str(bracket), "--out=a"]) == 3
    assert 'failed: bound.name: "another" then' in capsys.readouterr().err


def test_a_finished_rerun_is_left_alone_and_an_interrupted_one_goes_on(bracket, capsys):
    assert main(["rerun", str(bracket), "--out=a"]) == 0
    assert main(["rerun", str(bracket), "--out=a"]) == 0
    assert "left alone" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda m: m.update(argv="capacity; touch /tmp/x"), "argv is no command line"),
        (lambda m: m.update(argv=[]), "argv is no command line"),
        (lambda m: m.update(argv=["capacity", 3]), "argv is no command line"),
        (lambda m: m.pop("argv"), "argv is no command line"),
        (lambda m: m.update(argv=["sh", "-c", "touch owned"]), "'sh' is no command to repeat"),
        (lambda m: m.update(argv=["rerun", "first"]), "'rerun' is no command to repeat"),
        (lambda m: m.update(argv=["capacity", "--d=64", "--exec=rm"]), "--exec: capacity has no such flag"),
        (lambda m: m.update(argv=["capacity", "$(touch owned)"]), "takes flags only"),
        (lambda m: m.update(status="running"), "its run is not finished (running)"),
    ],
)
def test_a_hostile_or_damaged_manifest_is_one_line(bracket, change, cause, capsys, tmp_path):
    tamper(bracket / "manifest.json", change)
    assert main(["rerun", str(bracket), "--out=a"]) == 2
    err = capsys.readouterr().err.removeprefix("note: repeating superjax ")
    assert cause in err
    assert [path.name for path in tmp_path.rglob("owned")] == []


def test_where_a_run_kept_things_is_not_repeated(bracket, tmp_path):
    """A manifest cannot make a rerun write outside its own folder, or load compiled programs from a given one."""
    flags = tmp_path / "flags.txt"
    flags.write_text(f"--out={tmp_path / 'elsewhere'}\n")
    kept = ["--out", str(tmp_path / "elsewhere"), f"--flagfile={flags}", "--noresume"]
    tamper(bracket / "manifest.json", lambda m: m.update(argv=["capacity", *kept, "--d=64", "--epsilon=0.2"]))
    assert main(["rerun", str(bracket), "--out=a"]) == 0
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("break_it", "cause"),
    [
        (lambda folder: (folder / "manifest.json").write_text("{"), "is no JSON"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "is no JSON object"),
        (lambda folder: (folder / "manifest.json").unlink(), "cannot be read"),
        (lambda folder: (folder / "summary.json").unlink(), "cannot be read"),
        (lambda folder: subprocess.run(["rm", "-r", folder], check=True), "is no folder"),
    ],
)
def test_a_damaged_folder_is_one_line(bracket, break_it, cause, capsys, tmp_path):
    break_it(bracket)
    assert main(["rerun", str(bracket), "--out=a"]) == 2
    err = capsys.readouterr().err
    assert cause in err
    assert err.count("\n") == 1
    assert not (tmp_path / "here/a").exists()


def test_paths_are_those_of_the_folder_the_run_was_started_in(tmp_path, monkeypatch, capsys):
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "there/t.csv").write_text("m,loss\n8,1\n16,.45\n32,.26\n")
    monkeypatch.chdir(tmp_path / "there")
    assert main(["fit", "--table=t.csv", "--law=power", f"--out={tmp_path / 'first'}"]) == 0
    monkeypatch.chdir(tmp_path / "here")
    assert main(["rerun", str(tmp_path / "first"), "--out=again"]) == 0
    assert (tmp_path / "here/again/run/summary.json").exists()

    (tmp_path / "there").rename(tmp_path / "gone")
    capsys.readouterr()
    assert main(["rerun", str(tmp_path / "first"), "--out=third"]) == 2
    err = capsys.readouterr().err
    assert "the folder the run was started in is gone" in err
    assert "t.csv: No such file" in err
    assert not (tmp_path / "here/third").exists()


def test_one_run_is_asked_for(capsys):
    assert main(["rerun"]) == 2
    assert capsys.readouterr().err == "superjax: RUN: missing; give superjax rerun RUN\n"
    assert main(["rerun", "a", "b"]) == 2
    assert "rerun repeats one run" in capsys.readouterr().err
