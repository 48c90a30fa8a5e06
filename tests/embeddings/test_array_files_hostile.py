"""NumPy and GGUF files that are broken or built to harm: one line with cause and remedy each (real_problems 6, 7)."""

from __future__ import annotations

import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superjax.core.errors import InputError
from superjax.embeddings.checkpoint import read_matrix
from tests.embeddings.checkpoint_files import (
    gguf_file,
    matrix,
    refused,
    shape_or_refusal,
)

E = matrix(6, 4)
DATA = E.numpy().tobytes()


# numpy


def npy(path, header, data=b"", version=(1, 0)):
    """A .npy file with any header text."""
    text = header.encode("latin1")
    length = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    path.write_bytes(b"\x93NUMPY" + bytes(version) + length + text + data)
    return path


NPY = {
    "not a dictionary": ("3\n", "header of m.npy cannot be read"),
    "code": ("__import__('os').system('touch pwned')\n", "cannot be read"),
    "cut": ("{'descr': '<f4',", "cannot be read"),
    "missing key": ("{'descr': '<f4', 'shape': (6, 4)}", "cannot be read"),
    "unknown dtype": (
        "{'descr': '<f1', 'fortran_order': False, 'shape': (6, 4)}",
        "cannot be read.*save it again as float32",
    ),
    "shape of text": ("{'descr': '<f4', 'fortran_order': False, 'shape': ('a', 4)}", "cannot be read"),
    "negative": ("{'descr': '<f4', 'fortran_order': False, 'shape': (-6, -4)}", r"has shape \(-6, -4\)"),
    "huge": ("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776)}", "truncated: have"),
    "pickled": (
        "{'descr': '|O', 'fortran_order': False, 'shape': (6, 4)}",
        "pickled Python objects, which are never loaded",
    ),
    "structured": (
        "{'descr': [('a', '|i1'), ('b', '|i1')], 'fortran_order': False, 'shape': (6, 4)}",
        "quantised or no plain",
    ),
    "one byte": ("{'descr': '|V1', 'fortran_order': False, 'shape': (6, 4)}", "quantised or no plain float"),
    "long header": ("{'descr': '<f4', 'fortran_order': False, 'shape': (6, 4)}" + " " * 20_000, "cannot be read"),
}


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("case", NPY)
def test_npy_headers(tmp_path, monkeypatch, case, version):
    monkeypatch.chdir(tmp_path)
    refused(npy(tmp_path / "m.npy", NPY[case][0], DATA, version), NPY[case][1])
    assert not (tmp_path / "pwned").exists()


def test_npy_version_is_refused(tmp_path):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 4)}"
    refused(npy(tmp_path / "m.npy", text, DATA, (9, 9)), "cannot be read")


@pytest.mark.parametrize("shape", [(24,), (2, 3, 4), (), (0, 4), (6, 0)])
@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_numpy_shapes(tmp_path, shape, kind):
    array = np.zeros(shape, np.float32)
    path = tmp_path / f"m.{kind}"
    np.save(path, array) if kind == "npy" else np.savez(path, x=array)
    refused(path, "expected two axes|is empty")


@pytest.mark.parametrize("dtype", ["<c8", "<c16", "<i4", "|u1", "|b1", "<U3", "|S2", "<M8[s]", np.longdouble])
@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_numpy_dtypes(tmp_path, dtype, kind):
    array = np.zeros((6, 4), dtype)
    path = tmp_path / f"m.{kind}"
    np.save(path, array) if kind == "npy" else np.savez(path, x=array)
    refused(path, "which is quantised or no plain float")


def test_problem_07_truncated_npy(tmp_path):
    np.save(tmp_path / "m.npy", E.numpy())
    whole = (tmp_path / "m.npy").read_bytes()
    (tmp_path / "m.npy").write_bytes(whole[:-10])
    refused(tmp_path / "m.npy", f"truncated: have {len(whole) - 10} bytes, need {len(whole)}")


def test_problem_07_truncated_npz(tmp_path):
    np.savez(tmp_path / "m.npz", x=E.numpy())
    whole = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "m.npz").write_bytes(whole[:-100])
    refused(tmp_path / "m.npz", f"truncated: have {len(whole) - 100} bytes, need ")


def test_zip_bomb(tmp_path):
    with (
        zipfile.ZipFile(tmp_path / "m.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w") as member,
    ):
        np.lib.format.write_array_header_1_0(member, {"descr": "<f4", "fortran_order": False, "shape": (1 << 16, 512)})
        for _ in range(128):
            member.write(bytes(1 << 20))
    assert (tmp_path / "m.npz").stat().st_size < 1 << 20
    refused(tmp_path / "m.npz", "inflates .* times to .* bytes, as a zip bomb does")


def test_npz_member_shorter_than_it_says(tmp_path):
    npy(tmp_path / "x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (600, 4)}", DATA)
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
    with pytest.raises(InputError, match=r"m\.npz\[x\]: truncated: have \d+ bytes, need \d+"):
        read_matrix(tmp_path / "m.npz")


def test_npz_damaged_inside(tmp_path):
    np.savez_compressed(tmp_path / "m.npz", x=matrix(50, 8).numpy())
    content = bytearray((tmp_path / "m.npz").read_bytes())
    content[600:640] = bytes(40)
    (tmp_path / "m.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"m\.npz\[x\]: damaged zip archive .* save it again"):
        read_matrix(tmp_path / "m.npz")


def test_npz_with_a_pickled_member(tmp_path):
    np.savez(tmp_path / "m.npz", x=np.array([{"a": 1}], dtype=object))
    refused(tmp_path / "m.npz", "pickled Python objects, which are never loaded")


# gguf


def gguf_bytes(tmp_path):
    return gguf_file(tmp_path / "good.gguf", {"token_embd.weight": E.numpy()}, **{"llama.vocab_size": 6}).read_bytes()


def gguf_head(version=3, tensors=0, fields=0, rest=b""):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, fields) + rest


def text(value):
    return struct.pack("<Q", len(value)) + value


def tensor(name=b"token_embd.weight", dims=(4, 6), kind=0, offset=0):
    return (
        text(name)
        + struct.pack("<I", len(dims))
        + struct.pack(f"<{len(dims)}Q", *dims)
        + struct.pack("<IQ", kind, offset)
    )


GGUF = {
    "magic only": (b"GGUF", "truncated: have 4 bytes, need 8"),
    "version 1": (gguf_head(version=1), "GGUF version 1, only 2 and 3"),
    "version 99": (gguf_head(version=99), "GGUF version 99"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "a big-endian GGUF"),
    "too many tensors": (gguf_head(tensors=2**60), "truncated: have"),
    "too many fields": (gguf_head(fields=2**60), "truncated: have"),
    "endless key": (gguf_head(fields=1, rest=struct.pack("<Q", 2**62) + bytes(20)), "truncated: have"),
    "type of a field": (gguf_head(fields=1, rest=text(b"a") + struct.pack("<I", 77) + bytes(8)), "metadata type 77"),
    "array of arrays": (
        gguf_head(fields=1, rest=text(b"a") + struct.pack("<IIQ", 9, 9, 2**60) + bytes(8)), "array of type 9"),
    "endless array": (
        gguf_head(fields=1, rest=text(b"a") + struct.pack("<IIQ", 9, 8, 2**60) + bytes(8)), "truncated: have"),
    "endless numbers": (gguf_head(fields=1, rest=text(b"a") + struct.pack("<IIQ", 9, 4, 2**60)), "truncated: have"),
    "same key twice": (gguf_head(fields=2, rest=(text(b"a") + struct.pack("<II", 4, 1)) * 2), "names 'a' twice"),
    "not UTF-8": (gguf_head(fields=1, rest=text(b"\xff\xfe") + struct.pack("<II", 4, 1)), "text is not UTF-8"),
    "alignment 0": (gguf_head(fields=1, rest=text(b"general.alignment") + struct.pack("<II", 4, 0)), "alignment is 0"),
    "alignment 3": (gguf_head(fields=1, rest=text(b"general.alignment") + struct.pack("<II", 4, 3)), "alignment is 3"),
    "five axes": (gguf_head(tensors=1, rest=tensor(dims=(1,) * 5)), "has 5 axes"),
    "unknown kind": (gguf_head(tensors=1, rest=tensor(kind=9999)), "GGML type 9999, unknown to the gguf package"),
    "half a block": (gguf_head(tensors=1, rest=tensor(kind=2)), "rows of 4, not a multiple of 32"),
    "data missing": (gguf_head(tensors=1, rest=tensor()), r"truncated: have \d+ bytes, need \d+"),
    "far offset": (gguf_head(tensors=1, rest=tensor(offset=2**63)), "truncated: have"),
    "huge tensor": (gguf_head(tensors=1, rest=tensor(dims=(2**62, 2**62))), "truncated: have"),
    "same tensor twice": (gguf_head(tensors=2, rest=tensor() * 2 + bytes(200)), "two tensors have one name"),
    "integers": (gguf_head(tensors=1, rest=tensor(kind=24) + bytes(100)), "dtype I8, which is quantised or no plain"),
}  # fmt: skip


@pytest.mark.parametrize("case", GGUF)
def test_gguf_headers(tmp_path, case):
    path = tmp_path / "m.gguf"
    path.write_bytes(GGUF[case][0])
    refused(path, GGUF[case][1])


@pytest.mark.parametrize("cut", [1, 90, 130, 250])
def test_problem_07_truncated_gguf(tmp_path, cut):
    content = gguf_bytes(tmp_path)
    (tmp_path / "m.gguf").write_bytes(content[:-cut])
    refused(tmp_path / "m.gguf", rf"truncated: have {len(content) - cut} bytes, need \d+; download it again")


@given(st.lists(st.tuples(st.integers(4, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_random_damage_to_gguf(changes):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        content = bytearray(gguf_bytes(folder))
        for position, value in changes:
            content[max(4, position % len(content))] = value
        path = folder / "m.gguf"
        path.write_bytes(content)
        found = shape_or_refusal(path)
        assert "\n" not in found if isinstance(found, str) else len(found) == 2
