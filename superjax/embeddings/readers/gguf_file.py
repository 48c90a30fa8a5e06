"""Reads .gguf: the header is parsed and checked here, blocks are dequantised by the gguf package."""

from __future__ import annotations

import importlib
import math
import struct
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from superjax.core.errors import InputError
from superjax.embeddings.readers.source import FLOATS, TensorInfo, TensorSource, first_line, truncated, widened

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_VERSIONS = (2, 3)
_DIMS_LIMIT = 4
_SMALLEST_FIELD = 13  # empty key, type, one byte
_SMALLEST_TENSOR = 24
_INTEGERS = ("I8", "I16", "I32", "I64")


class _Entry(NamedTuple):
    kind: str
    shape: tuple[int, ...]
    offset: int
    row_bytes: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape[:-1]) * self.row_bytes


class _RawTensor(NamedTuple):
    name: str
    dims: tuple[int, ...]
    kind: int
    offset: int


class GgufFile(TensorSource):
    """One .gguf file (format: ggml-org/ggml docs/gguf.md, versions 2 and 3, little-endian)."""

    format = "gguf"
    floats: Collection[str]

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._gguf = _import_gguf(path)
        kinds = self._gguf.GGMLQuantizationType
        self.floats = [kind.name for kind in kinds if kind.name not in _INTEGERS]
        header = _Header(path)
        self.metadata = header.metadata
        self._entries = {raw.name: self._entry(raw) for raw in header.tensors}
        if int(self.metadata.get("split.count", 1)) > 1:
            self.elsewhere = "one part of a split GGUF; join the parts with llama-gguf-split --merge"
        self._data_start = header.data_start
        need = self._data_start + max((e.offset + e.nbytes for e in self._entries.values()), default=0)
        if need > path.stat().st_size:
            raise truncated(path, path.stat().st_size, need)

    def _entry(self, raw: _RawTensor) -> _Entry:
        try:
            kind = self._gguf.GGMLQuantizationType(raw.kind)
            block, size = self._gguf.GGML_QUANT_SIZES[kind]
        except (ValueError, KeyError) as error:
            raise InputError(
                f"{self.path}: {raw.name} has GGML type {raw.kind}, unknown to the gguf package; "
                "pip install --upgrade 'superjax[gguf]'"
            ) from error
        shape = tuple(reversed(raw.dims)) or (1,)
        if shape[-1] % block:
            _damaged(self.path, f"{raw.name} has rows of {shape[-1]}, not a multiple of {block}")
        return _Entry(kind.name, shape, raw.offset, shape[-1] // block * size)

    def names(self) -> Sequence[str]:
        return tuple(self._entries)

    def info(self, name: str) -> TensorInfo:
        return TensorInfo(name, self._entries[name].shape, self._entries[name].kind)

    def rows(self, name: str, start: int, stop: int) -> np.ndarray:
        """As in every source, for tensors of two axes or more: GGUF stores blocks along the last one."""
        entry = self._entries[name]
        step = math.prod(entry.shape[1:-1]) * entry.row_bytes
        count = (stop - start) * step
        raw = np.fromfile(self.path, np.uint8, count, offset=self._data_start + entry.offset + start * step)
        if raw.size != count:
            raise InputError(f"{self.path}: shrank while it was read; try again when nothing writes to it")
        return self._values(name, entry, raw).reshape(-1, *entry.shape[1:])

    def _values(self, name: str, entry: _Entry, raw: np.ndarray) -> np.ndarray:
        if entry.kind in FLOATS:
            return widened(raw.view(FLOATS[entry.kind]))
        try:
            kind = self._gguf.GGMLQuantizationType[entry.kind]
            values: np.ndarray = self._gguf.dequantize(raw.reshape(-1, entry.row_bytes), kind)
        except NotImplementedError as error:
            raise InputError(
                f"{self.path}: {name} is {entry.kind}, which the gguf package cannot dequantise; "
                "use a Q4_K, Q8_0, F16 or BF16 file"
            ) from error
        return values


class _Header:
    """A cursor over the file's head that refuses to leave the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        self._bytes = memoryview(np.memmap(path, np.uint8, "r").data)
        self._at = 4
        version = self._scalar("<I")
        if version & 0xFFFF == 0:
            raise InputError(f"{path}: a big-endian GGUF; convert it to little-endian with gguf-convert-endian")
        if version not in _VERSIONS:
            raise InputError(f"{path}: GGUF version {version}, only 2 and 3 are read; convert the model again")
        tensors, fields = self._scalar("<Q"), self._scalar("<Q")
        if tensors * _SMALLEST_TENSOR + fields * _SMALLEST_FIELD > self.size:
            raise truncated(path, self.size, tensors * _SMALLEST_TENSOR + fields * _SMALLEST_FIELD)
        self.metadata = self._fields(fields)
        self.tensors = [self._tensor() for _ in range(tensors)]
        if len({tensor.name for tensor in self.tensors}) != tensors:
            _damaged(path, "two tensors have one name")
        alignment = self.metadata.get("general.alignment", 32)
        if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
            _damaged(path, f"general.alignment is {alignment}")
        self.data_start = -(-self._at // alignment) * alignment

    def _take(self, count: int) -> memoryview:
        end = self._at + count
        if end > self.size:
            raise truncated(self.path, self.size, end)
        piece = self._bytes[self._at : end]
        self._at = end
        return piece

    def _scalar(self, code: str) -> Any:
        return struct.unpack(code, self._take(struct.calcsize(code)))[0]

    def _text(self) -> str:
        try:
            return str(self._take(self._scalar("<Q")), "utf-8")
        except UnicodeDecodeError as error:
            _damaged(self.path, f"text is not UTF-8 ({first_line(error)})")

    def _fields(self, count: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for _ in range(count):
            key = self._text()
            if key in fields:
                _damaged(self.path, f"metadata names {key!r} twice")
            fields[key] = self._value(self._scalar("<I"))
        return fields

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind == _ARRAY:
            return self._array()
        if kind not in _SCALARS:
            _damaged(self.path, f"metadata type {kind} does not exist")
        return self._scalar(_SCALARS[kind])

    def _array(self) -> list[Any] | np.ndarray:
        kind, count = self._scalar("<I"), self._scalar("<Q")
        if kind in _SCALARS:
            return np.frombuffer(self._take(count * struct.calcsize(_SCALARS[kind])), np.dtype(_SCALARS[kind]))
        if kind != _STRING:
            _damaged(self.path, f"metadata array of type {kind} is not supported")
        if 8 * count > self.size:
            raise truncated(self.path, self.size, 8 * count)
        return [self._text() for _ in range(count)]

    def _tensor(self) -> _RawTensor:
        name, rank = self._text(), self._scalar("<I")
        if rank > _DIMS_LIMIT:
            _damaged(self.path, f"{name} has {rank} axes")
        dims = tuple(self._scalar("<Q") for _ in range(rank))
        return _RawTensor(name, dims, self._scalar("<I"), self._scalar("<Q"))


def _import_gguf(path: Path) -> Any:
    try:
        return importlib.import_module("gguf")
    except ImportError as error:
        raise InputError(f"{path}: reading GGUF needs the gguf package; pip install 'superjax[gguf]'") from error


def _damaged(path: Path, what: str) -> NoReturn:
    raise InputError(f"{path}: damaged GGUF header ({what}); download or convert it again")
