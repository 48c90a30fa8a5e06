"""Reads a checkpoint split over files with an index; only the shards that hold what is asked for need to exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PureWindowsPath
from typing import NoReturn

import numpy as np

from superjax.core.errors import InputError
from superjax.embeddings.readers.json_file import load_json
from superjax.embeddings.readers.source import TensorInfo, TensorSource


class ShardedFiles(TensorSource):
    """The files of one `*.index.json`: names come from its weight_map, each shard is opened when first needed."""

    def __init__(self, index: Path, open_file: Callable[[Path], TensorSource]) -> None:
        super().__init__(index)
        self._open_file = open_file
        self._shard_of = _weight_map(index)
        self._open: dict[str, TensorSource] = {}
        self.format = f"sharded {Path(next(iter(self._shard_of.values()))).suffix.removeprefix('.')}"

    def names(self) -> Sequence[str]:
        return tuple(self._shard_of)

    def info(self, name: str) -> TensorInfo:
        return self._shard(name).info(name)

    def rows(self, name: str, start: int, stop: int) -> np.ndarray:
        return self._shard(name).rows(name, start, stop)

    def file_of(self, name: str) -> Path:
        return self.path.parent / self._shard_of[name]

    def listing(self) -> tuple[TensorInfo, ...]:
        here = [self.file_of(name).exists() for name in self._shard_of]
        return tuple(
            self.info(name) if is_here else TensorInfo(name, None, "")
            for name, is_here in zip(self._shard_of, here, strict=True)
        )

    def close(self) -> None:
        for shard in self._open.values():
            shard.close()
        self._open = {}

    def _shard(self, name: str) -> TensorSource:
        file = self._shard_of[name]
        if file not in self._open:
            if not self.file_of(name).exists() and not self.file_of(name).is_symlink():
                raise InputError(
                    f"{self.path}: shard {file}, which holds {name}, is missing; download it into {self.path.parent}"
                )
            self._open[file] = self._open_file(self.file_of(name))
        shard = self._open[file]
        if name not in shard.names():
            raise InputError(
                f"{self.path}: stale index: {file} does not hold {name}; download index and shards together"
            )
        return shard


def _weight_map(index: Path) -> dict[str, str]:
    content = load_json(index, lambda what: _unusable(index, what))
    weight_map = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(weight_map, dict) or not weight_map:
        _unusable(index, "has no weight_map")
    for name, file in weight_map.items():
        if not isinstance(file, str) or not _inside(file):
            _unusable(index, f"places {name} in {file!r}, which is not a file beside it")
    return weight_map


def _inside(file: str) -> bool:
    """Whether a name stays in its folder, judged by its text: caches make every shard a link to somewhere else."""
    path = PureWindowsPath(file)  # knows drive letters and both kinds of slash
    return bool(file.strip()) and not path.anchor and ".." not in path.parts and file.isprintable() and "\\" not in file


def _unusable(index: Path, what: str) -> NoReturn:
    raise InputError(f"{index}: the index {what}; download it again")
