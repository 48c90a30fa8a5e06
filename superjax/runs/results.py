"""The run folder: what a run leaves behind, each file whole or absent, never mixed with another run's."""

from __future__ import annotations

import csv
import errno
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np

from superjax.core.errors import EnvironmentFailure, InputError
from superjax.runs.claim import WRITER, Claim

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
TABLE = "table.csv"
ARRAYS = "arrays.npz"
TEXT = "table.txt"
ERROR = "error.txt"
FIGURES = "figures"
PROGRESS = "progress.json"
CHECKPOINTS = "checkpoints"
_PARTIAL = ".partial-"

State = Literal["new", "unfinished", "finished"]


class RunFolder:
    """One run's folder, by its path; nothing is touched before `claim` or `begin`.

    Every file is written under a temporary name and renamed, so a crash leaves each whole or absent. The manifest's
    `status` says "running" from `begin` until `finish`. From `claim` on the folder is locked against other processes.

    Args:
        path: the folder; it need not exist.
        fresh: take a folder that is not there yet, of this name with a number added if another run has it.

    Example:
        >>> import tempfile
        >>> folder = RunFolder(Path(tempfile.mkdtemp()) / "run")
        >>> run = {"command": "embed", "config": {"bins": 10}}
        >>> folder.state(run)
        'new'
        >>> folder.begin(run)
        >>> folder.write_json("summary.json", {"epsilon": float("nan")})
        >>> folder.finish(run)
        >>> folder.state(run), folder.read_json("summary.json")
        ('finished', {'epsilon': None})
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self._fresh = fresh
        self._claim: Claim | None = None
        self._begun = False

    def state(self, identity: Mapping[str, Any]) -> State:
        """Whether the folder is free, or holds this very run, unfinished or finished.

        Args:
            identity: manifest entries that make two runs the same one; nested mappings are compared field by field.

        Raises:
            InputError: the folder holds another run, or files that are no run of ours.
        """
        if not self.path.exists() or (self._fresh and self._claim is None):
            return "new"
        if not self.path.is_dir():
            raise InputError(f"{self.path}: is a file; give --out a folder")
        if not (self.path / MANIFEST).exists():
            if any(path.name != WRITER for path in self.path.iterdir()):
                raise InputError(f"{self.path}: holds files but no {MANIFEST}; give another --out")
            return "new"
        manifest = self.read_manifest()
        if manifest.get("failures"):  # what failed is done again, and may have been repaired for that
            identity = {name: value for name, value in identity.items() if name != "inputs"}
        difference = _first_difference(_plain(identity), manifest)
        if difference is not None:
            field, ours, theirs = difference
            raise InputError(
                f"{self.path}: holds a run with {field} = {json.dumps(theirs)}, this one has {json.dumps(ours)}; "
                "give another --out, or the same settings"
            )
        return "finished" if manifest.get("status") == "finished" else "unfinished"

    def require_writable(self) -> None:
        """Check that the folder can be made or written, without leaving anything behind.

        Raises:
            InputError: it cannot.
        """
        ground = next(parent for parent in (self.path, *self.path.absolute().parents) if parent.exists())
        if not ground.is_dir():
            raise InputError(f"{ground}: is a file, so {self.path} cannot be a folder; give another --out")
        if not os.access(ground, os.W_OK | os.X_OK):
            raise InputError(f"{ground}: cannot be written, so {self.path} cannot be made; give another --out")

    def claim(self) -> None:
        """Make the folder if need be, and lock it until `release`, which removes it if nothing was begun in it.

        Raises:
            InputError: another process is writing here.
            EnvironmentFailure: the disk refuses.
        """
        base = self.path
        for number in count(2):
            with _failures_named(self.path):
                try:
                    self._claim = Claim(self.path, fresh=self._fresh)
                    return
                except FileExistsError:
                    if not self._fresh:
                        raise
            self.path = base.with_name(f"{base.name}-{number}")

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Claim the folder if need be, clear what a crash left, and put down the manifest of a run under way.

        Raises:
            InputError: another process is writing here.
            EnvironmentFailure: the disk refuses.
        """
        if self._claim is None:
            self.claim()
        with _failures_named(self.path):
            for leftover in (self.path / ERROR, *self.path.rglob(f"{_PARTIAL}*")):
                leftover.unlink(missing_ok=True)
        self.write_json(MANIFEST, {**manifest, "status": "running"})
        self._begun = True

    def take_back(self) -> None:
        """Undo `begin` where nothing has been written since, so that `release` leaves no trace."""
        if {path.name for path in self.path.iterdir()} <= {MANIFEST, WRITER}:
            (self.path / MANIFEST).unlink(missing_ok=True)
            self._begun = False

    def finish(self, manifest: Mapping[str, Any], *, status: str = "finished") -> None:
        """Put down the final manifest and unlock the folder."""
        self.write_json(MANIFEST, {**manifest, "status": status})
        (self.path / PROGRESS).unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Unlock the folder, if it is locked."""
        if self._claim is not None:
            self._claim.release(keep=self._begun)
        self._claim, self._begun = None, False

    @property
    def begun(self) -> bool:
        """Whether this process is writing the folder."""
        return self._begun

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a mapping as strict JSON: full precision, null for NaN and infinities."""
        self.write_text(name, json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=False) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Write a text file."""
        with replacing(self.path / name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def write_table(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write `table.csv`: the keys of all rows as its header, an empty cell for None."""
        fields = list(dict.fromkeys(key for row in rows for key in row))
        with replacing(self.path / TABLE) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows({key: _plain(value) for key, value in row.items()} for row in rows)

    def write_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Write `arrays.npz`. Only NumPy's own dtypes: a bfloat16 array would come back as raw bytes."""
        for name, array in arrays.items():
            if array.dtype.kind == "O" or array.dtype.type.__module__ != "numpy":
                raise TypeError(f"array {name!r} has dtype {array.dtype}, which .npz cannot give back")
        with replacing(self.path / ARRAYS) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **dict(arrays))

    def read_manifest(self) -> dict[str, Any]:
        """Read `manifest.json` back."""
        return self.read_json(MANIFEST)

    def read_text(self, name: str) -> str:
        """Read a text file of the folder back.

        Raises:
            InputError: it cannot be read.
        """
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path / name}: cannot be read ({error}); give another --out") from None

    def read_json(self, name: str) -> dict[str, Any]:
        """Read a JSON file of the folder back.

        Raises:
            InputError: it is absent or no JSON object.
        """
        try:
            value = json.loads(self.read_text(name))
        except ValueError as error:
            raise InputError(f"{self.path / name}: is no JSON ({error}); give another --out") from None
        if not isinstance(value, dict):
            raise InputError(f"{self.path / name}: is no JSON object; give another --out")
        return value


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, with its suffix; renamed to `path` on success, removed otherwise.

    Args:
        path: the file to put in place; missing parents are made.

    Yields:
        Where to write.

    Raises:
        EnvironmentFailure: the disk refuses.

    Example:
        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp()) / "deep" / "x.txt"
        >>> with replacing(target) as temporary:
        ...     _ = temporary.write_text("whole")
        >>> target.read_text(), len(list(target.parent.iterdir()))
        ('whole', 1)
    """
    temporary = path.with_name(f"{_PARTIAL}{os.getpid()}-{path.name}")
    with _failures_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            _to_disk(temporary)
            os.replace(temporary, path)
            _to_disk(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _to_disk(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder: a rename may otherwise outlive a power cut and not these."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system without it
            raise
    finally:
        os.close(opened)


@contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentFailure(f"{path}: cannot be written ({error.strerror or error})") from error


def _plain(value: Any) -> Any:
    """The value in JSON's own types: NumPy scalars and arrays unwrapped, paths as text, no NaN."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} has no place in a run folder")


def _first_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
    """The first field of `ours` that `theirs` has otherwise: (name, our value, their value)."""
    for field, value in ours.items():
        other = theirs.get(field)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            nested = _first_difference(value, other)
            if nested is not None:
                return nested
        elif value != other:
            return field, value, other
    return None
