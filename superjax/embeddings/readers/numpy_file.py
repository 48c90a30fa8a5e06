"""Reads .npy and .npz matrices without ever unpickling; bfloat16 saved as void is recognised."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import ml_dtypes
import numpy as np

from superjax.core.errors import InputError, InputWarning
from superjax.embeddings.readers.archive import refusing_damage
from superjax.embeddings.readers.source import TensorInfo, TensorSource, first_line, truncated, widened

_FLOAT_NAMES = {"f2": "F16", "f4": "F32", "f8": "F64"}
_HEADER_OF_VERSION = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_INFLATED_LIMIT = 64 << 20
_RATIO_LIMIT = 100


class _Header(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def kind(self) -> str:
        """The dtype's name in this package."""
        # what numpy makes of ml_dtypes.bfloat16, the only 2-byte kind it cannot name
        if self.dtype.str[1:] == "V2" and self.dtype.names is None:
            return "BF16"
        return _FLOAT_NAMES.get(self.dtype.str[1:], str(self.dtype))

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def values(self, array: np.ndarray) -> np.ndarray:
        """Rows as float32 or float64."""
        return widened(array.view(ml_dtypes.bfloat16) if self.kind == "BF16" else array)


class NpyFile(TensorSource):
    """A .npy file: one matrix, called by the file's stem."""

    format = "npy"
    unnamed = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with path.open("rb") as file:
            self._header = _read_header(path, path.name, file)
        size, need = path.stat().st_size, self._header.offset + self._header.nbytes
        if size < need:
            raise truncated(path, size, need)
        self._array: np.ndarray | None = None
        _say_bfloat16(path, path.name, self._header)

    def names(self) -> Sequence[str]:
        return (self.path.stem,)

    def info(self, name: str) -> TensorInfo:
        return TensorInfo(name, self._header.shape, self._header.kind)

    def rows(self, name: str, start: int, stop: int) -> np.ndarray:
        if self._array is None:
            header = self._header
            self._array = np.memmap(
                self.path, header.dtype, "r", header.offset, header.shape or (1,), "F" if header.fortran else "C"
            )
        return self._header.values(np.ascontiguousarray(self._array[start:stop]))

    def close(self) -> None:
        self._array = None


class NpzFile(TensorSource):
    """An .npz archive of .npy members; a member is inflated whole when one of its rows is asked for."""

    format = "npz"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with refusing_damage(str(path)):
            self._zip = zipfile.ZipFile(path)
        self._members = {m.filename.removesuffix(".npy"): m for m in self._zip.infolist()}
        self._headers = {name: self._member_header(name) for name in self._members}
        self._inflated: tuple[str, np.ndarray] | None = None
        self.unnamed = len(self._headers) == 1

    def names(self) -> Sequence[str]:
        return tuple(self._headers)

    def info(self, name: str) -> TensorInfo:
        return TensorInfo(name, self._headers[name].shape, self._headers[name].kind)

    def rows(self, name: str, start: int, stop: int) -> np.ndarray:
        if self._inflated is None or self._inflated[0] != name:
            self._inflated = name, self._inflate(name)
        return self._headers[name].values(np.ascontiguousarray(self._inflated[1][start:stop]))

    def close(self) -> None:
        self._zip.close()
        self._inflated = None

    def _member_header(self, name: str) -> _Header:
        member = self._members[name]
        where = f"{self.path}[{name}]"
        if not member.filename.endswith(".npy"):
            raise InputError(f"{where}: not a .npy member; save the arrays with numpy.savez")
        if member.flag_bits & 1:
            raise InputError(f"{where}: encrypted; save the arrays with numpy.savez")
        ratio = member.file_size / max(1, member.compress_size)
        if member.file_size > _INFLATED_LIMIT and ratio > _RATIO_LIMIT:
            raise InputError(
                f"{where}: inflates {ratio:.0f} times to {member.file_size} bytes, as a zip bomb does; "
                "save the array with numpy.savez"
            )
        with refusing_damage(where), self._zip.open(member) as stream:
            header = _read_header(self.path, name, stream)
        have, need = member.file_size, header.offset + header.nbytes
        if have < need:
            raise InputError(f"{where}: truncated: have {have} bytes, need {need}; save it again")
        return header

    def _inflate(self, name: str) -> np.ndarray:
        header = self._headers[name]
        _say_bfloat16(self.path, name, header)
        with refusing_damage(f"{self.path}[{name}]"), self._zip.open(self._members[name]) as stream:
            stream.read(header.offset)
            raw = stream.read(header.nbytes)
        return np.frombuffer(raw, header.dtype).reshape(header.shape or (1,), order="F" if header.fortran else "C")


def _read_header(path: Path, name: str, stream: IO[bytes]) -> _Header:
    start = io.BytesIO(stream.read(1 << 16))  # numpy itself allows headers of 10,000 characters
    try:
        shape, fortran, dtype = _HEADER_OF_VERSION[np.lib.format.read_magic(start)](start)
    except (ValueError, TypeError, KeyError, SyntaxError, TokenError, RecursionError, MemoryError) as error:
        raise InputError(
            f"{path}: the .npy header of {name} cannot be read ({first_line(error)}); save it again as float32"
        ) from error
    if dtype.hasobject:
        raise InputError(f"{path}: {name} holds pickled Python objects, which are never loaded; save a float array")
    if any(length < 0 for length in shape):
        raise InputError(f"{path}: {name} has shape {shape}; save it again")
    return _Header(shape, fortran, dtype, start.tell())


def _say_bfloat16(path: Path, name: str, header: _Header) -> None:
    if header.kind == "BF16":
        warnings.warn(
            f"{path}: {name} has the dtype V2, which numpy writes for bfloat16; read as bfloat16",
            InputWarning,
            stacklevel=2,
        )
