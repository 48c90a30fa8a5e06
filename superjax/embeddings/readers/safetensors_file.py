"""Reads .safetensors: the header is checked as hostile input, then only the bytes asked for are read."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from superjax.core.errors import InputError
from superjax.embeddings.readers.source import FLOATS, TensorInfo, TensorSource, first_line, truncated, widened

_HEADER_LIMIT = 100_000_000
_BITS = {name: 8 * dtype.itemsize for name, dtype in FLOATS.items()} | {
    "BOOL": 8, "U8": 8, "I8": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32, "I64": 64, "U64": 64, "C64": 64,
}  # fmt: skip


class _Entry(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class SafetensorsFile(TensorSource):
    """One .safetensors file (format: huggingface/safetensors, 8-byte length, JSON header, data)."""

    format = "safetensors"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._entries, self._data_start = _read_header(path)

    def names(self) -> Sequence[str]:
        return tuple(self._entries)

    def info(self, name: str) -> TensorInfo:
        entry = self._entries[name]
        return TensorInfo(name, entry.shape, entry.dtype)

    def rows(self, name: str, start: int, stop: int) -> np.ndarray:
        entry, dtype = self._entries[name], FLOATS[self._entries[name].dtype]
        row_bytes = math.prod(entry.shape[1:]) * dtype.itemsize
        with self.path.open("rb") as file:
            file.seek(self._data_start + entry.begin + start * row_bytes)
            raw = file.read((stop - start) * row_bytes)
        if len(raw) != (stop - start) * row_bytes:
            raise InputError(f"{self.path}: shrank while it was read; try again when nothing writes to it")
        return widened(np.frombuffer(raw, dtype).reshape(stop - start, *entry.shape[1:]))


def _read_header(path: Path) -> tuple[dict[str, _Entry], int]:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _HEADER_LIMIT:
            raise InputError(f"{path}: header of {length} bytes is larger than the format allows; download it again")
        if 8 + length > size:
            raise truncated(path, size, 8 + length)
        text = file.read(length)
    entries = {name: _entry(path, name, value) for name, value in _parse(path, text).items() if name != "__metadata__"}
    _check_tiling(path, entries, size - 8 - length)
    return entries, 8 + length


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        items = dict(pairs)
        if len(items) != len(pairs):
            names = [name for name, _ in pairs]
            _malformed(path, f"names {next(name for name in names if names.count(name) > 1)!r} twice")
        return items

    try:
        header = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        _malformed(path, f"is not JSON ({first_line(error)})")
    if not isinstance(header, dict):
        _malformed(path, "is not a JSON object")
    return header


def _entry(path: Path, name: str, value: Any) -> _Entry:
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        _malformed(path, f"gives {name!r} without exactly dtype, shape and data_offsets")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or not dtype:
        _malformed(path, f"gives {name!r} an empty entry (dtype {dtype!r}, shape {shape!r})")
    if not _whole_numbers(shape) or not _whole_numbers(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        _malformed(path, f"gives {name!r} shape {shape!r} and data_offsets {offsets!r}")
    bits = _BITS.get(dtype)  # a kind we do not know may be there, as long as nobody asks for it
    if bits is not None and math.prod(shape) * bits != 8 * (offsets[1] - offsets[0]):
        _malformed(path, f"gives {name!r} {offsets[1] - offsets[0]} bytes for shape {shape} of {dtype}")
    return _Entry(dtype, tuple(shape), *offsets)


def _whole_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _check_tiling(path: Path, entries: dict[str, _Entry], data_bytes: int) -> None:
    """The format wants the tensors to cover the data exactly: no hole, no overlap, no rest."""
    ordered = sorted((entry.begin, entry.end, name) for name, entry in entries.items())
    end = max((end for _, end, _ in ordered), default=0)
    if end > data_bytes:
        size = path.stat().st_size
        raise truncated(path, size, size - data_bytes + end)
    for (_, end_before, before), (begin, _, name) in pairwise(ordered):
        if begin != end_before:
            word = "overlap" if begin < end_before else "leave a hole between them"
            _malformed(path, f"lets {before!r} and {name!r} {word}")
    if ordered and ordered[0][0] != 0:
        _malformed(path, f"starts {ordered[0][2]!r} at byte {ordered[0][0]} instead of 0")
    if end != data_bytes:
        _malformed(path, f"describes {end} bytes of data but {data_bytes} follow")


def _malformed(path: Path, what: str) -> NoReturn:
    raise InputError(f"{path}: the safetensors header {what}; the file is damaged, download or save it again")
