"""PyTorch files: nothing in them runs, leftovers do no harm, the rest is refused by name (real_problems 1)."""

from __future__ import annotations

import argparse
import collections
import io
import pathlib
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch

from superjax.core.errors import InputError, InputWarning
from superjax.embeddings.checkpoint import list_tensors, read_matrices, read_matrix
from tests.embeddings.checkpoint_files import RunsCommand, matrix, shape_or_refusal, write_shards

E, U = matrix(seed=1), matrix(seed=2)
MODEL = {"wte.weight": E, "lm_head.weight": U}


def hostile_bytes(kind, trace):
    """A file of each kind that would run a command when loaded the unsafe way."""
    content = {"wte.weight": E, "extra": RunsCommand(trace)}
    buffer = io.BytesIO()
    if kind == "zip":
        torch.save(content, buffer)
    elif kind == "legacy":
        torch.save(content, buffer, _use_new_zipfile_serialization=False)
    elif kind == "pickle":
        pickle.dump({"wte.weight": np.zeros((3, 2)), "extra": RunsCommand(trace)}, buffer)
    elif kind == "pickle 0":
        pickle.dump(RunsCommand(trace), buffer, protocol=0)
    elif kind == "protocol 4":
        torch.save(content, buffer, pickle_protocol=4)
    elif kind == "legacy, storage keys":
        torch.save({"wte.weight": E}, buffer, _use_new_zipfile_serialization=False)
        head = io.BytesIO(buffer.getvalue())
        for _ in range(4):
            list(__import__("pickletools").genops(head))
        return buffer.getvalue()[: head.tell()] + pickle.dumps(RunsCommand(trace), protocol=2)
    return buffer.getvalue()


@pytest.mark.parametrize("suffix", [".bin", ".pt", ".pth", ".safetensors", ".npy", ".npz", ".gguf", ".weights", ""])
@pytest.mark.parametrize("kind", ["zip", "legacy", "pickle", "pickle 0", "protocol 4", "legacy, storage keys"])
def test_problem_01_nothing_runs_whatever_its_name(tmp_path, kind, suffix):
    trace = tmp_path / "pwned"
    path = tmp_path / f"model{suffix}"
    path.write_bytes(hostile_bytes(kind, trace))
    with pytest.raises(InputError) as caught:
        read_matrix(path)
    assert not trace.exists()
    assert "\n" not in str(caught.value)
    if suffix in (".bin", ".pt", ".pth", ".weights", "") and kind in (
        "zip",
        "legacy",
        "protocol 4",
        "legacy, storage keys",
    ):
        assert "system, which is never loaded because it can run code" in str(caught.value)
    with pytest.raises(InputError):
        list_tensors(path)
    assert not trace.exists()


def test_the_hostile_file_is_real(tmp_path):
    """The unsafe way does run it, in a process of its own: otherwise the test above shows nothing."""
    for kind in ("zip", "legacy"):
        trace, path = tmp_path / f"pwned {kind}".replace(" ", "_"), tmp_path / f"{kind}.bin"
        path.write_bytes(hostile_bytes(kind, trace))
        code = "import sys, torch; torch.load(sys.argv[1], weights_only=False)"
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        assert trace.exists()


def test_problem_01_a_shard_runs_nothing_either(tmp_path):
    trace = tmp_path / "pwned"
    folder = write_shards(tmp_path / "m", {"pytorch_model-00001-of-00001.bin": {"wte.weight": E}})
    (folder / "pytorch_model-00001-of-00001.bin").write_bytes(hostile_bytes("zip", trace))
    with pytest.raises(InputError, match="never loaded"):
        read_matrix(folder)
    assert not trace.exists()


def test_problem_01_torch_below_the_floor_is_refused(tmp_path, monkeypatch):
    torch.save(MODEL, tmp_path / "m.bin")
    for version in ("2.9.1+cu128", "2.5", "1.13.1"):
        monkeypatch.setattr(torch, "__version__", version)
        with pytest.raises(InputError, match=r"too old to load files safely; pip install 'torch>=2\.10'"):
            read_matrix(tmp_path / "m.bin")
    for version in ("2.10.0", "2.13.0+cpu", "3.0.0a0+git123", "2.11.0.dev20260101"):
        monkeypatch.setattr(torch, "__version__", version)
        assert read_matrix(tmp_path / "m.bin").array.shape == (50, 8)


@pytest.mark.parametrize(
    ("package", "file", "extra"), [("torch", "m.bin", r"superjax\[torch\]"), ("gguf", "m.gguf", r"superjax\[gguf\]")]
)
def test_missing_extra_names_the_command(tmp_path, monkeypatch, package, file, extra):
    torch.save(MODEL, tmp_path / "m.bin")
    (tmp_path / "m.gguf").write_bytes(b"GGUF" + bytes(100))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f"pip install '{extra}'$"):
        read_matrix(tmp_path / file)


# wrappers


@pytest.mark.parametrize("key", ["model", "state_dict", "model_state_dict", "module", "net"])
@pytest.mark.parametrize(
    "names", [("transformer.wte.weight", "lm_head.weight"), ("tok_embeddings.weight", "output.weight")]
)
def test_nested_state_dicts(tmp_path, key, names):
    state = {key: dict(zip(names, (E, U), strict=True)), "epoch": 3, "optimizer": {"state": {0: {"exp_avg": E}}}}
    torch.save(state, tmp_path / "ckpt.pt")
    first, second = read_matrices(tmp_path / "ckpt.pt")
    np.testing.assert_array_equal(first.array, E.numpy())
    np.testing.assert_array_equal(second.array, U.numpy())
    assert first.tensor == f"{key}.{names[0]}"
    assert read_matrix(tmp_path / "ckpt.pt", tensor=f"{key}.{names[1]}").role == "output"


def test_an_averaged_copy_beside_the_model_is_a_choice_for_the_user(tmp_path):
    torch.save({"model": MODEL, "ema": {"wte.weight": U}}, tmp_path / "ckpt.pt")
    with pytest.raises(InputError, match=r"several candidates.*model\.wte\.weight, ema\.wte\.weight"):
        read_matrix(tmp_path / "ckpt.pt")


@pytest.mark.parametrize("state", [{"wte.weight": E, "wte": {"weight": E + 1}}, {"w": {1: E, "1": E + 1}}])
def test_two_tensors_of_one_name_are_refused(tmp_path, state):
    torch.save(state, tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"m\.pt: two tensors are called \S+ once nested names are joined"):
        read_matrix(tmp_path / "m.pt")


@pytest.mark.parametrize("content", [[E], (E, U), 3, "text", None, {1, 2}])
def test_other_roots_are_refused(tmp_path, content):
    torch.save(content, tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"holds a \w+, not a state dict; save model\.state_dict\(\)"):
        read_matrix(tmp_path / "m.pt")


def test_no_tensors(tmp_path):
    torch.save({"epoch": 3}, tmp_path / "m.pt")
    with pytest.raises(InputError, match="holds no tensors"):
        read_matrix(tmp_path / "m.pt")


def test_a_dictionary_that_holds_itself(tmp_path):
    loop = {"wte.weight": E}
    loop["loop"] = loop
    torch.save(loop, tmp_path / "m.pt")
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.pt", tensor="wte.weight").array, E.numpy())


# leftovers


def leftovers():
    import transformers

    return {
        "argparse.Namespace": argparse.Namespace(lr=1e-3, path=pathlib.PurePosixPath("/tmp")),
        "numpy scalar": np.float64(0.5),
        "numpy array": np.arange(4.0),
        "TrainingArguments": transformers.TrainingArguments(output_dir="/tmp/x", report_to=[]),
        "path": pathlib.Path("/tmp"),
        "ordered": collections.OrderedDict(a=1),
    }


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    "what", ["argparse.Namespace", "numpy scalar", "numpy array", "TrainingArguments", "path", "ordered"]
)
@pytest.mark.filterwarnings("ignore::superjax.core.errors.InputWarning")
def test_leftovers_of_trainers_do_no_harm(tmp_path, what, legacy):
    content = {"model": MODEL, "args": leftovers()[what]}
    torch.save(content, tmp_path / "m.pt", _use_new_zipfile_serialization=not legacy)
    found = read_matrix(tmp_path / "m.pt")
    np.testing.assert_array_equal(found.array, E.numpy())


class Settings:
    """A user's own configuration class."""


@pytest.mark.parametrize("legacy", [False, True])
def test_unknown_classes_are_refused_by_name(tmp_path, legacy):
    torch.save({"model": MODEL, "config": Settings()}, tmp_path / "m.pt", _use_new_zipfile_serialization=not legacy)
    with pytest.raises(
        InputError, match=r"asks for tests\.embeddings\.test_checkpoint_torch\.Settings.*save only the weights"
    ):
        read_matrix(tmp_path / "m.pt")


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_whole_models_are_refused_by_name(tmp_path):
    torch.save(torch.nn.Embedding(5, 3), tmp_path / "m.pt")
    with pytest.raises(
        InputError, match=r"a whole pickled model \(torch\.nn\.modules\.sparse\.Embedding\).*state_dict"
    ):
        read_matrix(tmp_path / "m.pt")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_is_refused_by_name(tmp_path):
    torch.jit.save(torch.jit.trace(torch.nn.Linear(3, 2), torch.zeros(1, 3)), tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"a TorchScript archive, which holds code; save torch\.jit\.load"):
        read_matrix(tmp_path / "m.pt")


# tensors of odd kinds


def test_parameters_views_and_transposes(tmp_path):
    big = matrix(60, 16)
    state = {
        "wte.weight": torch.nn.Parameter(E),
        "slice.weight": big[5:55, 4:12],
        "turned.weight": big.T,
        "half.weight": torch.nn.Parameter(E.half()),
    }
    torch.save(state, tmp_path / "m.pt")
    for name, tensor in state.items():
        found = read_matrix(tmp_path / "m.pt", tensor=name).array
        np.testing.assert_array_equal(found, tensor.detach().float().numpy())


def test_an_expanded_view_is_refused(tmp_path):
    """Four bytes on disk that ask for forty terabytes."""
    torch.save({"wte.weight": torch.zeros(1, 1).expand(10**8, 10**5)}, tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"float32 \(an expanded view\), which is quantised or no plain float"):
        read_matrix(tmp_path / "m.pt")


@pytest.mark.parametrize(
    "tensor",
    [torch.zeros(4, 3).to_sparse(), torch.zeros(4, 3, device="meta"), torch.zeros(4, 3, dtype=torch.complex64)],
    ids=["sparse", "meta", "complex"],
)
@pytest.mark.filterwarnings("ignore:.*parse:UserWarning")
def test_odd_tensors_are_refused_by_name(tmp_path, tensor):
    torch.save({"wte.weight": tensor}, tmp_path / "m.pt")
    with pytest.raises(
        InputError, match=r"wte\.weight has dtype \w+( \([\w ]+\))?, which is quantised or no plain float"
    ):
        read_matrix(tmp_path / "m.pt")


# damaged archives


@pytest.mark.parametrize("cut", [1, 20, 100, 3000])
def test_problem_07_truncated_zip(tmp_path, cut):
    torch.save({"wte.weight": matrix(200, 16)}, tmp_path / "m.bin")
    whole = (tmp_path / "m.bin").read_bytes()
    (tmp_path / "m.bin").write_bytes(whole[:-cut])
    with pytest.raises(
        InputError, match=rf"truncated: have {len(whole) - cut} bytes, need (\d+) or more.*download"
    ) as caught:
        read_matrix(tmp_path / "m.bin")
    need = int(str(caught.value).split("need ")[1].split()[0])
    assert len(whole) - cut < need <= len(whole) + 22


@pytest.mark.parametrize("keep", [30, 200, 0.5, 0.99])
@pytest.mark.filterwarnings("ignore::superjax.core.errors.InputWarning")
def test_problem_07_truncated_legacy(tmp_path, keep):
    torch.save({"wte.weight": matrix(200, 16)}, tmp_path / "m.bin", _use_new_zipfile_serialization=False)
    whole = (tmp_path / "m.bin").read_bytes()
    (tmp_path / "m.bin").write_bytes(whole[: keep if isinstance(keep, int) else int(keep * len(whole))])
    with pytest.raises(InputError, match="truncated") as caught:
        read_matrix(tmp_path / "m.bin")
    assert "\n" not in str(caught.value)


def rezip(path, change):
    """The same archive with its members changed."""
    members = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            members[member.filename] = archive.read(member)
    members, how = change(members)
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: (m, zipfile.ZIP_DEFLATED), "compressed or encrypted zip"),
        (lambda m: ({k: v for k, v in m.items() if "data/" not in k}, zipfile.ZIP_STORED), "cannot load it"),
        (lambda m: ({k: b"" if k.endswith(".pkl") else v for k, v in m.items()}, zipfile.ZIP_STORED), "pickle"),
        (lambda m: ({k: v[:-9] if k.endswith(".pkl") else v for k, v in m.items()}, zipfile.ZIP_STORED), "pickle"),
        (lambda m: (m | {"b/data.pkl": b"x"}, zipfile.ZIP_STORED), "zip without one data.pkl"),
        (lambda m: ({"readme.txt": b"x"}, zipfile.ZIP_STORED), "a zip without arrays or a torch.save inside"),
    ],
)
def test_damaged_archives(tmp_path, change, says):
    path = tmp_path / "m.bin"
    torch.save({"wte.weight": E}, path)
    rezip(path, change)
    with pytest.raises(InputError, match=says) as caught:
        read_matrix(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.filterwarnings("ignore::superjax.core.errors.InputWarning")
def test_random_damage_gives_one_line_or_a_matrix(tmp_path, seed):
    random = np.random.default_rng(seed)
    torch.save({"wte.weight": matrix(6, 4)}, tmp_path / "m.bin", _use_new_zipfile_serialization=bool(seed % 2))
    content = bytearray((tmp_path / "m.bin").read_bytes())
    for position in random.integers(0, len(content), 4):
        content[position] = random.integers(256)
    (tmp_path / "m.bin").write_bytes(content)
    found = shape_or_refusal(tmp_path / "m.bin")
    assert "\n" not in found if isinstance(found, str) else len(found) == 2


def test_legacy_warning_is_the_only_one(tmp_path):
    torch.save(MODEL, tmp_path / "m.bin", _use_new_zipfile_serialization=False)
    with pytest.warns(InputWarning) as caught:
        read_matrix(tmp_path / "m.bin")
    assert len(caught) == 1


def test_a_name_hidden_behind_the_memo_is_not_run(tmp_path):
    """The opcode scan can be misled by strings fetched from the memo; torch's weights_only loader is the floor."""
    trace = tmp_path / "pwned"
    command = f"touch {trace}".encode()

    def text(value):
        return b"\x8c" + bytes([len(value)]) + value

    program = (
        b"\x80\x04" + text(b"os") + b"\x94" + b"0" + text(b"system") + b"\x94" + b"0"
        + text(b"numpy") + b"0" + text(b"x") + b"0" + b"h\x00" + b"h\x01" + b"\x93" + text(command) + b"\x85R."
    )  # fmt: skip
    honest, hostile = tmp_path / "honest.bin", tmp_path / "hostile.bin"
    torch.save({"model.embed_tokens.weight": torch.ones(4, 2)}, honest)
    with zipfile.ZipFile(honest) as source, zipfile.ZipFile(hostile, "w") as target:
        for entry in source.infolist():
            target.writestr(entry, program if entry.filename.endswith("data.pkl") else source.read(entry))
    with pytest.raises(InputError):
        read_matrix(hostile)
    assert not trace.exists()
    pickle.loads(program)  # the program is real: the plain loader runs it
    assert trace.exists()
