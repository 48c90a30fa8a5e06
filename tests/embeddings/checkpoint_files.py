"""Writes small checkpoints of every format, well-formed and hostile, for the converter's tests."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from superjax.core.errors import InputError
from superjax.embeddings.checkpoint import EmbeddingMatrix, read_matrix


def matrix(rows: int = 50, columns: int = 8, seed: int = 0) -> torch.Tensor:
    """A float32 matrix of normal entries."""
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32))


def write_config(folder: Path, **config: Any) -> None:
    """A config.json."""
    (folder / "config.json").write_text(json.dumps(config))


def write_folder(folder: Path, tensors: Mapping[str, torch.Tensor], config: Mapping[str, Any] | None = None) -> Path:
    """A folder with model.safetensors and, if given, config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    if config is not None:
        write_config(folder, **config)
    return folder


def write_shards(folder: Path, shards: Mapping[str, Mapping[str, torch.Tensor]], **moved: str) -> Path:
    """Shards and their index; `moved` places further tensors in the index without writing them."""
    folder.mkdir(parents=True, exist_ok=True)
    weight_map = dict(moved)
    for file, tensors in shards.items():
        save = save_file if file.endswith(".safetensors") else torch.save
        save({name: tensor.clone() for name, tensor in tensors.items()}, folder / file)
        weight_map |= dict.fromkeys(tensors, file)
    kind = "pytorch_model.bin" if all(file.endswith(".bin") for file in shards) else "model.safetensors"
    (folder / f"{kind}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


def raw_safetensors(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    """A .safetensors file with any header (text is written as it stands) and any data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def gguf_file(path: Path, tensors: Mapping[str, np.ndarray], **metadata: str | int) -> Path:
    """A GGUF file as the gguf package writes it, architecture llama unless said."""
    import gguf

    writer = gguf.GGUFWriter(path, str(metadata.pop("architecture", "llama")))
    for key, value in metadata.items():
        writer.add_string(key, value) if isinstance(value, str) else writer.add_uint32(key, value)
    for name, values in tensors.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def shape_or_refusal(path: Path) -> tuple[int, ...] | str:
    """The matrix's shape, or the message of the refusal; any other exception is a fault of the reader."""
    try:
        return read_matrix(path).array.shape
    except InputError as error:
        return str(error)


class RunsCommand:
    """Pickles to a call of os.system that would leave a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.trace}",)


def same(found: EmbeddingMatrix, expected: Any) -> None:
    """The matrix that was read has these values, bit for bit."""
    expected = np.asarray(expected)
    assert found.array.dtype == expected.dtype
    assert found.array.flags.c_contiguous
    np.testing.assert_array_equal(found.array.view(np.uint8), np.ascontiguousarray(expected).view(np.uint8))


def refused(path: Path, says: str) -> None:
    """The file is refused with one line that names it."""
    with pytest.raises(InputError, match=says) as caught:
        read_matrix(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ";" in str(caught.value)  # cause; remedy
