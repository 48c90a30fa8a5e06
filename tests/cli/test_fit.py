"""`superjax fit` on the published packings, on a table as `pack` writes it, and on losses."""

from __future__ import annotations

import csv
import json
from importlib import resources

import numpy as np
import pytest

from superjax.cli import main
from superjax.cli.app import COMMANDS
from superjax.cli.fit_outcome import file_names

PUBLISHED = resources.files("superjax.laws") / "data" / "published_packings.csv"


@pytest.fixture(autouse=True)
def _registered(monkeypatch, tmp_path):
    monkeypatch.setitem(COMMANDS, "fit", "superjax.cli.fit")
    monkeypatch.chdir(tmp_path)


def outputs(folder):
    summary = json.loads((folder / "summary.json").read_text(), parse_constant=pytest.fail)
    with (folder / "table.csv").open() as file:
        return summary, list(csv.DictReader(file))


def write(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def test_the_published_table_gives_all_four_sets_of_constants(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["fit", f"--table={PUBLISHED}", "--draws=20", f"--out={out}"]) == 0
    text = capsys.readouterr().out
    summary, rows = outputs(out)
    fits = {(fit["kind"], fit["law"], fit["low_k"]): fit for fit in summary["fits"]}
    published = {
        ("random", "jl", "formula"): {"C": 3.029},
        ("optimised", "jl", "formula"): {"C": 0.7068},
        ("optimised", "ratio", "zero"): {"C": 1.293},
        ("optimised", "full", "zero"): {"C": 0.4581, "a": 1.067, "b": 1.447, "c": 0.9720},
    }
    for key, constants in published.items():
        assert {name: float(f"{value:.4g}") for name, value in fits[key]["constants"].items()} == constants
        recommended = fits[(*key[:2], "exclude")]
        assert recommended["n"] == fits[key]["n"] - len(fits[key]["low_rows"])
        assert recommended["r2"] > 0.96
    for number in ("3.0295", "0.70676", "1.2934", "0.45809", "1.0668", "1.4474", "0.97197", "975.3", "7.949", "5.351"):
        assert number in text
    assert "6 rows have k <= d" in text
    assert "(4000, 4096)" in " ".join(text.split())
    assert "nan" not in text
    assert max(len(line) for line in text.splitlines() if not line.startswith("run folder:")) <= 80
    assert {row["low_k"] for row in rows} == {"exclude", "formula", "zero", "published", "parameter-free"}
    names = ("surfaces-optimised", "residuals-optimised", "surfaces-random", "residuals-random")
    assert all((out / "figures" / f"{name}.png").stat().st_size > 10_000 for name in names)


def test_our_own_packings_give_corrected_constants_beside_the_published_ones(tmp_path, capsys):
    """A table in the columns `pack` writes, drawn from a ratio form with C = 0.95."""
    header = (
        "objective,k,d,value,coherence,lower_bound,bound_name,random_mean,construction,construction_name,steps,seconds"
    )
    rows = []
    for d in (32, 64, 128, 256):
        for k in (1000, 2000, 4000, 8000):
            coherence = np.sqrt(0.95 * np.log(k / d) / d)
            rows.append(["coherence", k, d, coherence, coherence, 0.1, "welch", 0.5, 0.2, "Kerdock", 1000, 1.5])
    rows.append(["spherical", 1000, 32, 0.9, 0.9, 0.1, "rankin", 0.5, "", "", 1000, 1.5])
    rows.append(["coherence", 200, 256, 0.0, 0.0, 0.0, "orthonormal", 0.3, 0.0, "axes", 1000, 1.5])
    path = write(tmp_path / "pack.csv", header, rows)
    out = tmp_path / "run"
    assert main(["fit", f"--table={path}", "--law=ratio", "--draws=20", f"--out={out}"]) == 0
    text = capsys.readouterr().out
    summary, table = outputs(out)
    assert summary["fits"][0]["constants"]["C"] == pytest.approx(0.95, rel=1e-9)
    assert summary["fits"][0]["low_rows"] == [[200, 256]]
    by_treatment = {row["low_k"]: row for row in table}
    assert float(by_treatment["published"]["C"]) == pytest.approx(1.2934, rel=1e-4)
    assert float(by_treatment["published"]["mape"]) == pytest.approx(100 * (np.sqrt(1.2934008 / 0.95) - 1), rel=1e-4)
    assert "1 rows of another objective" in text
    assert "1 rows have k <= d" in text
    assert "(200, 256)" in text


@pytest.mark.parametrize(("low_k", "n"), [("formula", 166), ("zero", 166), ("exclude", 160)])
def test_the_treatment_of_low_k_can_be_chosen(low_k, n, tmp_path, capsys):
    rows = [line for line in PUBLISHED.read_text().splitlines() if not line.startswith("random")]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows) + "\n")
    assert main(["fit", f"--table={path}", "--law=jl", f"--low_k={low_k}", "--draws=4", "--out=run"]) == 0
    summary, table = outputs(tmp_path / "run")
    assert [fit["low_k"] for fit in summary["fits"]] == [low_k]
    assert summary["fits"][0]["n"] == n
    assert [row["low_k"] for row in table] == [low_k, "published"]


def test_power_laws_by_group_in_a_window(tmp_path, capsys):
    rows = [
        (name, m, scale * m**-slope) for name, scale, slope in (("a", 3, 1.0), ("b", 2, 0.5)) for m in (8, 16, 32, 64)
    ]
    rows.append(("a", 4, 99.0))
    path = write(tmp_path / "t.csv", "dist,m,loss", rows)
    arguments = [f"--table={path}", "--law=power", "--by=dist", "--window=8:64", "--parameters", "--out=run"]
    assert main(["fit", *arguments]) == 0
    summary, _ = outputs(tmp_path / "run")
    found = {fit["group"]: fit for fit in summary["fits"]}
    assert found["a"]["exponent"] == pytest.approx(-1.0)
    assert found["b"]["exponent"] == pytest.approx(-0.5)
    assert found["a"]["window"] == [8, 64]
    assert found["b"]["width_exponent"] == pytest.approx(-0.5 * 2.52)
    assert (tmp_path / "run" / "figures" / "power-dist_a.png").exists()
    assert "-1.0000" in capsys.readouterr().out


def test_losses_with_an_offset_per_class_and_data_set(tmp_path, capsys):
    rng = np.random.default_rng(0)
    offsets = {(c, s): rng.uniform(1.4, 2.4) for c in ("OPT", "Qwen") for s in ("c4", "pile")}
    rows = [(m, c, s, 300 / m**0.87 + b) for (c, s), b in offsets.items() for m in (256, 512, 1024, 2048, 4096)]
    path = write(tmp_path / "t.csv", "m,class,dataset,loss", rows)
    assert main(["fit", f"--table={path}", "--law=offset", "--draws=10", "--out=run"]) == 0
    summary, table = outputs(tmp_path / "run")
    assert (summary["alpha"], summary["scale"]) == pytest.approx((0.87, 300), rel=1e-6)
    assert summary["offsets"] == pytest.approx({f"{c}/{s}": b for (c, s), b in offsets.items()}, abs=1e-6)
    assert [row["group"] for row in table] == ["OPT/c4", "OPT/pile", "Qwen/c4", "Qwen/pile"]
    assert "alpha = 0.8700" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("k,d\n10,4\n", [], "no column coherence; its columns are k, d"),
        ("k,d,coherence\n10,4,.3\n20,4,abc\n", [], "line 3: coherence is 'abc', not a number from 0 to 1"),
        ("k,d,coherence\n10,4,.3\n0,4,.3\n", [], "line 3: k is '0', not a finite number >= 1"),
        ("k,d,coherence\n10,4,.3\n", ["--law=full"], "fewer than its constants + 1"),
        ("objective,k,d,coherence\nspherical,10,4,.3\n", [], "no row has the objective coherence"),
        ("m,loss\n1,2\n2,1\n", ["--law=power", "--window=5:9"], "fewer than two different x"),
        ("m,loss\n1,2\n2,1\n", ["--law=power", "--window=9:5"], "--window=9:5: holds no interval"),
        ("m,loss\n1,2\n2,1\n", ["--law=power", "--window=x"], "--window=x: is not LOW:HIGH"),
        ("m,loss\n1,2\n2,1\n", ["--law=offset"], "no column class, dataset"),
        ("k,d,coherence\n10,4,.3\n", ["--law=foo"], "--law=foo: give jl, ratio"),
        ("k,d,coherence\n10,4,.3\n", ["--law=jl", "--window=1:2"], "--window: not used by --law=jl"),
        ("k,d,coherence\n10,4,.3\n", ["--x=k"], "--x: not used by the capacity laws"),
        ("m,loss\n1,2\n2,1\n", ["--law=power", "--low_k=zero"], "--low_k: not used by --law=power"),
        ("m,loss\n1,2\n2,0\n", ["--law=power"], "line 3: loss is '0', not a positive finite number"),
        ("g,m,loss\na,1,2\na,2,1\nb,1,1\n", ["--law=power", "--by=g"], "t.csv: 'b': fewer than two different x"),
        ("k,d,coherence\n10,32,.3\n20,32,.3\n", [], "0 rows are left for the jl law"),
        ("k,d,coherence\n99,32,0\n200,32,0\n", ["--law=ratio"], "do not fix the ratio law's constants"),
        ('k,d,coherence\n"10,4,.3\n', [], "line 2: a quoted cell does not end"),
        ("k,d,coherence\n10,4,.3\n", ["--law=jl,power"], "give one of them alone"),
    ],
)
def test_bad_input_is_one_line_exit_code_two_and_nothing_written(text, arguments, message, tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert main(["fit", f"--table={path}", *arguments, "--out=run"]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_table_that_is_not_there(capsys):
    assert main(["fit", "--table=absent.csv"]) == 2
    assert "absent.csv: No such file" in capsys.readouterr().err


def packings(*ds, ks=(1000, 2000, 4000, 8000)):
    return [(k, d, np.sqrt(1.2 * np.log(k / d) / d) * (1 + 0.01 * ((k // 1000 + d) % 3 - 1))) for d in ds for k in ks]


def test_a_law_that_the_rows_do_not_fix_is_left_out_by_default_and_refused_when_asked_for(tmp_path, capsys):
    path = write(tmp_path / "t.csv", "k,d,coherence", packings(32, 64))
    assert main(["fit", f"--table={path}", "--draws=4", "--out=run"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "full is left out:" in text
    assert "do not fix the full law's constants" in text
    summary, _ = outputs(tmp_path / "run")
    assert [fit["law"] for fit in summary["fits"]] == ["jl", "ratio", "quantile"]
    assert main(["fit", f"--table={path}", "--law=full", "--out=other"]) == 2
    assert not (tmp_path / "other").exists()


def test_the_quantile_law_is_fitted_where_it_holds(tmp_path, capsys):
    rows = packings(32, ks=(100, 400, 512, 1024, 4096))  # k/d 3.1, 12.5, then 16 and more
    path = write(tmp_path / "t.csv", "k,d,coherence", rows)
    assert main(["fit", f"--table={path}", "--law=quantile", "--draws=4", "--out=run"]) == 0
    summary, table = outputs(tmp_path / "run")
    assert summary["fits"][0]["n"] == 3
    assert {row["n"] for row in table} == {"3"}


def test_cells_of_a_table_never_leave_the_figures_folder(tmp_path, capsys):
    kinds = ("x/../../../escaped", "y" * 300, "\x00", "a b", "a/b", "..")
    rows = [(kind, *row) for kind in kinds for row in packings(32, 64, ks=(1000, 2000))]
    path = write(tmp_path / "t.csv", "kind,k,d,coherence", rows)
    assert main(["fit", f"--table={path}", "--law=ratio", "--draws=2", "--out=deep/er/run"]) == 0
    figures = sorted(file.name for file in (tmp_path / "deep" / "er" / "run" / "figures").glob("surfaces*.png"))
    assert figures == sorted(
        f"surfaces-{name}.png" for name in ("x-..-..-..-escaped", "y" * 60, "group", "a-b", "a-b-2", "group-2")
    )
    assert {entry.name for entry in tmp_path.iterdir()} == {"t.csv", "deep"}
    assert {entry.name for entry in (tmp_path / "deep").iterdir()} == {"er"}


def test_file_names_are_told_apart_without_regard_to_case():
    assert list(file_names(["A", "a", "a-2", "a/", "é"]).values()) == ["A", "a-2", "a-2-2", "a-3", "group"]


def test_an_interval_that_no_resample_supports_is_left_out_and_said(tmp_path, capsys):
    rows = [(k, d, (np.log(k / d) / d) ** 0.5 * (1 + 0.01 * np.sin(k + d))) for d in (32, 64) for k in (200, 400, 800)]
    table = write(tmp_path / "two.csv", "k,d,coherence", rows)
    out = tmp_path / "few"
    assert main(["fit", f"--table={table}", "--law=ratio", "--draws=20", f"--out={out}"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "too few dimensions to resample" in text
    assert "(95 %" not in text
    summary, written = outputs(out)
    assert summary["fits"][0]["intervals"]["C"] == [None, None]
    assert written[0]["C_low"] == ""
    assert main(["report", str(out), f"--out={tmp_path / 'page'}"]) == 0
    assert "ratio law: C" in (tmp_path / "page/report.html").read_text()


def test_figures_of_groups_are_named_by_column_and_sign(tmp_path):
    rows = [(m, decay, 3 / m) for decay in (-1.0, 1.0) for m in (4, 8, 16)]
    table = write(tmp_path / "toy.csv", "m,decay,loss", rows)
    out = tmp_path / "run"
    assert main(["fit", f"--table={table}", "--law=power", "--by=decay", "--draws=4", f"--out={out}"]) == 0
    assert {path.name for path in (out / "figures").glob("*.png")} == {"power-decay_-1.0.png", "power-decay_1.0.png"}
