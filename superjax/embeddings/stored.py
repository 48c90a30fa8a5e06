"""One matrix as it lies in a checkpoint: read in row blocks, scaled, and turned to [V, d]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from superjax.core.errors import EnvironmentFailure, InputError
from superjax.embeddings.model_config import ModelConfig
from superjax.embeddings.names import stored_transposed
from superjax.embeddings.readers import FLOATS, TensorSource, row_blocks
from superjax.embeddings.scales import Scale, find_scale


@dataclass(frozen=True)
class StoredMatrix:
    """A two-axis float tensor of an open checkpoint that nobody has read yet.

    Attributes:
        source: the open checkpoint.
        name: the tensor's name in it.
        stored: its shape there.
        dtype: its kind there, as text.
        transposed: whether it lies as [d, V].
        scale: the float8 factors, if any.
        notes: what was found out on the way.
    """

    source: TensorSource
    name: str
    stored: tuple[int, int]
    dtype: str
    transposed: bool
    scale: Scale | None
    notes: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """[V, d]."""
        return (self.stored[1], self.stored[0]) if self.transposed else self.stored

    def read(self) -> np.ndarray:
        """The whole matrix, [V, d], float32 (float64 when stored as F64); memory beyond it is one block."""
        try:
            array = np.empty(self.shape, np.float64 if self.dtype == "F64" else np.float32)
            for part, values in self._blocks(array):
                part[...] = values
        except MemoryError as error:
            raise EnvironmentFailure(
                f"{self.source.path}: not enough memory for {self.name}, {self.shape[0]} x {self.shape[1]}; "
                "free memory or use a larger machine"
            ) from error
        return array

    def same_values(self, array: np.ndarray) -> bool:
        """Whether an array [V, d] holds bit for bit the values of this matrix; reads it block by block."""
        return self.shape == array.shape and all(_same_bits(part, values) for part, values in self._blocks(array))

    def _blocks(self, array: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Views of an array [V, d] beside the stored values that belong there."""
        lying = array.T if self.transposed else array
        for start, stop in row_blocks(self.stored):
            values = self.source.rows(self.name, start, stop)
            yield lying[start:stop], values if self.scale is None else self.scale.apply(values, start)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype != b.dtype:
        return np.array_equal(a, b, equal_nan=True)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    return np.array_equal(np.ascontiguousarray(a).view(bits), np.ascontiguousarray(b).view(bits))


def stored_matrix(
    source: TensorSource, name: str, config: ModelConfig, partner: tuple[int, int] | None = None
) -> StoredMatrix:
    """Look at a tensor that should be a matrix of floats, and find out how it lies.

    Args:
        source: the open checkpoint.
        name: a tensor in it.
        config: its vocabulary decides the orientation where it can.
        partner: shape [V, d] of the other matrix, where known.

    Returns:
        The `StoredMatrix`.

    Raises:
        InputError: not two axes, an axis of length 0, no float, unknown float8 scales, no telling rows from columns.
    """
    info = source.info(name)
    where = f"{source.file_of(name)}: {name}"
    shape = info.shape or ()
    if len(shape) != 2:
        raise InputError(f"{where} has shape {list(shape)}, expected two axes [V, d]; choose one with --tensor=NAME")
    if math.prod(shape) == 0:
        raise InputError(f"{where} is empty, shape {list(shape)}; choose another with --tensor=NAME")
    if info.dtype not in source.floats:
        raise InputError(
            f"{where} has dtype {info.dtype}, which is quantised or no plain float ({', '.join(FLOATS)}); "
            "use the unquantised checkpoint"
        )
    stored = (shape[0], shape[1])
    scale, notes = find_scale(source, name, stored, config) if info.dtype.startswith("F8") else (None, ())
    transposed = _lies_transposed(where, name, stored, config, partner)
    if transposed:
        notes = (*notes, f"{name} is stored as [d, V] = {list(stored)}; it was transposed")
    width = stored[0] if transposed else stored[1]
    if config.width is not None and config.width != width:
        notes = (*notes, f"{name} has width {width}, the hidden states have {config.width}")
    return StoredMatrix(source, name, stored, info.dtype, transposed, scale, notes)


def _lies_transposed(
    where: str, name: str, stored: tuple[int, int], config: ModelConfig, partner: tuple[int, int] | None
) -> bool:
    """Whether the second axis is the vocabulary: by the vocabulary's size, else by the other matrix, else by name."""
    by_name = stored_transposed(name)
    if stored[0] == stored[1]:
        return by_name
    if config.vocab in stored:
        if config.vocab == config.width:
            raise InputError(
                f"{where} has shape {list(stored)}, and its configuration gives {config.vocab} as vocabulary and "
                "as width: no telling which axis is the vocabulary; correct or remove config.json"
            )
        return stored[1] == config.vocab
    if not by_name:
        return False
    if partner is not None and partner[1] in stored:
        return stored[0] == partner[1]
    if stored[0] > stored[1]:
        raise InputError(
            f"{where} has shape {list(stored)}: no telling which axis is the vocabulary; "
            "put a config.json with vocab_size beside it"
        )
    return True
