"""Every format gives the same values; only what is needed is read (real_problems 8, 9, 10)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from superjax.core.errors import InputError, InputWarning
from superjax.embeddings.checkpoint import list_tensors, read_matrices, read_matrix
from tests.embeddings.checkpoint_files import (
    gguf_file,
    matrix,
    same,
    write_config,
    write_folder,
    write_shards,
)

E, U = matrix(seed=1), matrix(seed=2)
MODEL = {"model.embed_tokens.weight": E, "lm_head.weight": U, "model.norm.weight": torch.ones(8)}


# one model, every way it is stored


def written(folder, kind):
    folder.mkdir()
    if kind == "safetensors folder":
        return write_folder(folder, MODEL)
    if kind == "safetensors file":
        return write_folder(folder, MODEL) / "model.safetensors"
    if kind in ("bin", "pt", "pth", "ckpt"):
        torch.save(MODEL, folder / f"weights.{kind}")
        return folder / f"weights.{kind}"
    if kind == "bin folder":
        torch.save(MODEL, folder / "pytorch_model.bin")
        return folder
    if kind in ("sharded bin", "sharded safetensors"):
        end = kind.split()[1]
        names = list(MODEL)
        stem = "pytorch_model" if end == "bin" else "model"
        shards = {f"{stem}-0000{i + 1}-of-00003.{end}": {n: MODEL[n]} for i, n in enumerate(names)}
        return write_shards(folder, shards)
    if kind == "index":
        return next(written(folder / "in", "sharded safetensors").glob("*.index.json"))
    if kind == "npz":
        np.savez(folder / "model.npz", **{name: tensor.numpy() for name, tensor in MODEL.items()})
    if kind == "npz compressed":
        np.savez_compressed(folder / "model.npz", **{name: tensor.numpy() for name, tensor in MODEL.items()})
    if kind == "gguf":
        gguf_file(folder / "model.gguf", {"token_embd.weight": E.numpy(), "output.weight": U.numpy()})
    return folder


@pytest.mark.parametrize(
    "kind",
    ["safetensors folder", "safetensors file", "bin", "pt", "pth", "ckpt", "bin folder", "sharded bin",
     "sharded safetensors", "index", "npz", "npz compressed", "gguf"],
)  # fmt: skip
def test_every_format_gives_the_same_two_matrices(tmp_path, kind):
    first, second = read_matrices(written(tmp_path / "model", kind))
    same(first, E)
    same(second, U)
    assert (first.dtype, first.tied, first.role, second.role) == ("F32", False, "input", "output")


def test_legacy_pytorch_is_read_with_a_warning(tmp_path):
    torch.save(MODEL, tmp_path / "old.bin", _use_new_zipfile_serialization=False)
    with pytest.warns(InputWarning, match=r"old\.bin: a legacy PyTorch file has to be read whole; save it again"):
        first, second = read_matrices(tmp_path / "old.bin")
    same(first, E)
    same(second, U)
    assert first.format == "pytorch-legacy"


# numpy


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_numpy_files(tmp_path, dtype, order, kind):
    array = np.asarray(E.numpy(), dtype, order=order)
    path = tmp_path / f"rows.{kind}"
    np.save(path, array) if kind == "npy" else np.savez(path, anything=array)
    found = read_matrix(path)
    same(found, array.astype(np.float64 if dtype.endswith("8") else np.float32, order="C"))
    assert (found.tensor, found.tied) == ("rows" if kind == "npy" else "anything", None)
    assert found.dtype == {"2": "F16", "4": "F32", "8": "F64"}[dtype[-1]]


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_problem_06_bfloat16_that_came_back_as_void(tmp_path, kind):
    array = E.numpy().astype(ml_dtypes.bfloat16)
    path = tmp_path / f"rows.{kind}"
    np.save(path, array) if kind == "npy" else np.savez(path, anything=array)
    with pytest.warns(InputWarning, match="dtype V2, which numpy writes for bfloat16"):
        found = read_matrix(path)
    same(found, array.astype(np.float32))
    assert found.dtype == "BF16"


def test_bare_tensor_in_a_pytorch_file(tmp_path):
    torch.save(E, tmp_path / "decoder.pt")
    same(read_matrix(tmp_path / "decoder.pt"), E)


# shards


def test_problem_08_only_the_needed_shards_are_needed(tmp_path):
    folder = write_shards(
        tmp_path,
        {"model-00001-of-00003.safetensors": {"model.embed_tokens.weight": E}},
        **{"lm_head.weight": "model-00003-of-00003.safetensors", "x.weight": "model-00002-of-00003.safetensors"},
    )
    found = read_matrix(folder)
    same(found, E)
    assert found.tied is None
    assert "model-00003-of-00003.safetensors" in found.tie_note
    assert found.file.name == "model-00001-of-00003.safetensors"
    with pytest.raises(
        InputError, match=r"shard model-00003-of-00003\.safetensors, which holds lm_head\.weight, is missing"
    ):
        read_matrix(folder, role="output")
    with pytest.raises(InputError, match="is missing; download it into"):
        read_matrices(folder)


def test_problem_08_stale_index(tmp_path):
    shard = "model-00001-of-00001.safetensors"
    folder = write_shards(tmp_path, {shard: {"x.weight": E}}, **{"wte.weight": shard})
    with pytest.raises(InputError, match=rf"stale index: {shard} does not hold wte\.weight"):
        read_matrix(folder)
    with pytest.raises(InputError, match="stale index"):
        list_tensors(folder)


def test_problem_08_stray_file_is_left_alone(tmp_path):
    folder = write_shards(tmp_path, {"model-00001-of-00001.safetensors": {"wte.weight": E}})
    save_file({"wte.weight": torch.zeros(50, 4, dtype=torch.uint8)}, folder / "model.safetensors")
    found = read_matrix(folder)
    same(found, E)
    assert any("model.safetensors beside it is not in the index" in note for note in found.notes)


def test_one_shard_alone(tmp_path):
    folder = write_shards(tmp_path, {"model-00001-of-00002.safetensors": {"wte.weight": E},
                                     "model-00002-of-00002.safetensors": {"lm_head.weight": U}})  # fmt: skip
    write_config(folder, tie_word_embeddings=False)
    found = read_matrix(folder / "model-00001-of-00002.safetensors")
    same(found, E)
    assert found.tied is None
    with pytest.raises(InputError, match="one shard of a larger checkpoint; pass its folder"):
        read_matrix(folder / "model-00001-of-00002.safetensors", role="output")
    for index in folder.glob("*.index.json"):
        index.unlink()
    with pytest.raises(InputError, match="shards without their index"):
        read_matrix(folder)


@pytest.mark.parametrize(
    "bad",
    ["../x.safetensors", "a/../../x.safetensors", "/etc/x.safetensors", "C:\\x.safetensors", "c:x.safetensors",
     "..\\x.safetensors",
     "\\\\host\\x.safetensors", "a\\b.safetensors", "", " ", "x\0.safetensors", "..", 3, None, ["x"]],
)  # fmt: skip
def test_problem_09_index_may_not_leave_its_folder(tmp_path, bad):
    (tmp_path / "in").mkdir()
    save_file({"wte.weight": E}, tmp_path / "x.safetensors")
    (tmp_path / "in" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"wte.weight": bad}}))
    with pytest.raises(InputError, match=r"places wte\.weight in .*, which is not a file beside it"):
        read_matrix(tmp_path / "in")


def test_problem_09_links_of_a_download_cache_load(tmp_path):
    cache = tmp_path / "models--a--b"
    blobs, snapshot = cache / "blobs", cache / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    write_shards(snapshot, {"model-00001-of-00001.safetensors": {"wte.weight": E, "lm_head.weight": E}})
    write_config(snapshot, vocab_size=50)
    for number, file in enumerate(sorted(snapshot.iterdir())):
        shutil.move(file, blobs / str(number))
        file.symlink_to(f"../../blobs/{number}")
    found = read_matrix(snapshot)
    same(found, E)
    assert (found.config_vocab, found.tied) == (50, True)
    with pytest.raises(InputError, match=r"download cache, pass .*snapshots/abc"):
        read_matrix(cache)
    (blobs / "1").unlink()
    with pytest.raises(InputError, match=r"a link to .*blobs/1, which is missing; download the model again"):
        read_matrix(snapshot)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"weight_map": {}}', '{"weight_map": []}', "[" * 100_000])
def test_broken_index(tmp_path, text):
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(InputError, match=r"index\.json: the index .*; download it again$"):
        read_matrix(tmp_path)


# folders


def test_safetensors_come_before_bin(tmp_path):
    torch.save({"wte.weight": U}, tmp_path / "pytorch_model.bin")
    same(read_matrix(write_folder(tmp_path, {"wte.weight": E})), E)


def test_trainer_files_are_not_weights(tmp_path):
    for name in ("training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth"):
        torch.save({"x": U}, tmp_path / name)
    torch.save({"wte.weight": E}, tmp_path / "weights.pth")
    same(read_matrix(tmp_path), E)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([], r"no weight file \(.safetensors, .bin"),
        (["readme.md"], "no weight file"),
        (["a.safetensors", "b.safetensors"], r"several weight files \(a.safetensors, b.safetensors\); pass the one"),
        (["consolidated.00.pth", "consolidated.01.pth"], "model-parallel slices"),
        (["adapter_model.safetensors"], "an adapter alone has no embeddings"),
    ],
)
def test_folders_without_one_checkpoint(tmp_path, files, says):
    for file in files:
        (tmp_path / file).write_bytes(b"x")
    with pytest.raises(InputError, match=says):
        read_matrix(tmp_path)


def test_original_llama_slices_are_refused_one_by_one(tmp_path):
    for number in range(2):
        torch.save({"tok_embeddings.weight": E}, tmp_path / f"consolidated.0{number}.pth")
    with pytest.raises(InputError, match=r"one model-parallel slice of several \(consolidated.01.pth beside it\)"):
        read_matrix(tmp_path / "consolidated.00.pth")
    (tmp_path / "consolidated.01.pth").unlink()
    same(read_matrix(tmp_path / "consolidated.00.pth"), E)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("meta-llama/Llama-2-7b", "run: hf download meta-llama/Llama-2-7b --local-dir Llama-2-7b$"),
        ("gpt2", "run: hf download gpt2 --local-dir gpt2$"),
        ("no/such/deep/path", "no such file or folder; check the path$"),
        ("./model.safetensors", "no such file or folder; check the path$"),
        ("org/model.safetensors", "check the path$"),
        ("", "^checkpoint: no path given"),
    ],
)
def test_what_is_not_there(tmp_path, monkeypatch, path, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=says):
        read_matrix(path)


# gguf


def test_gguf_without_output_is_tied(tmp_path):
    found = read_matrix(gguf_file(tmp_path / "m.gguf", {"token_embd.weight": E.numpy()}), role="output")
    assert (found.tied, found.tensor) == (True, "token_embd.weight")


def test_gguf_encoder_is_headless(tmp_path):
    path = gguf_file(tmp_path / "m.gguf", {"token_embd.weight": E.numpy()}, architecture="bert")
    assert read_matrix(path).tied is None


def test_gguf_part_of_a_split_leaves_the_tie_open(tmp_path):
    path = gguf_file(tmp_path / "m.gguf", {"token_embd.weight": E.numpy()}, **{"split.count": 2})
    assert read_matrix(path).tied is None
    with pytest.raises(InputError, match="one part of a split GGUF"):
        read_matrix(path, role="output")


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_1"])
def test_gguf_kinds_equal_the_package(tmp_path, kind):
    """The blocks are what the gguf package quantised; read in pieces they equal its own dequantisation of the whole."""
    import gguf

    values = matrix(70, 64).numpy()
    quantisation = gguf.GGMLQuantizationType[kind]
    packed = gguf.quantize(values, quantisation)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("token_embd.weight", packed, raw_dtype=quantisation)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = read_matrix(tmp_path / "m.gguf")
    same(found, gguf.dequantize(packed, quantisation))
    assert found.dtype == kind


def test_gguf_header_equals_the_package(smollm2_gguf):
    import gguf

    reader = gguf.GGUFReader(smollm2_gguf)
    expected = [(t.name, tuple(reversed(t.shape.tolist())), t.tensor_type.name) for t in reader.tensors]
    assert [tuple(info) for info in list_tensors(smollm2_gguf)] == expected


# only what is needed (problem 10)

_GROWTH = """
import psutil, sys, threading
from superjax.embeddings.checkpoint import read_matrix
{prepare}
process = psutil.Process()
before, peak, done = process.memory_info().rss, 0, threading.Event()
def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, process.memory_info().rss)
thread = threading.Thread(target=watch)
thread.start()
found = read_matrix(sys.argv[1])
done.set(); thread.join()
print(found.array.shape, found.array[7, 3], max(peak, process.memory_info().rss) - before)
"""


def growth(path, prepare=""):
    """Shape, one entry, and growth of resident memory in bytes, in a process of its own."""
    code = _GROWTH.format(prepare=prepare)
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    shape, entry, grown = out.stdout.rsplit(maxsplit=2)
    return shape, float(entry), int(grown)


def test_problem_10_four_gigabytes_of_sparse_safetensors(tmp_path):
    rows, columns, rest = 2048, 128, 4 << 30
    size = rows * columns * 4
    header = json.dumps({
        "big.weight": {"dtype": "F32", "shape": [1 << 15, 1 << 15], "data_offsets": [0, rest]},
        "wte.weight": {"dtype": "F32", "shape": [rows, columns], "data_offsets": [rest, rest + size]},
    }).encode()  # fmt: skip
    path = tmp_path / "sparse.safetensors"
    table = matrix(rows, columns).numpy()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.seek(rest, 1)
        file.write(table.tobytes())
    assert path.stat().st_size > 4 << 30
    shape, entry, grown = growth(path)
    assert (shape, entry) == ("(2048, 128)", pytest.approx(float(table[7, 3]), rel=1e-7))
    assert grown < 200e6


def test_safetensors_and_numpy_load_no_framework(tmp_path):
    np.save(tmp_path / "rows.npy", E.numpy())
    write_folder(tmp_path / "m", MODEL)
    code = """if True:
        import sys
        from superjax.embeddings.checkpoint import read_matrix
        for path in sys.argv[1:]:
            read_matrix(path)
        print(sorted({"torch", "gguf", "transformers", "tensorflow", "safetensors", "flax", "absl"} & set(sys.modules)))
    """
    paths = [str(tmp_path / "rows.npy"), str(tmp_path / "m")]
    out = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_problem_10_pytorch_is_mapped(tmp_path):
    """Half a gigabyte beside the table stays on disk. The growth is taken after torch is loaded."""
    torch.save({"wte.weight": E, "big": torch.zeros(1 << 27)}, tmp_path / "m.bin")
    shape, entry, grown = growth(tmp_path / "m.bin", prepare="import torch")
    assert (shape, entry) == ("(50, 8)", pytest.approx(float(E[7, 3]), rel=1e-7))
    assert grown < 200e6


def test_problem_10_the_other_matrix_is_compared_in_blocks(tmp_path):
    """Two equal tables of 256 MB: the second never lies in memory whole."""
    table = torch.zeros(1 << 20, 64)
    table[7, 3] = 2.5
    save_file({"wte.weight": table, "lm_head.weight": table.clone()}, tmp_path / "m.safetensors")
    shape, entry, grown = growth(tmp_path / "m.safetensors")
    assert (shape, entry) == ("(1048576, 64)", 2.5)
    assert grown < (256 << 20) + 100e6
