"""`superjax embed`: every number of its summary against float64 NumPy, and flags that must reach the engine."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from superjax.cli import main
from superjax.embeddings import spectrum as engine
from tests import oracles
from tests.embeddings.checkpoint_files import matrix, write_folder

INPUT, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"


@pytest.fixture
def odd_rows():
    """70 rows of varied length: two zero, three not finite, four that equal an earlier one."""
    rows = matrix(70, 8).numpy() * np.linspace(0.5, 3, 70, dtype=np.float32)[:, None]
    rows[[7, 30]] = 0
    rows[11, 2], rows[12, 0], rows[40, 7] = np.nan, np.inf, -np.inf
    rows[[50, 51, 52]] = rows[3]
    return rows


def embed(checkpoint, out, *more):
    assert main(["embed", f"--checkpoint={checkpoint}", f"--out={out}", *more]) == 0
    return json.loads((out / "summary.json").read_text())


def test_every_value_of_the_summary(odd_rows, tmp_path):
    folder = write_folder(tmp_path / "m", {INPUT: torch.from_numpy(odd_rows)})
    (found,) = embed(folder, tmp_path / "run", "--bins=4000")["matrices"]
    finite = odd_rows[np.isfinite(odd_rows).all(axis=1)].astype(np.float64)
    lengths = np.linalg.norm(finite, axis=1)
    products = oracles.pair_products(oracles.unit(finite[lengths > 0]))
    exact = {
        "vocab": 70, "dim": 8, "rows_used": 65, "rows_zero": 2, "rows_nonfinite": 3, "rows_duplicate": 4,
        "pairs": 65 * 64 // 2, "norm_min": 0, "tied": None, "role": "input", "tensor": INPUT, "dtype": "F32",
        "centered": False, "vocab_limit": None, "checkpoint": str(folder), "format": "safetensors",
    }  # fmt: skip
    assert {key: found[key] for key in exact} == exact
    close = {
        "mean": products.mean(), "std": products.std(), "epsilon": products.mean() + 2 * products.std(),
        "mean_sq_overlap": (products**2).mean(), "mean_sq_overlap_times_d": 8 * (products**2).mean(),
        "norm_mean": lengths.mean(), "norm_std": lengths.std(), "norm_max": lengths.max(),
    }  # fmt: skip
    for key, value in close.items():
        assert found[key] == pytest.approx(value, rel=1e-9), key
    assert found["min_cosine"] == pytest.approx(products.min(), abs=1e-6)
    assert found["max_cosine"] == pytest.approx(1, abs=1e-6)
    shares = np.array([float(share) for share in found["quantiles"]])
    assert shares.tolist() == sorted(shares)
    nearest = np.quantile(products, shares, method="inverted_cdf")
    np.testing.assert_allclose(list(found["quantiles"].values()), nearest, atol=2 / 4000)


def test_the_flags_reach_the_engine(tmp_path, monkeypatch):
    seen = {}
    stream = engine.stream_pairs

    def watched(*args, **options):
        seen.update(options)
        return stream(*args, **options)

    monkeypatch.setattr(engine, "stream_pairs", watched)
    folder = write_folder(tmp_path / "m", {INPUT: matrix(60, 8)})
    embed(folder, tmp_path / "run", "--block=7", "--precision=default", "--devices=3")
    assert (seen["block"], seen["precision"], seen["mesh"].size) == (7, "default", 3)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--checkpoint={model}", "--checkpoint={model}"], "--checkpoint: given twice"),
        (["--checkpoint=~nosuchuser/x"], "~nosuchuser"),
        (["--checkpoint={model}", "--bins=16777217"], "--bins=16777217"),
        (["--checkpoint=,"], "--checkpoint"),
    ],
)
def test_more_bad_input_is_one_line(flags, words, tmp_path, capsys):
    model = write_folder(tmp_path / "m", {INPUT: matrix(60, 8)})
    run = tmp_path / "run"
    assert main(["embed", *(flag.format(model=model) for flag in flags), f"--out={run}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not run.exists()


def test_an_empty_out_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = write_folder(tmp_path / "m", {INPUT: matrix(60, 8)})
    assert main(["embed", f"--checkpoint={model}", "--out="]) == 2
    assert "--out=: is empty" in capsys.readouterr().err


def test_a_checkpoint_given_twice_is_read_once_and_empty_ones_are_passed_over(tmp_path):
    model = write_folder(tmp_path / "m", {INPUT: matrix(60, 8)})
    assert len(embed(f"{model},,{model}", tmp_path / "run")["matrices"]) == 1


def test_dollars_in_names_are_no_mathematics(tmp_path):
    model = write_folder(tmp_path / "$x_1$", {INPUT: matrix(60, 8), "a$b$.weight": matrix(40, 8)})
    embed(model, tmp_path / "run", "--tensor=a$b$.weight", "--neighbors=1")
    assert (tmp_path / "run/figures/hubs_0.png").exists()


def test_a_damaged_tokenizer_costs_the_names_alone(tmp_path, capsys):
    model = write_folder(tmp_path / "m", {INPUT: matrix(60, 8)})
    (model / "tokenizer.json").write_text("{")
    embed(model, tmp_path / "run", "--neighbors=1")
    said = capsys.readouterr()
    assert "rows are named by number" in said.err
    assert "nearest neighbour: '" in said.out


def test_matrices_of_different_width_are_said_to_have_no_partners(tmp_path, capsys):
    model = write_folder(tmp_path / "m", {INPUT: matrix(60, 8), OUTPUT: matrix(60, 12)})
    summary = embed(model, tmp_path / "run", "--matrix=input,output")
    assert summary["partners"] == []
    assert "rows of 8 and of 12 elements have no cosine with each other" in capsys.readouterr().err


def test_a_negative_epsilon_is_worded_and_drawn(tmp_path, capsys):
    """A simplex: every cosine is -1/n, so epsilon is negative, where no law and no logarithm speaks."""
    simplex = np.eye(9) - 1 / 9
    np.save(tmp_path / "simplex.npy", simplex)
    np.save(tmp_path / "random.npy", matrix(60, 30).numpy())
    summary = embed(f"{tmp_path / 'simplex.npy'},{tmp_path / 'random.npy'}", tmp_path / "run")
    assert summary["matrices"][0]["epsilon"] == pytest.approx(-1 / 8)
    assert "at an epsilon of 0 or below at most d = 9 directions fit" in capsys.readouterr().out
    assert (tmp_path / "run/figures/dimension_against_epsilon.png").exists()


def test_a_headless_model_says_why_its_tie_is_open(minilm_folder, tmp_path, capsys):
    embed(minilm_folder, tmp_path / "run", "--bins=0")
    assert "F32, the model has no output head" in capsys.readouterr().out
