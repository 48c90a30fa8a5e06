"""What a command is: its flags, its configuration, its run, and the outcome the command line shows and saves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from absl.flags import FlagValues

from superjax.cli.tables import Column
from superjax.runs.progress import OnProgress
from superjax.runs.results import RunFolder

if TYPE_CHECKING:
    import jax
    from matplotlib.figure import Figure

    from superjax.cli.checkpoints import Checkpoints

C = TypeVar("C")
T = TypeVar("T")


class Context(Protocol):
    """What the command line hands to a running command."""

    @property
    def seed(self) -> int:
        """`--seed`."""

    @property
    def precision(self) -> str:
        """`--precision`: "highest", "high" or "default", for every Gram product."""

    @property
    def devices(self) -> tuple[jax.Device, ...]:
        """The devices to use, `--devices` of them. The first access starts them; InputError if they cannot be had."""

    @property
    def folder(self) -> RunFolder | None:
        """The run folder, or None where nothing is kept. Only work that saves steps on its way touches it."""

    @property
    def resume(self) -> bool:
        """`--resume`: whether to go on from what the folder holds."""

    def together(self, work: Callable[[], T], content: Callable[[T], Iterable[bytes | memoryview]]) -> T:
        """What the work gives, if it has the same content in every process of the run; else InputError in all."""

    def begin(self) -> RunFolder | None:
        """The run folder, made and locked, for work that saves on its way; None where nothing is kept."""

    def checkpoints(self) -> AbstractContextManager[Checkpoints]:
        """What is kept of work under way, for a command with `keeps_checkpoints`; written out when the block ends."""

    def report(self, **entries: Any) -> None:
        """Entries of `progress.json`, for those who look into the folder while the run goes on."""

    def progress(self, label: str) -> AbstractContextManager[OnProgress]:
        """A bar named `label`; yields `on_progress(done, total)` for the library to call."""

    def note(self, text: str) -> None:
        """One line on stderr, of something the user should know."""


@dataclass(frozen=True)
class Outcome:
    """What a command found. The command line saves it in the run folder, then prints it.

    Attributes:
        rows: `table.csv`, one mapping an item; the printed table too.
        columns: which entries of the rows are printed, and how.
        summary: `summary.json`; NaN and infinities become null.
        arrays: `arrays.npz`.
        figures: name -> a function that draws it; called only when there is a folder to save into.
        lines: sentences printed under the table.
        failures: items that failed while others were done, one line each: exit code 3.
    """

    rows: Sequence[Mapping[str, Any]] = ()
    columns: Sequence[Column] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    lines: Sequence[str] = ()
    failures: Sequence[str] = ()


@dataclass(frozen=True)
class Command(Generic[C]):
    """One `superjax COMMAND`; a command module ends with `COMMAND = Command(...)`.

    `configure` turns parsed flags into the run's configuration (a frozen dataclass of plain values), checking what is
    cheap to check. It is what the manifest records and what "the same run" means. `run` does the work. Both raise
    `InputError` for what the user must change; nothing has been written by then.

    Attributes:
        summary: one line, for the list of commands.
        details: a short paragraph for the command's own help.
        examples: whole command lines.
        define_flags: defines the command's flags on the FlagValues it is given (`flag_values=...`), never on
            absl's global FLAGS. In a flag's help the first back-quoted word is the placeholder shown for its value.
        configure: flags -> configuration.
        run: (configuration, context) -> Outcome.
        required: flags that must be given.
        positional: the multi-string flag, if any, that arguments without dashes go to.
        on_devices: has the flags --seed, --devices, --precision, --require_platform, --compilation_cache.
        on_hosts: has --distributed and its flags: can be one of several processes.
        keeps_folder: writes a run folder even without `--out`.
        keeps_checkpoints: has the flags --checkpoint_every, --checkpoint_steps, --keep_checkpoints.
        inputs: the paths in a configuration that the run reads; a file that has changed makes another run.
        always_anew: a finished folder is written again; the work is cheap and what it reads may have changed.
    """

    summary: str
    define_flags: Callable[[FlagValues], None]
    configure: Callable[[FlagValues], C]
    run: Callable[[C, Context], Outcome]
    details: str = ""
    examples: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    positional: str | None = None
    on_devices: bool = True
    on_hosts: bool = False
    keeps_folder: bool = True
    keeps_checkpoints: bool = False
    inputs: Callable[[C], Sequence[str]] = lambda config: ()
    always_anew: bool = False
