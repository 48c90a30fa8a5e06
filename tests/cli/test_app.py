"""The command line: help, mistakes, run folders and the way every run ends."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from superjax.cli import main
from superjax.cli.app import COMMANDS
from superjax.runs import RunFolder, product_error
from tests.cli import count_command


@pytest.fixture(autouse=True)
def _count_is_a_command(monkeypatch, tmp_path):
    monkeypatch.setitem(COMMANDS, "count", "tests.cli.count_command")
    monkeypatch.chdir(tmp_path)
    assert jax.device_count() == 8  # started, so that no run here changes their number


def complaint(capsys) -> str:
    """What stderr got, which must be one line."""
    text = capsys.readouterr().err
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    return text.strip()


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of change of every file in a folder."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def superjax(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "superjax", *arguments], capture_output=True, text=True, timeout=120, **options
    )


class TestHelp:
    @pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["help"]])
    def test_the_overview_lists_every_command_with_its_summary(self, argv, capsys):
        assert main(argv) == 0
        text = capsys.readouterr().out
        for name in COMMANDS:
            assert f"\n  {name} " in text
        assert "count, and square what was counted" in text
        assert "superjax count --word=sheep" in text
        assert max(map(len, text.splitlines())) <= 80

    @pytest.mark.parametrize("argv", [["count", "--help"], ["help", "count"], ["count", "--up_to=2", "-h"]])
    def test_a_commands_help_shows_its_flags_first_with_defaults(self, argv, capsys):
        assert main(argv) == 0
        text = capsys.readouterr().out
        assert text.startswith("usage: superjax count --word=WORD [--flag=value ...]")
        own, common = text.index("\nFlags"), text.index("\nCommon flags")
        assert own < text.index("--up_to=N") < text.index("--[no]loud") < common < text.index("--seed=N")
        assert "count up to N (default: 3)" in text
        assert "(required)" in text
        assert "in capitals (default: off)" in text
        assert max(map(len, text.splitlines())) <= 80

    def test_every_commands_help_fits_80_columns(self, capsys):
        for name in COMMANDS:
            assert main(["help", name]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80

    def test_version(self, capsys):
        import superjax as package

        assert main(["--version"]) == 0
        assert capsys.readouterr().out == f"superjax {package.__version__}\n"


class TestMistakes:
    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            (["cuont"], "superjax: cuont: no such command; did you mean count?"),
            (["xyzzy"], "superjax: xyzzy: no such command; `superjax --help` lists the commands"),
            (["help", "cuont"], "superjax: cuont: no such command; did you mean count?"),
            (
                ["--out=x", "count"],
                "superjax: --out=x: the command comes first; give superjax COMMAND --flag=value, or superjax --help",
            ),
            (["count", "--upto=3"], "superjax: --upto: count has no such flag; did you mean --up_to?"),
            (["count", "--qqq"], "superjax: --qqq: count has no such flag; `superjax count --help` lists them"),
            (["count", "--up_to=x"], "superjax: --up_to=x: give a non-negative integer"),
            (["count", "--up_to=-1"], "superjax: --up_to=-1: give a non-negative integer"),
            (["count", "--up_to"], "superjax: --up_to: needs a value; give --up_to=N"),
            (["count", "--precision=hi"], "superjax: --precision=hi: give one of highest, high, default"),
            (["count", "--loud=maybe"], "superjax: --loud=maybe: give true or false"),
            (["count"], "superjax: --word: missing; give superjax count --word=WORD"),
            (["count", "sheep"], "superjax: sheep: count takes flags only, --flag=value; did you mean --word=sheep?"),
            (["count", "sheep", "--up_to=2"], "superjax: sheep: count takes flags only"),
            (["count", "--word=a", "--up_to=13"], "superjax: --up_to=13: is unlucky; give another number"),
            (["count", "--word=a", "--devices=99"], "superjax: --devices=99: cpu has 8 here; give a smaller number"),
            (["count", "--word=a", "--devices=100000000"], "superjax: --devices=100000000: cpu has 8 here"),
            (["count", "--word=a", "--require_platform=gpu"], "superjax: --require_platform=gpu: JAX runs on cpu here"),
        ],
    )
    def test_one_line_with_cause_and_remedy_and_nothing_written(self, argv, said, capsys, tmp_path):
        assert main(argv) == 2
        assert complaint(capsys).startswith(said)
        assert list(tmp_path.iterdir()) == []

    def test_bad_input_found_while_running_writes_nothing(self, capsys, tmp_path, monkeypatch):
        monkeypatch.setattr(count_command, "ENDING", "input")
        assert main(["count", "--word=a"]) == 2
        assert complaint(capsys) == "superjax: words.txt: has no words; give another"
        assert list(tmp_path.iterdir()) == []

    def test_a_required_platform_that_is_there_is_no_mistake(self):
        assert main(["count", "--word=a", "--require_platform=cpu"]) == 0

    def test_an_absent_backend_is_one_line(self, tmp_path):
        done = superjax("doctor", "--require_platform=gpu", env={**os.environ, "JAX_PLATFORMS": "cuda"})
        assert done.returncode == 2
        assert done.stderr.startswith("superjax: JAX_PLATFORMS=cuda: ")
        assert done.stderr.count("\n") == 1


class TestRunFolder:
    def test_holds_the_run_whole(self, tmp_path, capsys):
        argv = ["count", "--word=sheep", "--out=r", "--seed=7", "--devices=3"]
        assert main(argv) == 0
        folder = tmp_path / "r"
        manifest = json.loads((folder / "manifest.json").read_text())
        assert {
            name: manifest[name]
            for name in ("command", "argv", "config", "platform", "device_kind", "device_count", "precision", "seed")
        } == {
            "command": "count",
            "argv": argv,
            "config": {"up_to": 3, "word": "sheep"},
            "platform": "cpu",
            "device_kind": "cpu",
            "device_count": 3,
            "precision": "highest",
            "seed": 7,
        }
        assert manifest["status"] == "finished"
        assert manifest["versions"]["jax"] == jax.__version__
        assert manifest["wall_time_s"] > manifest["compile_time_s"] >= 0
        assert manifest["started"].endswith("+00:00")
        assert "git" in manifest
        summary = json.loads((folder / "summary.json").read_text(), parse_constant=pytest.fail)
        assert summary == {"sum": 6, "third": 1 / 3, "ratio": None, "above": None}
        with (folder / "table.csv").open() as file:
            assert list(csv.DictReader(file))[2] == {"n": "3", "square": "9.0", "word": "sheep"}
        with np.load(folder / "arrays.npz") as arrays:
            assert arrays["numbers"].tolist() == [1, 2, 3]
        assert (folder / "figures/squares.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (folder / "figures/squares.svg").read_bytes()
        out = re.sub(r"\d+ s, \d+ s of it", "T s, T s of it", capsys.readouterr().out)
        assert out.splitlines() == [
            "word   n  square",
            "sheep  1     1.0",
            "sheep  2     4.0",
            "sheep  3     9.0",
            "That was all.",
            "",
            "cpu, 3 devices (cpu), precision highest; T s, T s of it compiling",
            "run folder: r",
        ]

    def test_by_default_it_is_runs_command_time(self, tmp_path):
        for _ in range(2):
            assert main(["count", "--word=a"]) == 0
        folders = sorted((tmp_path / "runs").iterdir())
        assert len(folders) == 2
        assert all(folder.name.startswith("count-20") and (folder / "manifest.json").exists() for folder in folders)

    def test_finished_it_is_left_alone_and_shown_again(self, tmp_path, capsys):
        assert main(["count", "--word=a", "--out=r"]) == 0
        first, before = capsys.readouterr().out, contents(tmp_path / "r")
        assert main(["count", "--out=r", "--word=a", "--up_to=3"]) == 0
        again = capsys.readouterr().out
        assert again.split("\n\n")[0] == first.split("\n\n")[0]
        assert "left alone" in again
        assert contents(tmp_path / "r") == before

    def test_noresume_runs_it_again(self, tmp_path):
        main(["count", "--word=a", "--out=r"])
        before = contents(tmp_path / "r")
        assert main(["count", "--word=a", "--out=r", "--noresume"]) == 0
        after = contents(tmp_path / "r")
        assert before.keys() == after.keys()
        assert all(before[name][1] != after[name][1] for name in before)

    @pytest.mark.parametrize(
        ("other", "said"),
        [
            ("--up_to=4", "holds a run with up_to = 3, this one has 4"),
            ("--seed=1", "holds a run with seed = 0, this one has 1"),
            ("--precision=high", 'holds a run with precision = "highest", this one has "high"'),
            ("--noresume --word=b", 'holds a run with word = "a", this one has "b"'),
        ],
    )
    def test_another_run_is_refused_by_the_differing_field(self, other, said, tmp_path, capsys):
        main(["count", "--word=a", "--out=r"])
        before = contents(tmp_path / "r")
        capsys.readouterr()
        given = other.split() if "--word" in other else ["--word=a", *other.split()]
        assert main(["count", "--out=r", *given]) == 2
        assert said in complaint(capsys)
        assert contents(tmp_path / "r") == before

    def test_another_number_of_devices_is_the_same_run(self, capsys):
        main(["count", "--word=a", "--out=r", "--devices=2"])
        assert main(["count", "--word=a", "--out=r", "--devices=1"]) == 0
        assert "left alone" in capsys.readouterr().out

    def test_foreign_files_are_refused(self, tmp_path, capsys):
        (tmp_path / "r").mkdir()
        (tmp_path / "r/thesis.tex").write_text("years of work")
        assert main(["count", "--word=a", "--out=r"]) == 2
        assert complaint(capsys) == "superjax: r: holds files but no manifest.json; give another --out"
        assert os.listdir(tmp_path / "r") == ["thesis.tex"]

    @pytest.mark.parametrize("out", ["file", "file/deeper/still"])
    def test_a_file_in_the_way_is_refused(self, out, tmp_path, capsys):
        (tmp_path / "file").write_text("")
        assert main(["count", "--word=a", f"--out={out}"]) == 2
        assert "file: is a file" in complaint(capsys)

    def test_a_manifest_that_is_none_is_refused(self, tmp_path, capsys):
        (tmp_path / "r").mkdir()
        (tmp_path / "r/manifest.json").write_text("{half")
        assert main(["count", "--word=a", "--out=r"]) == 2
        assert "manifest.json: is no JSON" in complaint(capsys)

    def test_an_empty_folder_is_used(self, tmp_path):
        (tmp_path / "r").mkdir()
        assert main(["count", "--word=a", "--out=r"]) == 0
        assert (tmp_path / "r/summary.json").exists()

    def test_a_folder_another_process_writes_is_refused(self, tmp_path, capsys):
        other = RunFolder(tmp_path / "r")
        other.begin({"command": "count", "config": {"up_to": 3, "word": "a"}, "seed": 0, "precision": "highest"})
        assert main(["count", "--word=a", "--out=r"]) == 2
        assert complaint(capsys) == (
            f"superjax: r: another process is writing here (process {os.getpid()} on {socket.gethostname()}); "
            "give another --out"
        )
        other.release()
        assert main(["count", "--word=a", "--out=r"]) == 0

    def test_a_place_that_cannot_be_written_is_known_before_the_work(self, tmp_path):
        sealed = tmp_path / "sealed"
        sealed.mkdir(mode=0o555)
        # Root may write anywhere, unless it gives up the capabilities (1 and 2) that let it.
        give_up = (
            "import ctypes, os, sys; [ctypes.CDLL(None).prctl(24, capability) for capability in (1, 2)];"
            "os.execv(sys.argv[1], sys.argv[1:])"
        )
        done = subprocess.run(
            [sys.executable, "-c", give_up, sys.executable, "-m", "superjax", "doctor", f"--out={sealed / 'r'}"],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            done.stderr
            == f"superjax: {sealed}: cannot be written, so {sealed / 'r'} cannot be made; give another --out\n"
        )


class TestEndings:
    def test_a_crash_leaves_its_traceback_and_one_line(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(count_command, "ENDING", "crash")
        assert main(["count", "--word=a", "--out=r"]) == 1
        said = complaint(capsys)
        assert "ZeroDivisionError: a fault of ours" in said
        assert "traceback in r/error.txt" in said
        assert "superjax doctor" in said
        assert "count_command.py" in (tmp_path / "r/error.txt").read_text()
        assert json.loads((tmp_path / "r/manifest.json").read_text())["status"] == "failed"

        monkeypatch.setattr(count_command, "ENDING", "done")
        assert main(["count", "--word=a", "--out=r"]) == 0
        assert not (tmp_path / "r/error.txt").exists()

    def test_a_crash_without_a_folder_shows_the_traceback(self, capsys, monkeypatch):
        monkeypatch.setitem(COMMANDS, "broken", "tests.cli.no_such_module")
        assert main(["broken"]) == 1
        text = capsys.readouterr().err
        assert "Traceback" in text
        assert text.splitlines()[-1].startswith("superjax: internal error, ModuleNotFoundError")

    @pytest.fixture(autouse=True)
    def interrupts_are_heard(self):
        """A shell starts what it puts in the background with SIGINT ignored; these tests raise it themselves."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    def test_interrupted_before_anything_was_saved(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(count_command, "ENDING", "interrupt")
        assert main(["count", "--word=black sheep"]) == 130
        assert complaint(capsys) == (
            "superjax: interrupted, nothing was saved; run it again with: superjax count '--word=black sheep'"
        )
        assert list(tmp_path.iterdir()) == []

    def test_interrupted_with_something_saved_names_the_folder(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(count_command, "ENDING", "interrupt after saving")
        assert main(["count", "--word=a"]) == 130
        (folder,) = (tmp_path / "runs").iterdir()
        assert complaint(capsys).endswith(f"continue with: superjax count --word=a --out=runs/{folder.name}")

    @pytest.mark.parametrize(
        ("ending", "said"),
        [
            ("host memory", "superjax: out of memory (Unable to allocate"),
            ("device memory", "superjax: out of device memory (RESOURCE_EXHAUSTED: "),
        ],
    )
    def test_memory_is_the_environments_failure(self, ending, said, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(count_command, "ENDING", ending)
        assert main(["count", "--word=a"]) == 4
        assert complaint(capsys).startswith(said)
        assert list(tmp_path.iterdir()) == []

    def test_a_disk_that_refuses_is_the_environments_failure(self, tmp_path):
        # A limit on the size of files fails the write of the first large one, as a full disk does.
        limited = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500));"
            "from superjax.cli.app import COMMANDS, main; COMMANDS['count'] = 'tests.cli.count_command';"
            f"sys.exit(main(['count', '--word=a', '--out={tmp_path / 'r'}']))"
        )
        done = subprocess.run(
            [sys.executable, "-c", limited], capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2]
        )
        assert done.returncode == 4, done.stderr
        assert done.stderr.startswith(f"superjax: {tmp_path / 'r'}/")
        assert "cannot be written" in done.stderr
        assert done.stderr.count("\n") == 1
        assert json.loads((tmp_path / "r/manifest.json").read_text())["status"] == "running"
        assert not list((tmp_path / "r").rglob(".*"))

    def test_partial_failure_is_listed_and_remembered(self, capsys, monkeypatch):
        monkeypatch.setattr(count_command, "ENDING", "partial")
        for _ in range(2):  # the second time from the folder
            assert main(["count", "--word=a", "--out=r"]) == 3
            assert complaint(capsys) == "superjax: failed: number 2 would not come"

    def test_the_librarys_warnings_are_notes_of_one_line_said_once(self, capsys, monkeypatch):
        monkeypatch.setattr(count_command, "ENDING", "warning")
        assert main(["count", "--word=a"]) == 0
        assert complaint(capsys) == "note: words.txt: one word twice"

    def test_a_reader_that_has_gone_is_no_error(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run(
            [sys.executable, "-m", "superjax", "--help"], stdout=write_end, stderr=subprocess.PIPE, timeout=120
        )
        os.close(write_end)
        assert (done.returncode, done.stderr) == (0, b"")


class TestDevices:
    def test_a_faster_precision_prints_its_error(self, capsys):
        assert main(["count", "--word=a", "--precision=default"]) == 0
        error = product_error(jax.devices()[0], "default")
        assert f"precision default: products of unit rows are off by up to {error:.1e}" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("flag", "environment", "count"),
        [
            ("--seed=0", {}, len(os.sched_getaffinity(0))),
            ("--devices=5", {}, 5),
            ("--seed=0", {"JAX_NUM_CPU_DEVICES": "3"}, 3),
            ("--seed=0", {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}, 3),
        ],
    )
    def test_one_cpu_device_a_core_unless_told_otherwise(self, flag, environment, count, tmp_path):
        inherited = {k: v for k, v in os.environ.items() if k not in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS")}
        done = superjax("doctor", flag, f"--out={tmp_path / 'r'}", env={**inherited, **environment})
        assert done.returncode == 0, done.stderr
        assert json.loads((tmp_path / "r/manifest.json").read_text())["device_count"] == count
