"""Reads the input embedding and the output matrix of a checkpoint, whatever its format and its family's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from superjax.embeddings.names import ROLES, Role, parse_roles
from superjax.embeddings.readers import TensorInfo, open_source
from superjax.embeddings.selection import Selected, Selection


@dataclass(frozen=True, eq=False)
class EmbeddingMatrix:
    """A matrix of a checkpoint and what is known about it; `numpy.asarray` gives its array.

    Attributes:
        array: [V, d], one row a token as stored (not centred, not normalised), float32, or float64 when stored as F64.
        tensor: name in the file (the file's stem where the format has no names).
        role: "input", "output", or "other" for a tensor chosen by name that is neither.
        dtype: kind it is stored in, as text: "BF16", "F32", "Q4_1", ...
        tied: whether input and output embedding are one matrix; None where the other one cannot be known, and for a
            tensor chosen by name.
        tie_note: why `tied` is None, empty where it is not, or nothing more is known.
        path: the checkpoint as given.
        file: the file that holds the tensor.
        format: "safetensors", "pytorch", "pytorch-legacy", "sharded safetensors", "sharded bin", "npy", "npz", "gguf".
        config_vocab: rows the configuration gives the vocabulary, None where it does not say.
        config_width: width of the hidden states by the configuration; the embedding's may differ.
        transposed: whether it is stored as [d, V].
        notes: facts worth printing, one line each.
    """

    array: np.ndarray
    tensor: str
    role: Literal["input", "output", "other"]
    dtype: str
    tied: bool | None
    path: Path
    file: Path
    format: str
    config_vocab: int | None = None
    config_width: int | None = None
    transposed: bool = False
    notes: tuple[str, ...] = ()
    tie_note: str = ""

    @property
    def vocab(self) -> int:
        """V, the number of rows."""
        return int(self.array.shape[0])

    @property
    def dim(self) -> int:
        """d, the number of columns."""
        return int(self.array.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.array, dtype=dtype, copy=copy)


def read_matrix(path: str | Path, *, role: Role = "input", tensor: str | None = None) -> EmbeddingMatrix:
    """One matrix of a checkpoint, in float32.

    Only the bytes of that matrix are read, and, where both matrices are stored, those of the other one (block by block,
    never kept) to see whether they are tied. Nothing in the file is ever run.

    Args:
        path: a Hugging Face folder, a .safetensors, .bin, .pt, .pth, .npy, .npz or .gguf file, or an index of shards.
        role: "input" for the token embedding, "output" for the unembedding.
        tensor: exact name of any two-axis tensor, instead of a role.

    Returns:
        The `EmbeddingMatrix`, array [V, d].

    Raises:
        InputError: nothing readable there, no or several candidates, a dtype that is no float, half a model; the
            message is one line with cause and remedy.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "rows.npy"
        >>> np.save(file, np.eye(5, 3, dtype=np.float16))
        >>> matrix = read_matrix(file)
        >>> matrix.array.shape, matrix.array.dtype.name, matrix.dtype, matrix.tied
        ((5, 3), 'float32', 'F16', None)
    """
    return read_matrices(path, roles=(role,), tensor=tensor)[0]


def read_matrices(
    path: str | Path, *, roles: Sequence[str] = ROLES, tensor: str | None = None
) -> tuple[EmbeddingMatrix, ...]:
    """Several matrices of a checkpoint with one opening; tied ones come once.

    Args:
        path: as in `read_matrix`.
        roles: "input", "output" or both.
        tensor: exact name of any two-axis tensor, instead of roles.

    Returns:
        One `EmbeddingMatrix` for each role asked, in that order; only the first of the two where they are tied.

    Raises:
        InputError: as in `read_matrix`.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "model.npz"
        >>> np.savez(file, **{"wte.weight": np.eye(5, 3), "lm_head.weight": np.eye(5, 3)})
        >>> [(m.role, m.tensor, m.tied) for m in read_matrices(file)]
        [('input', 'wte.weight', True)]
    """
    asked = parse_roles(roles)
    with open_source(path) as source:
        selection = Selection(source)
        found = selection.by_role(asked) if tensor is None else [selection.named(tensor)]
        return tuple(_described(Path(path), selection, selected) for selected in found)


def list_tensors(path: str | Path) -> tuple[TensorInfo, ...]:
    """Names, shapes and dtypes of all tensors of a checkpoint, without their values.

    Args:
        path: as in `read_matrix`.

    Returns:
        One `TensorInfo(name, shape, dtype)` each, in the file's order; shape is None where a shard is not here.

    Raises:
        InputError: nothing readable there.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "model.npz"
        >>> np.savez(file, W_E=np.eye(5, 3), step=np.int64(7))
        >>> list_tensors(file)
        (TensorInfo(name='W_E', shape=(5, 3), dtype='F64'), TensorInfo(name='step', shape=(), dtype='int64'))
    """
    with open_source(path) as source:
        return source.listing()


def _described(path: Path, selection: Selection, selected: Selected) -> EmbeddingMatrix:
    stored, source, config = selected.stored, selection.source, selection.config
    return EmbeddingMatrix(
        array=selected.array,
        tensor=stored.name,
        role=selected.role or "other",
        dtype=stored.dtype,
        tied=selected.tie.tied,
        path=path,
        file=source.file_of(stored.name),
        format=source.format,
        config_vocab=config.vocab,
        config_width=config.width,
        transposed=stored.transposed,
        notes=(*source.notes, *stored.notes),
        tie_note=selected.tie.note,
    )
