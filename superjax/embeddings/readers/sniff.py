"""Says from a file's first bytes what it is, and refuses what cannot be a checkpoint with its cause and remedy."""

from __future__ import annotations

import os
import re
import stat
import zipfile
from pathlib import Path

from superjax.core.errors import InputError
from superjax.embeddings.readers.archive import ZIP_FAULTS

_LEGACY_TORCH = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."  # torch.serialization.MAGIC_NUMBER, pickled
_BY_SUFFIX = {
    ".safetensors": {"safetensors"},
    ".bin": {"pytorch", "pytorch-legacy"},
    ".pt": {"pytorch", "pytorch-legacy"},
    ".pth": {"pytorch", "pytorch-legacy"},
    ".ckpt": {"pytorch", "pytorch-legacy"},
    ".npy": {"npy"},
    ".npz": {"npz"},
    ".gguf": {"gguf"},
}
READABLE = tuple(_BY_SUFFIX)
"""Suffixes of the files this package reads."""

_REFUSED = {
    "html": "a web page, not weights; download the file itself, not the page about it",
    "gzip": "gzip-compressed; unpack it first",
    "tar": "a tar archive; unpack it first",
    "hdf5": "HDF5 (Keras); save the matrix as .npy or .safetensors",
    "zip": "a zip without arrays or a torch.save inside; unpack it first",
    "pickle": "a plain pickle, which is never loaded because it can run code; save a .npy, .safetensors or torch.save "
    "of the state dict",
    "json": "JSON, not weights; pass the model's folder or weight file",
    "unknown": f"no kind of checkpoint this package knows; pass one of {', '.join(_BY_SUFFIX)}",
}


def file_kind(path: Path) -> str:
    """The kind of one weight file: safetensors, pytorch, pytorch-legacy, npy, npz or gguf.

    Args:
        path: a file that should hold tensors.

    Returns:
        The kind its content shows; a suffix this package knows has to agree with it.

    Raises:
        InputError: missing, unreadable, empty, truncated, a Git LFS pointer, a web page, or not what its name says.
    """
    head = _head(path)
    expected = _BY_SUFFIX.get(path.suffix.lower())
    kind = _sniff(path, head)
    if kind == "lfs":
        raise InputError(f"{path}: a Git LFS pointer, not the weights{_lfs_size(head)}; run git lfs pull in its folder")
    if kind in _REFUSED and not (expected == {"safetensors"} and kind == "unknown"):
        raise InputError(f"{path}: {_REFUSED[kind]}")
    if expected is None or kind in expected:
        return kind
    if kind == "unknown":  # a damaged safetensors header: its reader says what is wrong
        return "safetensors"
    raise InputError(f"{path}: is called {path.suffix} but holds {kind}; rename it if you trust it")


def _head(path: Path) -> bytes:
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            what = "a folder" if stat.S_ISDIR(state.st_mode) else "not a regular file"
            raise InputError(f"{path}: is {what}, expected a weight file; pass the file itself")
        with path.open("rb") as file:
            head = file.read(1024)
    except OSError as error:
        raise unreadable(path, error) from error
    if not head:
        raise InputError(f"{path}: empty (0 bytes); download it again")
    return head


def unreadable(path: Path, error: OSError) -> InputError:
    """The one-line error for a path the system will not open."""
    if isinstance(error, PermissionError):
        return InputError(f"{path}: no permission to read it; run chmod +r on it")
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return InputError(f"{path}: a link to {os.readlink(path)}, which is missing; download the model again")
    return InputError(f"{path}: {error.strerror or error}; check the path")


def _sniff(path: Path, head: bytes) -> str:
    if head.startswith(b"version https://git-lfs"):
        return "lfs"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"GGUF"):
        return "gguf"
    if head.startswith(b"PK\x03\x04"):
        return _zip_kind(path)
    if head.startswith(_LEGACY_TORCH):
        return "pytorch-legacy"
    if head[8:9] == b"{":
        return "safetensors"
    if head.lstrip()[:1] == b"<":
        return "html"
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head.startswith(b"\x89HDF"):
        return "hdf5"
    if head[257:262] == b"ustar":
        return "tar"
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        return "pickle"
    return "json" if head.lstrip()[:1] in (b"{", b"[") else "unknown"


def _zip_kind(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except ZIP_FAULTS as error:
        have = path.stat().st_size
        raise InputError(
            f"{path}: truncated: have {have} bytes, need {_zip_needs(path, have)} or more "
            "(the zip directory at its end is missing or damaged); download it again"
        ) from error
    if any(name.endswith(("/data.pkl", "/constants.pkl")) for name in names):
        return "pytorch"
    return "npz" if any(name.endswith(".npy") for name in names) else "zip"


def _zip_needs(path: Path, have: int) -> int:
    """A lower bound for the whole archive: its directory names every file found, and ends with 22 bytes."""
    with path.open("rb") as file:
        file.seek(max(0, have - (1 << 20)))
        tail = file.read()
    entries = [match.start() for match in re.finditer(rb"PK\x01\x02", tail)]
    if not entries:
        return have + 22
    last = tail[entries[-1] :]
    last_length = 46 + sum(int.from_bytes(last[at : at + 2], "little") for at in (28, 30, 32))  # name, extra, comment
    return max(have, have - len(last) + last_length) + 22


def _lfs_size(head: bytes) -> str:
    found = re.search(rb"size (\d+)", head)
    return f" (which are {int(found[1])} bytes)" if found else ""
