"""Finds the weight file or index that a path means: a file, an index, or a folder as Hugging Face lays it out."""

from __future__ import annotations

import re
from pathlib import Path

from superjax.core.errors import InputError
from superjax.embeddings.readers.sniff import READABLE, unreadable
from superjax.embeddings.readers.source import listed

_HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_PREFERRED = (
    "model.safetensors.index.json",
    "model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin",
)
_NOT_WEIGHTS = re.compile(
    r"(adapter_model|training_args|optimizer|scheduler|scaler|rng_state.*|random_states.*|.*optim_states|zero_pp_rank.*)\.\w+$"
)
_SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}(\.\w+)$")
_SLICE = re.compile(r"consolidated\.(\d\d)\.pth$")
_CONVERT_SLICES = "convert them with transformers' convert_llama_weights_to_hf"
INDEX_SUFFIX = ".index.json"


def locate(text: str | Path) -> tuple[Path, tuple[str, ...]]:
    """The file to open for a path given by the user.

    Args:
        text: a weight file, an index, or a folder with one of them.

    Returns:
        The path of the weight file or of the index, and notes about files that were passed over.

    Raises:
        InputError: nothing there (with the download command for a hub id), nothing to read, or several candidates.
    """
    if not str(text).strip():
        raise InputError("checkpoint: no path given; pass a folder or file with the model's weights")
    path = Path(text).expanduser()
    try:
        if path.is_dir():
            found, notes = _in_folder(path)
        elif path.exists() or path.is_symlink():
            found, notes = path, ()
        else:
            raise InputError(_missing(str(text)))
    except OSError as error:
        raise unreadable(path, error) from error
    _refuse_slice(found)
    return found, notes


def is_shard(path: Path) -> bool:
    """Whether a file name says that it is one of several shards."""
    return _SHARD.match(path.name) is not None


def _missing(text: str) -> str:
    if _HUB_ID.fullmatch(text) and not text.endswith((*READABLE, ".json")):
        folder = text.rsplit("/", 1)[-1]
        command = f"hf download {text} --local-dir {folder}"
        return f"{text}: no such file or folder; if it is a Hugging Face id, run: {command}"
    return f"{text}: no such file or folder; check the path"


def _in_folder(folder: Path) -> tuple[Path, tuple[str, ...]]:
    files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
    names = {file.name for file in files}
    for name in _PREFERRED:
        if name in names:
            return folder / name, _stray_note(name, files)
    indexes = [file for file in files if file.name.endswith(INDEX_SUFFIX)]
    weights = [file for file in files if file.suffix.lower() in READABLE and not _NOT_WEIGHTS.match(file.name)]
    if len(indexes) == 1:
        return indexes[0], _stray_note(indexes[0].name, files)
    for suffix in READABLE:
        kind = [file for file in weights if file.suffix.lower() == suffix]
        if len(kind) == 1 and not is_shard(kind[0]):
            return kind[0], ()
        if kind:
            raise InputError(f"{folder}: {_several(indexes or kind)}")
    raise InputError(f"{folder}: no weight file ({', '.join(READABLE)}){_snapshots(folder)}")


def _several(files: list[Path]) -> str:
    names = listed([file.name for file in files])
    if all(is_shard(file) for file in files):
        return f"shards without their index ({names}); download the file ending in {INDEX_SUFFIX} too"
    if all(_SLICE.match(file.name) for file in files):
        return f"model-parallel slices ({names}); {_CONVERT_SLICES}"
    return f"several weight files ({names}); pass the one to read"


def _stray_note(chosen: str, files: list[Path]) -> tuple[str, ...]:
    """A file beside the index that is not a shard is somebody else's: say that it was left alone."""
    if not chosen.endswith(INDEX_SUFFIX):
        return ()
    suffix = Path(chosen.removesuffix(INDEX_SUFFIX)).suffix
    others = [file.name for file in files if file.suffix == suffix and not is_shard(file)]
    stray = [name for name in others if not _NOT_WEIGHTS.match(name) and not _SLICE.match(name)]
    return (f"{chosen} was read; {listed(stray)} beside it is not in the index and was ignored",) if stray else ()


def _snapshots(folder: Path) -> str:
    snapshots = sorted(folder.glob("snapshots/*/"))
    if snapshots:
        return f"; this is a download cache, pass {snapshots[-1]}"
    if any(folder.glob("adapter_model.*")):
        return "; an adapter alone has no embeddings, merge it into its model first"
    return "; pass the folder or file with the model's weights"


def _refuse_slice(path: Path) -> None:
    match = _SLICE.match(path.name)
    others = [p.name for p in path.parent.glob("consolidated.*.pth") if p.name != path.name] if match else []
    if others:
        raise InputError(f"{path}: one model-parallel slice of several ({listed(others)} beside it); {_CONVERT_SLICES}")
