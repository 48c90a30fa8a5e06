"""What every reader offers: named tensors, their shapes and dtypes, and blocks of rows as float arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from superjax.core.errors import InputError

FLOATS: Mapping[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
}
"""Float kinds by the name safetensors gives them; every reader uses these names."""

_BLOCK_BYTES = 16 << 20


class TensorInfo(NamedTuple):
    """One tensor of a checkpoint, without its values.

    `shape` is None where the tensor's shard is not on this machine; `dtype` is the stored kind as text,
    such as "BF16" or "Q4_1".
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: str


class TensorSource(ABC):
    """An open checkpoint: a context manager over named tensors that reads only what is asked for."""

    path: Path
    format: str
    floats: Collection[str] = FLOATS
    """Dtypes `rows` can turn into floats."""
    metadata: Mapping[str, Any]
    """What the file says of its model (GGUF); empty elsewhere."""
    elsewhere: str = ""
    """Why a tensor that is not here may exist in another file; empty when this is the whole checkpoint."""
    unnamed: bool = False
    """Whether this is one matrix whose name, if it has one, says nothing."""
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metadata = {}

    @abstractmethod
    def names(self) -> Sequence[str]:
        """All tensor names, in the file's order."""

    @abstractmethod
    def info(self, name: str) -> TensorInfo:
        """Shape and dtype of one tensor; InputError when its shard is missing or lacks it."""

    def listing(self) -> tuple[TensorInfo, ...]:
        """Every tensor's information, in the file's order."""
        return tuple(self.info(name) for name in self.names())

    @abstractmethod
    def rows(self, name: str, start: int, stop: int) -> np.ndarray:
        """Entries start..stop of the first axis as float32 (float64 when stored as F64)."""

    def file_of(self, name: str) -> Path:
        """The file that holds one tensor."""
        return self.path

    def close(self) -> None:  # noqa: B027 - most readers hold nothing open
        """Release files and maps."""

    def __enter__(self) -> TensorSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def widened(values: np.ndarray) -> np.ndarray:
    """Native float32 of any float array, float64 for 8-byte ones; exact for every narrower kind."""
    return values.astype(np.float64 if values.dtype.itemsize == 8 else np.float32, copy=False)


def row_blocks(shape: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ranges of the first axis that cover it in steps of about 16 MiB of float32."""
    width = 4 * max(1, int(np.prod(shape[1:], dtype=object)))
    step = max(1, _BLOCK_BYTES // width)
    for start in range(0, shape[0], step):
        yield start, min(start + step, shape[0])


def listed(items: Sequence[str], limit: int = 8) -> str:
    """Names for a one-line message: the first few, and how many more."""
    shown = ", ".join(items[:limit])
    return f"{shown} and {len(items) - limit} more" if len(items) > limit else shown


def first_line(error: BaseException) -> str:
    """The first line of an error's text, short enough for a one-line message."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def truncated(path: Path, have: int, need: int) -> InputError:
    """The error for a file that ends too early."""
    return InputError(f"{path}: truncated: have {have} bytes, need {need}; download it again")
