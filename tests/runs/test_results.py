"""The run folder: whole files, honest states, strict JSON."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from superjax.core.errors import EnvironmentFailure, InputError
from superjax.runs import RunFolder, replacing

RUN = {"command": "embed", "config": {"bins": 10, "grid": (1, 2)}, "seed": None}


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "deep" / "run")


class TestState:
    def test_goes_from_new_through_unfinished_to_finished(self, folder):
        assert folder.state(RUN) == "new"
        folder.begin(RUN)
        assert folder.state(RUN) == "unfinished"
        assert folder.begun
        folder.finish(RUN)
        assert folder.state(RUN) == "finished"
        assert not folder.begun

    def test_a_failed_run_is_unfinished(self, folder):
        folder.begin(RUN)
        folder.finish(RUN, status="failed")
        assert folder.state(RUN) == "unfinished"

    @pytest.mark.parametrize(
        ("other", "named"),
        [
            ({**RUN, "command": "pack"}, "command"),
            ({**RUN, "config": {**RUN["config"], "bins": 11}}, "bins"),
            ({**RUN, "config": {**RUN["config"], "grid": (1, 3)}}, "grid"),
            ({**RUN, "config": {**RUN["config"], "center": True}}, "center"),
            ({**RUN, "seed": 0}, "seed"),
        ],
    )
    def test_another_run_is_refused_by_name(self, folder, other, named):
        folder.begin(RUN)
        folder.finish(RUN)
        with pytest.raises(InputError, match=f"holds a run with {named} = .*; give another --out"):
            folder.state(other)

    def test_two_writers_cannot_begin(self, folder):
        folder.begin(RUN)
        with pytest.raises(InputError, match="another process is writing here"):
            RunFolder(folder.path).begin(RUN)
        folder.release()
        RunFolder(folder.path).begin(RUN)

    def test_looking_leaves_nothing_behind(self, folder, tmp_path):
        folder.state(RUN)
        folder.require_writable()
        assert list(tmp_path.iterdir()) == []


class TestFiles:
    def test_json_keeps_every_bit_and_has_no_nan(self, folder):
        value = {
            "third": 1 / 3,
            "single": np.float32(0.1),
            "big": 2**63 + 1,
            "count": np.int64(465_780_981),
            "flag": np.bool_(True),
            "list": [float("nan"), -float("inf"), None],
            "array": np.array([[1.5, np.nan]]),
            "path": folder.path,
        }
        folder.write_json("x.json", value)
        text = (folder.path / "x.json").read_text()
        assert json.loads(text, parse_constant=pytest.fail) == {
            "third": 1 / 3,
            "single": float(np.float32(0.1)),
            "big": 2**63 + 1,
            "count": 465_780_981,
            "flag": True,
            "list": [None, None, None],
            "array": [[1.5, None]],
            "path": str(folder.path),
        }

    def test_what_json_cannot_say_is_refused(self, folder):
        with pytest.raises(TypeError, match="no place in a run folder"):
            folder.write_json("x.json", {"x": object()})
        assert not folder.path.exists()

    def test_arrays_come_back_as_they_were(self, folder):
        arrays = {"counts_0": np.array([2**62], np.int64), "edges_0": np.linspace(-1, 1, 5), "names": np.array(["a"])}
        folder.write_arrays(arrays)
        with np.load(folder.path / "arrays.npz", allow_pickle=False) as back:
            assert set(back) == set(arrays)
            for name, array in arrays.items():
                assert back[name].dtype == array.dtype
                np.testing.assert_array_equal(back[name], array)

    @pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, object])
    def test_an_array_that_npz_would_spoil_is_refused(self, folder, dtype):
        with pytest.raises(TypeError, match="'x' has dtype"):
            folder.write_arrays({"x": np.zeros(2, dtype)})

    def test_table_has_the_columns_of_all_rows(self, folder):
        folder.write_table([{"a": 1, "b": None}, {"a": 0.1, "c": "x,y"}, {"c": np.float64("nan")}])
        assert (folder.path / "table.csv").read_text() == 'a,b,c\n1,,\n0.1,,"x,y"\n,,\n'

    def test_a_failed_write_leaves_the_old_file_and_no_other(self, tmp_path):
        (tmp_path / "x.txt").write_text("old")

        def write_half():
            with replacing(tmp_path / "x.txt") as temporary:
                temporary.write_text("half")
                raise KeyError

        with pytest.raises(KeyError):
            write_half()
        assert os.listdir(tmp_path) == ["x.txt"]
        assert (tmp_path / "x.txt").read_text() == "old"

    def test_beginning_clears_what_a_crash_left(self, folder):
        (folder.path / "figures").mkdir(parents=True)
        for name in ("error.txt", ".partial-1-summary.json", "figures/.partial-1-norms.png", "figures/norms.png"):
            (folder.path / name).write_text("x")
        folder.begin(RUN)
        folder.release()
        left = {str(path.relative_to(folder.path)) for path in folder.path.rglob("*")}
        assert left == {"figures", "figures/norms.png", "manifest.json"}

    def test_a_disk_that_refuses_is_named(self):
        with pytest.raises(EnvironmentFailure, match=r"/proc/nowhere/run/summary\.json: cannot be written"):
            RunFolder(Path("/proc/nowhere/run")).write_json("summary.json", {})


@pytest.mark.faults
def test_killed_while_writing_the_folder_stays_readable_and_usable(folder):
    """kill -9 in the midst of writing, several times: every file is whole, and the lock is gone with its owner."""
    child = (
        "import sys; from pathlib import Path; from superjax.runs import RunFolder\n"
        f"folder = RunFolder(Path({str(folder.path)!r})); folder.begin({RUN!r}); print('begun', flush=True)\n"
        "n = 0\n"
        "while True:\n"
        "    n += 1; folder.write_json('summary.json', {'n': n, 'values': [n] * 200_000})\n"
    )
    for pause in (0.05, 0.2, 0.31):
        process = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE)
        assert process.stdout is not None
        with process.stdout:
            assert process.stdout.readline() == b"begun\n"
            while not (folder.path / "summary.json").exists():
                time.sleep(0.01)
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
            process.wait()
        summary = folder.read_json("summary.json")
        assert summary["values"] == [summary["n"]] * 200_000
        assert folder.state(RUN) == "unfinished"
    folder.begin(RUN)
    folder.finish(RUN)
    assert folder.state(RUN) == "finished"
    assert sorted(os.listdir(folder.path)) == ["manifest.json", "summary.json"]


def test_a_file_is_on_the_disk_before_its_name_is_and_then_the_name(tmp_path, monkeypatch):
    done, fsync, replace = [], os.fsync, os.replace

    def watched(opened):
        path = Path(os.readlink(f"/proc/self/fd/{opened}"))
        done.append(("fsync", path.name, path.read_text() if path.is_file() else None))
        fsync(opened)

    monkeypatch.setattr(os, "fsync", watched)
    monkeypatch.setattr(os, "replace", lambda *paths: done.append(("replace",)) or replace(*paths))
    with replacing(tmp_path / "x.txt") as temporary:
        temporary.write_text("whole")
    assert done == [("fsync", temporary.name, "whole"), ("replace",), ("fsync", tmp_path.name, None)]


def test_a_file_that_the_disk_does_not_take_leaves_the_one_before(tmp_path, monkeypatch):
    file = tmp_path / "x.txt"
    file.write_text("before")

    def refuse(opened):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    with (
        pytest.raises(EnvironmentFailure, match=r"cannot be written \(Input/output error"),
        replacing(file) as temporary,
    ):
        temporary.write_text("after")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]
