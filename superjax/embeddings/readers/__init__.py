"""Opens a checkpoint of any supported format as one `TensorSource`."""

from __future__ import annotations

from pathlib import Path

from superjax.core.errors import InputError
from superjax.embeddings.readers.gguf_file import GgufFile
from superjax.embeddings.readers.locate import INDEX_SUFFIX, is_shard, locate
from superjax.embeddings.readers.numpy_file import NpyFile, NpzFile
from superjax.embeddings.readers.safetensors_file import SafetensorsFile
from superjax.embeddings.readers.sharded import ShardedFiles
from superjax.embeddings.readers.sniff import file_kind, unreadable
from superjax.embeddings.readers.source import FLOATS, TensorInfo, TensorSource, listed, row_blocks
from superjax.embeddings.readers.torch_file import TorchFile

__all__ = ["FLOATS", "ShardedFiles", "TensorInfo", "TensorSource", "listed", "open_source", "row_blocks"]


def open_source(path: str | Path) -> TensorSource:
    """Open the checkpoint at a path: a folder, an index, or one weight file.

    Args:
        path: what the user gave.

    Returns:
        An open source; use it in a `with` block.

    Raises:
        InputError: nothing readable there; the message names cause and remedy.
    """
    file, notes = locate(path)
    try:
        source = ShardedFiles(file, _open_file) if file.name.endswith(INDEX_SUFFIX) else _open_file(file)
    except OSError as error:
        raise unreadable(file, error) from error
    if odd := next((name for name in source.names() if not name.isprintable()), None):
        raise InputError(f"{file}: a tensor is called {odd!r}; save it again with plain names")
    source.notes = notes
    return source


def _open_file(path: Path) -> TensorSource:
    kind = file_kind(path)
    source = _reader(path, kind)
    if is_shard(path) and not source.elsewhere:
        source.elsewhere = "one shard of a larger checkpoint; pass its folder, with the index"
    return source


def _reader(path: Path, kind: str) -> TensorSource:
    match kind:
        case "safetensors":
            return SafetensorsFile(path)
        case "npy":
            return NpyFile(path)
        case "npz":
            return NpzFile(path)
        case "gguf":
            return GgufFile(path)
        case _:
            return TorchFile(path, legacy=kind == "pytorch-legacy")
