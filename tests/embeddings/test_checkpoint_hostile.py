"""Files that are broken or built to harm: one line with cause and remedy each (real_problems 1, 6, 7, 8)."""

from __future__ import annotations

import gzip
import json
import os
import struct
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from superjax.core.errors import EnvironmentFailure, InputError
from superjax.embeddings.checkpoint import list_tensors, read_matrix
from tests.embeddings.checkpoint_files import (
    gguf_file,
    matrix,
    raw_safetensors,
    refused,
    shape_or_refusal,
    write_folder,
)

E = matrix(6, 4)
DATA = E.numpy().tobytes()
GOOD = {"dtype": "F32", "shape": [6, 4], "data_offsets": [0, 96]}


# safetensors


def test_the_well_formed_file_is_read(tmp_path):
    header = {"__metadata__": {"format": "pt"}, "wte.weight": GOOD}
    np.testing.assert_array_equal(
        read_matrix(raw_safetensors(tmp_path / "m.safetensors", header, DATA)).array, E.numpy()
    )


HEADERS = {
    "not JSON": (b"{nonsense}", "is not JSON"),
    "cut JSON": (b'{"wte.weight": {"dtype"', "is not JSON"),
    "deep JSON": (b'{"a":' + b"[" * 100_000, "is not JSON"),
    "not UTF-8": (b'{"\xff": 1}', "is not JSON"),
    "a list": (b"[]      ", "safetensors header is not a JSON object|JSON, not weights|not a safetensors"),
    "duplicate keys": (
        b'{"wte.weight":{"dtype":"F32","shape":[6,4],"data_offsets":[0,96]},'
        b'"wte.weight":{"dtype":"F32","shape":[6,4],"data_offsets":[0,96]}}',
        "names 'wte.weight' twice",
    ),
    "duplicate inner keys": (
        b'{"wte.weight":{"dtype":"F32","dtype":"F16","shape":[6,4],"data_offsets":[0,96]}}', "names 'dtype' twice"),
    "entry is a number": ({"wte.weight": 3}, "without exactly dtype, shape and data_offsets"),
    "no offsets": ({"wte.weight": {"dtype": "F32", "shape": [6, 4]}}, "without exactly"),
    "extra key": ({"wte.weight": GOOD | {"code": "x"}}, "without exactly"),
    "problem 8, empty entry": ({"wte.weight": {"dtype": "", "shape": [], "data_offsets": [0, 96]}}, "an empty entry"),
    "dtype null": ({"wte.weight": GOOD | {"dtype": None}}, "an empty entry"),
    "negative shape": ({"wte.weight": GOOD | {"shape": [-6, -4]}}, r"shape \[-6, -4\]"),
    "shape true": ({"wte.weight": GOOD | {"shape": [True, 24]}}, "shape"),
    "shape float": ({"wte.weight": GOOD | {"shape": [6.0, 4]}}, "shape"),
    "shape a number": ({"wte.weight": GOOD | {"shape": 24}}, "shape"),
    "shape too large": ({"wte.weight": GOOD | {"shape": [2**40, 2**40]}}, "96 bytes for shape"),
    "shape too small": ({"wte.weight": GOOD | {"shape": [6, 3]}}, "96 bytes for shape"),
    "dtype too wide": ({"wte.weight": GOOD | {"dtype": "F64"}}, "96 bytes for shape"),
    "offsets reversed": ({"wte.weight": GOOD | {"data_offsets": [96, 0]}}, "data_offsets"),
    "offsets negative": ({"wte.weight": GOOD | {"data_offsets": [-96, 0]}}, "data_offsets"),
    "three offsets": ({"wte.weight": GOOD | {"data_offsets": [0, 48, 96]}}, "data_offsets"),
    "offsets outside": ({"wte.weight": GOOD | {"data_offsets": [96, 192]}}, r"truncated: have \d+ bytes, need \d+"),
    "does not start at 0": ({"wte.weight": GOOD | {"shape": [5, 4], "data_offsets": [16, 96]}}, "at byte 16"),
    "overlap": ({"wte.weight": GOOD, "b": {"dtype": "U8", "shape": [48], "data_offsets": [48, 96]}}, "overlap"),
    "hole": ({"wte.weight": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]},
              "b": {"dtype": "U8", "shape": [8], "data_offsets": [88, 96]}}, "hole"),
    "bytes left over": (
        {"wte.weight": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}}, "64 bytes of data but 96"),
    "unprintable name": ({"a\nb.wte.weight": GOOD}, "is called 'a"),
}  # fmt: skip


@pytest.mark.parametrize("case", HEADERS)
def test_safetensors_headers(tmp_path, case):
    header, says = HEADERS[case]
    refused(raw_safetensors(tmp_path / "m.safetensors", header, DATA), says)


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 100_000_001, 1000])
def test_safetensors_header_length(tmp_path, length):
    path = raw_safetensors(tmp_path / "m.safetensors", {"wte.weight": GOOD}, DATA, length=length)
    refused(path, "header of .* larger than the format allows|truncated: have .* bytes, need 1008")


def test_an_unknown_dtype_only_hurts_who_asks_for_it(tmp_path):
    """gpt-oss stores its experts in kinds this package does not read."""
    header = {"wte.weight": GOOD, "experts": {"dtype": "F4", "shape": [2, 8], "data_offsets": [96, 104]}}
    path = raw_safetensors(tmp_path / "m.safetensors", header, DATA + bytes(8))
    np.testing.assert_array_equal(read_matrix(path).array, E.numpy())
    with pytest.raises(InputError, match="experts has dtype F4, which is quantised or no plain float"):
        read_matrix(path, tensor="experts")


@pytest.mark.parametrize("cut", [1, 50, 96, 97, 150])
def test_problem_07_truncated_safetensors(tmp_path, cut):
    save_file({"wte.weight": matrix(60, 40)}, tmp_path / "m.safetensors")
    whole = (tmp_path / "m.safetensors").read_bytes()
    (tmp_path / "m.safetensors").write_bytes(whole[:-cut])
    refused(
        tmp_path / "m.safetensors", f"truncated: have {len(whole) - cut} bytes, need {len(whole)}; download it again"
    )


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_random_damage_to_a_header(changes):
    with tempfile.TemporaryDirectory() as folder:
        path = raw_safetensors(Path(folder) / "m.safetensors", {"wte.weight": GOOD}, DATA)
        content = bytearray(path.read_bytes())
        for position, value in changes:
            content[position % (len(content) - len(DATA))] = value
        path.write_bytes(content)
        found = shape_or_refusal(path)
        assert "\n" not in found if isinstance(found, str) else len(found) == 2


# what is not a checkpoint at all

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 548105171\n"
CONTENTS = {
    "LFS pointer": (LFS, r"a Git LFS pointer, not the weights \(which are 548105171 bytes\); run git lfs pull"),
    "empty": (b"", r"empty \(0 bytes\)"),
    "web page": (b"<!DOCTYPE html><html>404</html>", "a web page, not weights"),
    "web page, spaced": (b"\n\n  <html></html>", "a web page"),
    "gzip": (gzip.compress(b"weights"), "gzip-compressed; unpack it first"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "HDF5"),
}


@pytest.mark.parametrize("suffix", [".safetensors", ".bin", ".pth", ".npy", ".npz", ".gguf", ""])
@pytest.mark.parametrize("case", CONTENTS)
def test_problem_07_what_is_not_a_checkpoint(tmp_path, case, suffix):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(CONTENTS[case][0])
    refused(path, CONTENTS[case][1])


def test_problem_07_an_lfs_pointer_in_a_folder(tmp_path):
    folder = write_folder(tmp_path, {"wte.weight": E})
    (folder / "model.safetensors").write_bytes(LFS)
    refused(folder / "model.safetensors", "Git LFS pointer")


def test_tar_archive(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with tarfile.open(tmp_path / "m.pt", "w") as tar:
        tar.add(tmp_path / "a.txt")
    refused(tmp_path / "m.pt", "a tar archive; unpack it first")


MEANINGLESS = {"zero": b"\0", "abc": b"abc", "7 bytes": b"1234567", "zeros": bytes(100), "ones": b"\xff" * 40,
               "braces": b"{}", "text": b"hello world, this is text"}  # fmt: skip


@pytest.mark.parametrize("content", MEANINGLESS)
@pytest.mark.parametrize("suffix", [".safetensors", ".bin", ".npy", ".npz", ".gguf", ".txt"])
def test_short_and_meaningless_files(tmp_path, content, suffix):
    path = tmp_path / f"m{suffix}"
    path.write_bytes(MEANINGLESS[content])
    refused(
        path, "no kind of checkpoint|JSON, not weights|safetensors header|truncated: have|larger than the format allows"
    )


@pytest.mark.parametrize("kind", ["safetensors", "npy", "npz", "gguf"])
@pytest.mark.parametrize("suffix", [".safetensors", ".bin", ".npy", ".npz", ".gguf"])
def test_content_and_name_must_agree(tmp_path, kind, suffix):
    source = tmp_path / f"good.{kind}"
    if kind == "safetensors":
        save_file({"wte.weight": E}, source)
    elif kind == "gguf":
        gguf_file(source, {"token_embd.weight": E.numpy()})
    else:
        np.save(source, E.numpy()) if kind == "npy" else np.savez(source, E.numpy())
    path = tmp_path / f"m{suffix}"
    source.rename(path)
    if suffix == f".{kind}":
        assert read_matrix(path).array.shape == (6, 4)
    else:
        refused(path, f"is called {suffix} but holds {kind}; rename it")
    path.rename(tmp_path / "without_suffix")
    assert read_matrix(tmp_path / "without_suffix").array.shape == (6, 4)


def test_folders_pipes_and_links(tmp_path):
    (tmp_path / "m.safetensors").mkdir()
    refused(tmp_path / "m.safetensors", "no weight file")
    os.mkfifo(tmp_path / "pipe.safetensors")
    refused(tmp_path / "pipe.safetensors", "not a regular file, expected a weight file")
    (tmp_path / "gone.safetensors").symlink_to("nowhere")
    refused(tmp_path / "gone.safetensors", "a link to nowhere, which is missing")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError):
        read_matrix(tmp_path / "loop")
    with pytest.raises(InputError, match="not a regular file"):
        read_matrix("/dev/zero")


def test_a_folder_inside_the_folder_where_a_file_should_be(tmp_path):
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(InputError, match=r"model\.safetensors: is a folder, expected a weight file"):
        read_matrix(tmp_path)


@pytest.fixture
def ordinary_user():
    """Permissions hold for everybody but root, so root steps down."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        yield
        os.seteuid(0)
    else:
        yield


def test_permissions(ordinary_user):
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = write_folder(Path(name) / "m", {"wte.weight": E}, {"vocab_size": 6})
        (folder / "config.json").chmod(0)
        with pytest.raises(InputError, match=r"config\.json: no permission to read it; run chmod"):
            read_matrix(folder)
        (folder / "config.json").unlink()
        (folder / "model.safetensors").chmod(0)
        refused(folder / "model.safetensors", "no permission to read it; run chmod")
        folder.chmod(0)
        with pytest.raises(InputError, match="no permission to read it"):
            read_matrix(folder)
        with pytest.raises(InputError, match="no permission to read it"):
            read_matrix(folder / "model.safetensors")
        folder.chmod(0o700)


# listings, configurations, memory


def test_too_little_memory_is_the_environments_failure(tmp_path):
    """A sparse file that truly claims 8 TB: the file is right, the machine is too small."""
    rows = 1 << 31
    header = json.dumps(
        {"wte.weight": {"dtype": "F32", "shape": [rows, 1024], "data_offsets": [0, rows * 4096]}}
    ).encode()
    with (tmp_path / "m.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        try:
            file.truncate(8 + len(header) + rows * 4096)
        except OSError:
            pytest.fail("this file system has no sparse file of 8 TB; set TMPDIR to one that has")
    with pytest.raises(EnvironmentFailure, match=r"not enough memory for wte\.weight, 2147483648 x 1024"):
        read_matrix(tmp_path / "m.safetensors")


def test_listing_a_hostile_file_is_refused_too(tmp_path):
    path = raw_safetensors(tmp_path / "m.safetensors", {"wte.weight": GOOD | {"shape": [2**40, 2]}}, DATA)
    with pytest.raises(InputError, match="96 bytes for shape"):
        list_tensors(path)


KEYS = st.sampled_from(
    [
        "vocab_size",
        "hidden_size",
        "tie_word_embeddings",
        "text_config",
        "architectures",
        "quantization_config",
        "model_type",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=80, deadline=None)
def test_any_configuration_is_read_or_refused(config):
    with tempfile.TemporaryDirectory() as name:
        folder = write_folder(Path(name), {"wte.weight": E})
        (folder / "config.json").write_text(json.dumps(config))
        found = shape_or_refusal(folder)
        assert "\n" not in found if isinstance(found, str) else len(found) == 2
