"""`superjax report` from the shell: the run folder, what is printed, exit codes."""

from __future__ import annotations

import json

import pytest

from superjax.cli import main


@pytest.fixture
def capacity_run(tmp_path, monkeypatch):
    """A run folder by a relative path, made from where the test stands."""
    monkeypatch.chdir(tmp_path)
    assert main(["capacity", "--d=256", "--epsilon=0.09", "--out=first"]) == 0
    return "first"


def test_the_page_lies_in_a_run_folder_of_its_own(capacity_run, tmp_path, capsys):
    assert main(["report", capacity_run]) == 0
    (folder,) = (tmp_path / "runs").glob("report-*")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["command"], manifest["status"]) == ("report", "finished")
    assert manifest["config"]["runs"] == [str(tmp_path / "first")]
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["page"], [run["command"] for run in summary["runs"]]) == ("report.html", ["capacity"])
    out = capsys.readouterr().out
    assert f"open {(folder / 'report.html').as_uri()}" in out
    assert "R^256" in (folder / "report.html").read_text()


def test_it_is_written_anew_when_its_runs_have_changed(capacity_run, tmp_path):
    assert main(["report", capacity_run, "--out=page", "--title=One"]) == 0
    manifest = tmp_path / "first" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"device_count": 0', '"device_count": 3'))
    assert main(["report", capacity_run, "--out=page", "--title=One"]) == 0
    assert "3 × None" in (tmp_path / "page" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "RUN...: missing; give superjax report RUN..."),
        (["nowhere"], "nowhere: no such folder; give a run folder, such as runs/embed-20261130-131342"),
        (["."], "holds no manifest.json; give the run folders in it, such as "),
        (["first/manifest.json"], "manifest.json: is a file; give the run folder that holds it"),
        (["x" * 300], "File name too long; give a run folder that can be read"),
        (["~nobody-of-that-name/run"], "no such folder; give a run folder, such as "),
        (["first", "--out=page.html"], "--out=page.html: names the run folder, in which the page is report.html"),
        (["first", "--out=first"], 'first: holds a run with command = "capacity"'),
    ],
)
def test_refusals_are_one_line_and_leave_nothing(capacity_run, tmp_path, capsys, arguments, message):
    capsys.readouterr()
    assert main(["report", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["first"]


def test_a_damaged_run_stops_it_before_anything_is_written(capacity_run, tmp_path, capsys):
    (tmp_path / "first" / "summary.json").write_text("{")
    assert main(["report", capacity_run, "--out=page"]) == 2
    assert f"{tmp_path}/first/summary.json: is no JSON" in capsys.readouterr().err
    assert not (tmp_path / "page").exists()


def test_an_earlier_report_among_the_folders_is_left_out(capacity_run, capsys):
    assert main(["report", capacity_run, "--out=runs/one"]) == 0
    assert main(["report", capacity_run, "runs/one", "--out=runs/two"]) == 0
    assert "runs/one: is itself a report and left out" in capsys.readouterr().err
