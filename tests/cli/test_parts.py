"""A command inside a command: every way the inner one can end, as the outer one must see it."""

from __future__ import annotations

import jax
import pytest

from superjax.cli.app import COMMANDS
from superjax.cli.parts import run_part
from superjax.core.errors import EnvironmentFailure, InputError
from tests.cli import count_command


@pytest.fixture(autouse=True)
def _count_is_a_command(monkeypatch, tmp_path):
    monkeypatch.setitem(COMMANDS, "count", "tests.cli.count_command")
    monkeypatch.chdir(tmp_path)
    assert jax.device_count() == 8  # started, so that no run here changes their number


def test_the_answer_stays_in_the_folder_and_is_not_printed(tmp_path, capsys):
    folder, failures = run_part(["count", "--word=sheep"], tmp_path / "part")
    assert (folder.path, failures) == (tmp_path / "part", ())
    assert folder.read_json("summary.json")["sum"] == 6
    assert folder.read_manifest()["argv"] == ["count", f"--out={tmp_path / 'part'}", "--word=sheep"]
    assert capsys.readouterr() == ("", "")


def test_what_failed_while_others_were_done_is_handed_on(tmp_path, monkeypatch):
    monkeypatch.setattr(count_command, "ENDING", "partial")
    _, failures = run_part(["count", "--word=sheep"], tmp_path / "part")
    assert failures == ("failed: number 2 would not come",)


@pytest.mark.parametrize(
    ("ending", "error", "says"),
    [
        ("input", InputError, "words.txt: has no words"),
        ("interrupt", KeyboardInterrupt, None),
        ("host memory", EnvironmentFailure, "out of memory"),
        ("crash", RuntimeError, "superjax count failed, its traceback is in .*error.txt"),
    ],
)
def test_an_inner_end_is_an_outer_error(ending, error, says, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(count_command, "ENDING", ending)
    with pytest.raises(error, match=says):
        run_part(["count", "--word=sheep"], tmp_path / "part")
    assert capsys.readouterr() == ("", "")


def test_a_part_has_no_folder_of_its_own_choice(tmp_path):
    flags = tmp_path / "flags.txt"
    flags.write_text(f"--out={tmp_path / 'elsewhere'}\n")
    for chosen in ("--out=elsewhere", f"--flagfile={flags}"):
        with pytest.raises(InputError, match=r"given twice|names a run folder of its own"):
            run_part(["count", "--word=sheep", chosen], tmp_path / "part")
    assert [path.name for path in tmp_path.iterdir()] == ["flags.txt"]
