"""What `superjax train` keeps of members that are done: files a later process takes up, and a table to look into."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from superjax.cli.checkpoints import Checkpoints
from superjax.cli.command import Context
from superjax.cli.train_outcome import member_row
from superjax.core.arrays import Arrays
from superjax.core.errors import EnvironmentFailure, InputWarning
from superjax.runs import replacing
from superjax.runs.store import Saved
from superjax.toy import Geometry, Member, Params, Trained, Training, Unfinished, geometry
from superjax.toy.under_way import frozen, joined, remaining, states_in

_TABLE_EVERY_S = 10.0  # between two tables of all members: each costs as much as there are members by then


class Records:
    """Members that are done, by their places, with their geometries; kept in the run folder as they come.

    The table of all of them follows every few seconds, and when the block ends, however it does.

    Args:
        members: of the whole ensemble.
        training: theirs.
        context: of the command.
        kept: its checkpoints.
    """

    def __init__(self, members: Sequence[Member], training: Training, context: Context, kept: Checkpoints) -> None:
        self._members, self._training, self._context = members, training, context
        self._kept, self._folder = kept, kept.folder
        self._trained: dict[int, Trained] = {}
        self._geometries: dict[int, Geometry] = {}
        files = {} if self._folder is None else _numbered(self._folder)
        for _, file in sorted(files.items()):
            self._trained.update(_read(file))
        self._told, self._untold = -math.inf, False
        self._next_file = 1 + max(files, default=-1)
        failed = {place for place, one in self._trained.items() if one.failed_at >= 0}
        self._trained = {place: one for place, one in self._trained.items() if place not in failed}
        saved = _without(kept.newest(), self._trained, failed)
        self.unfinished = Unfinished(dict(self._trained), None if saved is None else saved.arrays)
        if self._trained or saved is not None:
            stands = "" if saved is None else f", the others at {saved.place}"
            context.report(done=len(self._trained), members=len(members))
            context.note(f"going on: {len(self._trained)} of {len(members)} members are done{stands}")

    def __enter__(self) -> Records:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._write_table()
        except EnvironmentFailure:
            if kind is None:  # else what ended the block is what is told
                raise

    @property
    def geometries(self) -> list[Geometry]:
        """Of all members, by places."""
        return [self._geometry(place) for place in range(len(self._members))]

    def offer(self, arrays: Arrays) -> None:
        """Save members under way if it is time: as a state of what follows those that are done by now.

        Args:
            arrays: as `on_checkpoint` gets them.
        """
        self._kept.offer(arrays, self._standing() if self._trained else "")

    def add(self, trained: Mapping[int, Trained]) -> None:
        """Keep members that are done.

        Args:
            trained: by their places.
        """
        self._trained.update(trained)
        folder = self._context.begin()
        if folder is None or self._folder is None:
            return
        _write(self._folder / f"members-{self._next_file:05d}.npz", trained)
        self._next_file += 1
        self._kept.done(self._standing())
        self._context.report(done=len(self._trained), members=len(self._members), saved=None)
        self._untold = True
        if time.monotonic() - self._told >= _TABLE_EVERY_S:
            self._write_table()

    def _write_table(self) -> None:
        folder = self._context.begin() if self._untold else None
        if folder is None:
            return
        folder.write_table(
            [
                member_row(self._members[place], self._training, one, self._geometry(place))
                for place, one in sorted(self._trained.items())
            ]
        )
        self._untold, self._told = False, time.monotonic()

    def _standing(self) -> str:
        return f"{len(self._trained)} of {len(self._members)} members"

    def _geometry(self, place: int) -> Geometry:
        if place not in self._geometries:
            self._geometries[place] = geometry(self._trained[place].params.W, self._members[place].probabilities)
        return self._geometries[place]


def _without(saved: Saved | None, done: Collection[int], failed: Collection[int]) -> Saved | None:
    """What is saved of members under way: not of those done soon after, nor the end of those that are done again."""
    states = [] if saved is None else states_in(saved.arrays)
    needed = remaining(states, {*done, *(frozen(states) & set(failed))})
    return Saved("", {name: np.asarray(leaf) for name, leaf in joined(needed).items()}) if needed else None


def _numbered(folder: Path) -> dict[int, Path]:
    """The files of members by their numbers, which may have gaps where a damaged one was taken away."""
    return {int(file.stem.removeprefix("members-")): file for file in folder.glob("members-*.npz")}


def _write(file: Path, trained: Mapping[int, Trained]) -> None:
    """Members of one shape in one file."""
    own = list(trained.values())
    arrays: dict[str, Any] = {
        "places": np.array(list(trained)),
        "W": np.stack([one.params.W for one in own]),
        "b": np.stack([one.params.b for one in own]),
        "history": np.stack([one.history for one in own]),
        **{name: np.array([getattr(one, name) for one in own]) for name in ("loss", "loss_stderr", "failed_at")},
    }
    with replacing(file) as temporary, temporary.open("wb") as opened:
        np.savez(opened, allow_pickle=False, **arrays)


def _read(file: Path) -> dict[int, Trained]:
    """The members of one file; of a damaged file none, which an `InputWarning` says."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            whole = {name: arrays[name] for name in arrays.files}
        return {
            int(place): Trained(
                Params(whole["W"][at], whole["b"][at]),
                float(whole["loss"][at]),
                float(whole["loss_stderr"][at]),
                whole["history"][at],
                int(whole["failed_at"][at]),
            )
            for at, place in enumerate(whole["places"])
        }
    except Exception as error:  # zipfile, zlib and NumPy each have their own for a damaged file
        warnings.warn(f"{file}: is damaged ({error}); its members are trained again", InputWarning, stacklevel=2)
        return {}
