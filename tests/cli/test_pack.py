"""`superjax pack`: what it writes and prints, resuming cell by cell, verifying, and refusals in one line."""

from __future__ import annotations

import csv
import json
import re
import tracemalloc

import numpy as np
import pytest

from superjax import packing
from superjax.cli import main
from superjax.laws import best_construction, lower_bound, max_coherence_mean
from tests.packing import helpers

HEADER = "objective,k,d,value,coherence,lower_bound,bound_name,random_mean,construction,construction_name,steps,seconds"


def rows_of(folder):
    with (folder / "table.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_grid_is_packed_tabulated_drawn_and_saved(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["pack", "--k=4,70", "--d=3,9", "--steps=40", "--restarts=2", "--save_vectors", f"--out={out}"]) == 0
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines() if not line.startswith("run folder:")) <= 80
    rows = rows_of(out)
    assert (out / "table.csv").read_text().startswith(HEADER)
    assert [(row["k"], row["d"]) for row in rows] == [("4", "3"), ("70", "3"), ("4", "9"), ("70", "9")]
    for row in rows:
        k, d = int(row["k"]), int(row["d"])
        vectors = np.load(out / f"vectors/coherence_{k}_{d}.npy")
        assert vectors.shape == (k, d)
        assert float(row["coherence"]) == pytest.approx(helpers.coherence(vectors), abs=1e-12)
        assert float(row["lower_bound"]) == lower_bound(k, d).value
        assert row["bound_name"] == lower_bound(k, d).name
        assert float(row["construction"]) == best_construction(k, d).value
        assert float(row["random_mean"]) == pytest.approx(max_coherence_mean(k, d))
    summary = json.loads((out / "summary.json").read_text())
    assert summary["cells"][3]["value"] == float(rows[3]["value"])
    figures = {path.name for path in (out / "figures").iterdir()}
    assert {
        "coherence.png",
        "steps_coherence_70_9.png",
        "gram_coherence_70_9.svg",
        "picture_coherence_4_3.png",
    } <= figures
    arrays = np.load(out / "arrays.npz")
    assert arrays["counts_coherence_70_9"].sum() == 70 * 69 // 2
    assert arrays["history_coherence_70_9"].shape == (40,)


def test_an_interrupted_grid_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    from superjax import packing

    real, packed = packing.pack, []

    def interrupted(k, d, **settings):
        if k == 50:
            raise KeyboardInterrupt
        packed.append(k)
        return real(k, d, **settings)

    arguments = ["pack", "--k=50,55,60", "--d=13", "--steps=20", "--save_vectors", f"--out={tmp_path / 'run'}"]
    monkeypatch.setattr(packing, "pack", interrupted)
    assert main(arguments) == 130
    assert "continue with: superjax pack" in capsys.readouterr().err
    monkeypatch.setattr(packing, "pack", lambda k, d, **settings: packed.append(k) or real(k, d, **settings))
    assert main(arguments) == 0
    assert packed == [60, 55, 50]
    assert [row["k"] for row in rows_of(tmp_path / "run")] == ["50", "55", "60"]
    assert main(arguments) == 0
    assert packed == [60, 55, 50]
    assert "finished before, left alone" in capsys.readouterr().out
    assert main(["pack", "--k=50", "--d=13", f"--out={tmp_path / 'run'}"]) == 2


def test_a_cell_without_memory_does_not_end_the_others_and_is_packed_later(tmp_path, monkeypatch, capsys):
    arguments = ["pack", "--k=50,60", "--d=13", "--steps=20", f"--out={tmp_path / 'run'}"]
    whole = packing.pack

    def short_of_memory(k, d, **options):
        if k == 60:
            raise MemoryError("4 GiB")
        return whole(k, d, **options)

    monkeypatch.setattr(packing, "pack", short_of_memory)
    assert main(arguments) == 3
    said = capsys.readouterr().err
    assert "failed: k=60, d=13: out of memory (4 GiB); give it more, or leave the cell out" in said
    assert [row["k"] for row in rows_of(tmp_path / "run")] == ["50"]
    assert main(["pack", "--k=60", "--d=13,14", "--steps=20", f"--out={tmp_path / 'none'}"]) == 4
    monkeypatch.setattr(packing, "pack", whole)
    assert main(arguments) == 0
    assert [row["k"] for row in rows_of(tmp_path / "run")] == ["50", "60"]


@pytest.mark.parametrize("objective", ["spherical", "riesz"])
def test_points_and_energies(tmp_path, objective):
    out = tmp_path / "run"
    arguments = [f"--objective={objective}", "--k=2,6", "--d=3", "--restarts=8", "--steps=100", f"--out={out}"]
    assert main(["pack", *arguments]) == 0
    values = [float(row["value"]) for row in rows_of(out)]
    optima = {"spherical": [-1, 0], "riesz": [0.5, 1.5 + 6 * np.sqrt(2)]}
    assert values == pytest.approx(optima[objective], abs=1e-8)
    assert all(row["construction"] == "" for row in rows_of(out))


def test_cells_without_figures_of_their_own_are_spoken_of(tmp_path, capsys):
    assert main(["pack", "--k=2:8:7", "--d=9", f"--out={tmp_path / 'run'}"]) == 0
    assert "figures of the 6 largest of 7 cells" in capsys.readouterr().out
    drawn = [path.stem for path in (tmp_path / "run/figures").glob("gram_*.png")]
    assert sorted(drawn) == [f"gram_coherence_{k}_9" for k in range(3, 9)]
    assert main(["pack", "--k=3:8:6", "--d=9"]) == 0
    assert "figures of the" not in capsys.readouterr().out


def test_orbits_from_the_command_line(tmp_path):
    assert main(["pack", "--k=48", "--d=4", "--orbits", "--steps=60", f"--out={tmp_path / 'run'}"]) == 0
    (row,) = rows_of(tmp_path / "run")
    assert lower_bound(48, 4).value < float(row["coherence"]) < max_coherence_mean(48, 4)


def test_verify_recomputes_in_float64(tmp_path, capsys):
    x = helpers.random_unit(30, 4)
    np.save(tmp_path / "x.npy", (2 * x).astype(np.float32))
    assert main(["pack", f"--verify={tmp_path / 'x.npy'}", f"--out={tmp_path / 'run'}"]) == 0
    found = json.loads((tmp_path / "run/summary.json").read_text())
    wide = (2 * x).astype(np.float32).astype(np.float64)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    assert found["coherence"] == pytest.approx(helpers.coherence(wide), abs=1e-15)
    assert found["norm_min"] == pytest.approx(2, abs=1e-6)
    assert f"{found['coherence']:.15f}" in capsys.readouterr().out


def test_a_dry_run_of_closed_forms_builds_none_of_them(capsys):
    tracemalloc.start()
    try:
        assert main(["pack", "--k=8000", "--d=8000", "--dry_run"]) == 0
        assert tracemalloc.get_traced_memory()[1] < 8000 * 8000
    finally:
        tracemalloc.stop()
    assert "8000" in capsys.readouterr().out


def test_a_dry_run_packs_nothing_and_the_preset_has_166_cells(tmp_path, capsys):
    assert main(["pack", "--preset=guha", "--dry_run"]) == 0
    assert "166 cells, 160 of them compiled, the others exact" in capsys.readouterr().out
    small = ["--preset=guha", "--k=2000,4000", "--d=32,64,128,256", "--dry_run", f"--out={tmp_path / 'few'}"]
    assert main(["pack", *small]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^ *[24]000 ", out, re.MULTILINE)) == 8
    longest = out.splitlines()[1].split()
    assert longest[:3] == ["4000", "256", "1,500"]
    assert float(longest[3].replace(",", "")) == pytest.approx(3e-9 * 1500 * 4000**2 * 256, abs=1)
    assert "GFLOP/s that plain products reach here now" in out
    assert "Nothing was packed" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--k=0", "--d=3"], "--k=0: 0 is not positive"),
        (["--k=5", "--d=-2:3:2"], "--d=-2:3:2: -2 is not positive"),
        (["--k=5"], "--d: missing; give superjax pack --k=GRID --d=GRID"),
        (["--k=5", "--d=x"], "--d=x: expected a number at character 1"),
        (["--k=5", "--d=3", "--objective=tight"], "--objective=tight: give one of coherence, spherical, riesz"),
        (["--k=5", "--d=3", "--objective=riesz", "--riesz_s=-1"], "--riesz_s=-1: is not in (0, 100]"),
        (["--k=1000000000", "--d=4096"], "k=1000000000, d=4096: needs about"),
        (["--k=5", "--d=3", "--init=nothing.npy"], "nothing.npy: No such file or directory"),
        (["--k=5,6", "--d=3", "--init=nothing.npy"], "one file cannot start 2 cells"),
        (["--verify=zero.npy"], "zero.npy: row 1 is zero"),
        (["--verify=flat.npy"], "flat.npy: is float64 of shape [3]"),
        (["--verify=zero.npy", "--k=3"], "--k: --verify takes everything from its file"),
        (["--k=4", "--d=3", "--init=zero.npy"], "zero.npy: row 1 is zero"),
        (["--k=9", "--d=3", "--init=good.npy"], "good.npy: holds an array of shape [4, 3]; give [9, 3]"),
        (["--preset=guha", "--k=17"], "--preset=guha: has no cell"),
        (["--k=30", "--d=3", "--orbits"], "d: 3 is no power of 2"),
    ],
)
def test_bad_input_is_one_line_exit_2_and_nothing_written(tmp_path, monkeypatch, capsys, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    np.save("zero.npy", np.float64([[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]))
    np.save("good.npy", np.eye(4, 3) + 0.1)
    np.save("flat.npy", np.ones(3))
    assert main(["pack", *arguments, "--out=run"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("superjax: ")
    assert captured.err.count("\n") == 1
    assert complaint in captured.err
    assert not (tmp_path / "run").exists()
