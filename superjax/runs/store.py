"""Checkpoints of work under way: Orbax, in the background, the newest few kept, each whole and checked, or unused."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

import jax
import numpy as np

from superjax.core import processes
from superjax.core.arrays import Arrays
from superjax.core.errors import EnvironmentFailure, InputError, InputWarning

_TEMPORARY = "*.orbax-checkpoint-tmp*"
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR}  # what a file that is gone makes of reading: damage


@dataclass(frozen=True)
class Saved:
    """One checkpoint, read back.

    Attributes:
        item: what it is a state of, as given to `save`.
        arrays: name -> array, NumPy, whole in every process whatever devices it was saved from.
    """

    item: str
    arrays: dict[str, np.ndarray]

    @property
    def place(self) -> str:
        """Where the work stood, in words."""
        return _place(self.item, self.arrays)


class Store:
    """A folder of numbered checkpoints; every process of a `jax.distributed` run makes the same calls.

    A checkpoint appears under its number only when it is complete; Orbax is imported when first needed.

    Args:
        folder: on a disk that all processes share; made with the first checkpoint.
        run: what makes this run this run; a checkpoint of another one is refused.
        every_s: seconds after which `offer` saves again; what is offered in between is passed over.
        every_steps: steps after which it does so too.
        keep: how many of the newest stay.

    Example:
        >>> import tempfile
        >>> with Store(Path(tempfile.mkdtemp()) / "state", {"seed": 0}) as store:
        ...     store.save({"step": np.asarray(3), "steps": np.asarray(10), "x": np.arange(2)}, "cell 1")
        >>> found = store.newest()
        >>> found.place, found.arrays["x"]
        ('cell 1, step 3 of 10', array([0, 1]))
    """

    def __init__(
        self, folder: Path, run: Mapping[str, Any], *, every_s: float = 60.0, every_steps: int | None = None,
        keep: int = 2,
    ) -> None:  # fmt: skip
        self.folder = folder.absolute()
        self._run = hashlib.sha256(json.dumps(run, sort_keys=True, default=str).encode()).hexdigest()
        self._every_s, self._every_steps, self._keep = every_s, every_steps, keep
        self._managed: Any = None
        self._last, self._last_step = time.monotonic(), 0
        self._writing: str | None = None
        self.committed: str | None = None
        """Where the work stood at the newest checkpoint known to be complete, in words."""
        self.saves = 0
        """How many checkpoints this process has found or begun."""
        self.complete = 0
        """The number of the newest of them that is known to be complete."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def due(self, step: int = 0) -> bool:
        """Whether it is time for the next checkpoint and the last one is written; never waits for the disk.

        Args:
            step: how far the work is.

        Raises:
            EnvironmentFailure: an earlier save failed.
        """
        busy = self._writing is not None and self._manager().is_saving_in_progress()
        if not busy:
            self.wait()
        self._last_step = min(self._last_step, step)  # other work, from its start
        enough = self._every_steps is not None and step - self._last_step >= self._every_steps
        on_time = processes.agreed(enough or time.monotonic() - self._last >= self._every_s)
        return not processes.any_of_them(busy) and on_time

    def offer(self, arrays: Arrays, item: str = "") -> None:
        """Save if it is time: what the library's `on_checkpoint` can be.

        Args:
            arrays: the state; read before this returns.
            item: what it is a state of.

        Raises:
            EnvironmentFailure: this or an earlier save failed.
        """
        if self.due(_step(arrays)):
            self.save(arrays, item)

    def save(self, arrays: Arrays, item: str = "") -> None:
        """Begin to save, after what is being saved is written.

        Args:
            arrays: the state; read before this returns.
            item: what it is a state of.

        Raises:
            EnvironmentFailure: the disk refuses, now or for the save before.
        """
        import orbax.checkpoint as ocp

        self.wait()
        about = {
            "item": item,
            "run": self._run,
            "arrays": {name: [str(leaf.dtype), list(leaf.shape), _checksum(leaf)] for name, leaf in arrays.items()},
        }
        filled = {name: leaf for name, leaf in arrays.items() if np.size(leaf)}  # Orbax refuses empty arrays
        both = ocp.args.Composite(arrays=ocp.args.PyTreeSave(filled), about=ocp.args.JsonSave(about))
        with self._failures_named():
            manager = self._manager()
            manager.save((manager.latest_step() or 0) + 1, args=both)
        self._writing, self._last, self._last_step = _place(item, arrays), time.monotonic(), _step(arrays)
        self.saves += 1

    def wait(self) -> None:
        """Wait until what is being saved is complete.

        Raises:
            EnvironmentFailure: it failed.
        """
        if self._writing is None:
            return
        writing, self._writing = self._writing, None
        with self._failures_named():
            self._manager().wait_until_finished()
            self._manager().check_for_errors()
        self.committed, self.complete = writing, self.saves

    def close(self) -> None:
        """Wait, and let go of Orbax's threads; nothing half-written stays behind.

        Raises:
            EnvironmentFailure: the last save failed.
        """
        try:
            self.wait()
        finally:
            manager, self._managed = self._managed, None
            if manager is not None:
                with self._failures_named():
                    manager.close()

    def newest(self) -> Saved | None:
        """The newest checkpoint that is whole; an `InputWarning` names those that are damaged, and sets them aside.

        Raises:
            InputError: it belongs to another run.
            EnvironmentFailure: the disk or the memory refuses; then nothing is set aside.
        """
        if not processes.agreed(self.folder.is_dir()):
            return None
        self.wait()
        with self._failures_named("read"):
            numbers = sorted(self._manager().all_steps(), reverse=True)
        for number in numbers:
            with self._failures_named("read"):
                self._manager()
            found, cause = self._read_if_whole(number)
            if not processes.any_of_them(found is None):
                assert found is not None
                self.committed = found.place
                self.saves += 1
                self.complete = self.saves
                return found
            aside = self._set_aside(number)
            warnings.warn(
                f"{self.folder / str(number)}: the checkpoint is damaged ({cause}); the one before is used, and this "
                f"one is now {aside.name}",
                InputWarning,
                stacklevel=2,
            )
        return None

    def _read_if_whole(self, number: int) -> tuple[Saved | None, str]:
        """A checkpoint, or None and what is wrong with it."""
        try:
            return self._read(number), "by what another process says"
        except InputError:
            raise
        except Exception as error:  # whatever a damaged file makes of Orbax
            if _of_environment(error):
                where = self.folder / str(number)
                raise EnvironmentFailure(f"{where}: the checkpoint cannot be read ({_disk_cause(error)})") from error
            return None, _first_line(error)

    def _set_aside(self, number: int) -> Path:
        """Rename a checkpoint, once for all processes, to what Orbax does not take for one."""
        manager, self._managed = self._managed, None
        names = chain([f"{number}.damaged"], (f"{number}.damaged-{again}" for again in count(2)))
        with self._failures_named("set aside"):
            if manager is not None:
                manager.close()
            aside = next(path for name in names if not (path := self.folder / name).exists())
            if processes.alone() or jax.process_index() == 0:
                (self.folder / str(number)).rename(aside)
        processes.agreed(0)
        return aside

    def _read(self, number: int) -> Saved:
        import orbax.checkpoint as ocp

        manager = self._manager()
        about = manager.restore(number, args=ocp.args.Composite(about=ocp.args.JsonRestore())).about
        if about["run"] != self._run:
            raise InputError(f"{self.folder}: holds checkpoints of another run; give another --out, or --noresume")
        # As whole NumPy arrays: the devices of today lay them out anew, however many saved them.
        empty = {name: np.zeros(shape, dtype) for name, (dtype, shape, _) in about["arrays"].items() if 0 in shape}
        plain = {name: ocp.RestoreArgs(restore_type=np.ndarray) for name in about["arrays"] if name not in empty}
        both = ocp.args.Composite(arrays=ocp.args.PyTreeRestore(restore_args=plain))
        arrays = {**manager.restore(number, args=both).arrays, **empty}
        for name, (dtype, shape, checksum) in about["arrays"].items():
            array = arrays[name]
            if [str(array.dtype), list(array.shape)] != [dtype, shape] or checksum not in (None, _checksum(array)):
                raise ValueError(f"{name} is not what was saved")
        return Saved(about["item"], arrays)

    def _manager(self) -> Any:
        """Orbax's manager of the folder; making it sweeps what a crash left half-written."""
        if self._managed is None:
            import orbax.checkpoint as ocp

            options = ocp.CheckpointManagerOptions(max_to_keep=self._keep, create=True, cleanup_tmp_directories=True)
            self._managed = ocp.CheckpointManager(self.folder, options=options, item_names=("arrays", "about"))
        return self._managed

    @contextmanager
    def _failures_named(self, refused: str = "written") -> Iterator[None]:
        try:
            yield
        except Exception as error:  # Orbax hands a full disk on as whatever its layers make of it
            for leftover in self.folder.glob(_TEMPORARY):
                shutil.rmtree(leftover, ignore_errors=True)
            raise EnvironmentFailure(
                f"{self.folder}: a checkpoint cannot be {refused} ({_disk_cause(error)})"
            ) from error


def remove(folder: Path) -> None:
    """Remove a folder once for all processes, before any of them goes on.

    Args:
        folder: may be absent.
    """
    if processes.alone() or jax.process_index() == 0:
        shutil.rmtree(folder, ignore_errors=True)
    processes.agreed(0)


def _step(arrays: Mapping[str, Any]) -> int:
    return int(arrays.get("step", 0))


def _place(item: str, arrays: Mapping[str, Any]) -> str:
    # Work of several loops begins its steps anew in each.
    loops = [f"{name} {int(arrays[name]) + 1}" for name in ("round", "restart") if name in arrays]
    step = f"step {int(arrays['step'])} of {int(arrays['steps'])}" if {"step", "steps"} <= set(arrays) else ""
    return ", ".join(part for part in (item, *loops, step) if part)


def _checksum(leaf: jax.Array | np.ndarray) -> int | None:
    """CRC-32 of an array: Orbax notices a missing byte, not a changed one. None where it is spread over hosts."""
    if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
        return None
    return zlib.crc32(np.ascontiguousarray(leaf).view(np.uint8).reshape(-1).data) if np.size(leaf) else 0


def _of_environment(error: BaseException) -> bool:
    """Whether reading failed for want of something other than the right bytes, and may succeed another time."""
    chained = error.__cause__ or error.__context__
    if chained is not None and _of_environment(chained):
        return True
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        return True
    code = getattr(error, "errno", None) or _code_in_words(error)
    return code is not None and code not in _ABSENT


def _code_in_words(error: BaseException) -> int | None:
    """The system's number of an error, where TensorStore has put it into the message."""
    code = re.search(r"os_error_code='(\d+)'", str(error))
    return None if code is None else int(code[1])


def _disk_cause(error: BaseException) -> str:
    code = _code_in_words(error)
    if code is not None:
        return os.strerror(code)
    return getattr(error, "strerror", None) or _first_line(error)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__
