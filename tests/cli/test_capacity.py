"""`superjax capacity`: the three questions, what is printed, what is written, and refusals."""

from __future__ import annotations

import csv
import json
import math
import re

import pytest

from superjax.cli import main
from superjax.cli.app import COMMANDS
from superjax.cli.capacity_outcome import format_count, outward
from superjax.laws import LAWS, capacity_bracket, dimension_bracket


@pytest.fixture(autouse=True)
def _registered(monkeypatch, tmp_path):
    monkeypatch.setitem(COMMANDS, "capacity", "superjax.cli.capacity")
    monkeypatch.chdir(tmp_path)


def table(text):
    """The printed table: first word of a row -> the rest."""
    rows = [line.split("  ") for line in text.split("\n\n")[0].splitlines()[1:]]
    return {row[0].rstrip(" *"): [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}


def test_llama_two_prints_the_published_capacities_inside_the_bracket(capsys, tmp_path):
    assert main(["capacity", "--d=4096", "--epsilon=0.0645"]) == 0
    text = capsys.readouterr().out
    found = table(text)
    assert found["full"][0] == found["full"][1] == "3.99e7"
    assert found["ratio"][1] == "2.16e9"
    assert found["jl_random"][:2] == ["4096", "277"]
    assert found["jl_proven"][:2] == ["4096", "8.42"]
    assert found["at least"][0] == "3.52e13"
    assert found["at most"] == ["2.10e23", "-", "23.32", "-", "-"]
    assert "full *" in text  # extrapolated
    assert "quantile *" in text
    assert "jl_proven *" not in text
    sentences = " ".join(text.split())
    assert "Delsarte-Goethals set r=2 in R^4096" in sentences
    assert "may well lie below what can be built" in sentences
    assert "1 % more epsilon gives 14.3 % more directions" in sentences
    assert "nan" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert list(tmp_path.iterdir()) == []  # writes only with --out


def test_one_sixty_fourth_is_kerdocks(capsys):
    assert main(["capacity", "--d=4096", "--epsilon=1/64"]) == 0
    found = table(capsys.readouterr().out)
    assert found["at least"][0] == found["at most"][0] == "8392704"


def test_the_planner(capsys):
    assert main(["capacity", "--k=32000", "--epsilon=0.0645"]) == 0
    text = capsys.readouterr().out
    found, expected = table(text), dimension_bracket(32000, 0.0645)
    assert found["if built"][0] == "256"
    assert found["impossible below"][0] == str(expected.bound)
    assert float(found["full"][0]) == pytest.approx(expected.expected["full"], rel=1e-6)
    assert "need d = 256 if built" in " ".join(text.split())


def test_the_coherence_of_k_directions(capsys):
    assert main(["capacity", "--k=3.2e4", "--d=4096"]) == 0
    text = capsys.readouterr().out
    found = table(text)
    assert found["at most"][0] == "0.015625"
    assert found["at least"][0] == "0.014590"  # rounded down: less is impossible
    assert found["random mean"][0] == "0.094981"
    assert found["ratio"][0] == "0.025478"


def test_what_is_written_with_out(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["capacity", "--d=512", "--epsilon=0.25", f"--out={out}"]) == 0
    assert "class 1" in capsys.readouterr().out
    summary = json.loads((out / "summary.json").read_text(), parse_constant=pytest.fail)
    expected = capacity_bracket(512, 0.25)
    assert summary["constructed"]["k"] == expected.constructed
    assert summary["bound"]["log10_k"] == expected.log10_bound
    assert set(summary["expected"]) == set(LAWS)
    for name in LAWS:
        assert summary["expected"][name]["log10_k"] == pytest.approx(expected.log10_expected[name])
        assert len(summary["expected"][name]["sensitivity"]) == 2
    rows = list(csv.DictReader((out / "table.csv").read_text().splitlines()))
    assert [row["law"] for row in rows] == ["at least", *LAWS, "at most"]
    assert (out / "figures" / "bracket.png").stat().st_size > 10_000


def test_answers_no_float_holds(capsys):
    assert main(["capacity", "--d=100000", "--epsilon=0.9"]) == 0
    text = capsys.readouterr().out
    assert "10^65053.4" in text
    assert "inf" not in text
    assert "nan" not in text


@pytest.mark.parametrize("arguments", [["--k=1", "--d=2"], ["--k=1", "--epsilon=.5"], ["--d=2", "--epsilon=.99"]])
def test_the_smallest_questions_have_answers(arguments, capsys):
    assert main(["capacity", *arguments]) == 0
    text = capsys.readouterr().out
    assert "nan" not in text
    assert "inf" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--d=4096"], "give two of the three"),
        (["--d=4096", "--epsilon=.1", "--k=3"], "give two of the three"),
        (["--d=4096", "--epsilon=0"], "--epsilon=0: is not inside (0, 1)"),
        (["--d=4096", "--epsilon=1"], "--epsilon=1: is not inside (0, 1)"),
        (["--d=4096", "--epsilon=nan"], "--epsilon=nan: is not a number"),
        (["--d=4096", "--epsilon=1/0"], "--epsilon=1/0: is not a number"),
        (["--d=4096", "--k=0"], "--k=0: is not a whole number >= 1"),
        (["--d=4096", "--k=2.5"], "--k=2.5: is not a whole number >= 1"),
        (["--d=4096", "--k=many"], "--k=many: is not a number"),
        (["--d=1", "--k=5"], "--d=1"),
        (["--d=1000000000000", "--epsilon=.01"], "--d=1000000000000"),
        (["--d=300", "--k=1e400"], "--k=1e400: is beyond 1e300"),
        (["--d=300", "--k=1e999999999"], "--k=1e999999999: is beyond 1e300"),
        (["--d=300", "--epsilon=1e400"], "--epsilon=1e400: is not inside (0, 1)"),
        (["--d=300", "--epsilon=1e-10"], "--epsilon=1e-10: is not between 1e-6 and 1 - 1e-9"),
        (["--d=2", "--epsilon=0.9999999999999"], "is not between 1e-6 and 1 - 1e-9"),
        (["--d=4", "--epsilon=" + "1" * 500 + "/3"], "...: is not inside (0, 1)"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments, message, capsys):
    assert main(["capacity", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_counts_are_written_for_reading():
    assert format_count(0.9251) == "8.42"
    assert format_count(3.61236, 4096) == "4096"
    assert format_count(7.6) == "3.98e7"
    assert format_count(400.26) == "10^400.3"
    assert format_count(2.9999) == "1000"
    assert format_count(2.99) == "977"


def test_a_coherence_is_rounded_away_from_what_it_would_overstate():
    assert outward(0.01459095, -1) == "0.014590"
    assert outward(0.01459095, 1) == "0.014591"
    assert outward(1 / 64, 1) == outward(1 / 64, -1) == "0.015625"
    assert outward(math.cos(math.pi / 3), -1) == "0.500000"
    assert outward(0.0, -1) == "0.000000"


@pytest.mark.parametrize(
    "arguments",
    [["--d=300", "--k=1e160"], ["--d=3", "--k=1e300"], ["--d=2", "--k=1e300"], ["--d=1000000000", "--epsilon=.01"],
     ["--d=64", "--epsilon=0.999999999"], ["--k=1e30", "--epsilon=1e-6"], ["--k=1e300", "--epsilon=.5"]],
)  # fmt: skip
def test_the_largest_questions_have_answers_for_reading(arguments, capsys):
    assert main(["capacity", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert not re.search(r"nan|inf\b|\d{20}", captured.out)
    assert "The quantile law has no constants" in captured.out
    if arguments[0] == "--d=1000000000":
        assert "1 % more epsilon gives 10^18.3 times as many directions" in " ".join(captured.out.split())


def test_an_answer_held_at_a_limit_has_no_interval_and_the_others_name_their_unit(tmp_path, capsys):
    from superjax.report import build_report

    out = tmp_path / "held"
    assert main(["capacity", "--d=4096", "--epsilon=0.0645", f"--out={out}"]) == 0
    with (out / "table.csv").open() as file:
        rows = {row["law"]: row for row in csv.DictReader(file)}
    assert float(rows["jl_random"]["log10_k"]) == pytest.approx(math.log10(4096))  # the formula alone says 277
    assert rows["jl_random"]["bootstrap_log10_k"] == rows["jl_random"]["covariance_low"] == ""
    low, high = map(float, rows["full"]["covariance_log10_k"].split(".."))
    assert low < float(rows["full"]["log10_k"]) < high
    text = " ".join(capsys.readouterr().out.split())
    assert "held at a limit" in text
    assert "jl_random to the best of 1000 random draws" in text
    page = build_report([out])
    assert "log₁₀ k" in page[page.index("95 % covariance") :][:60]
    assert "jl_proven: proven by random projection" in page
