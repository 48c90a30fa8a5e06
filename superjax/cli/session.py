"""What a running command is handed: seed, precision, devices, run folder, progress and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from absl.flags import FlagValues

from superjax.cli import endings
from superjax.cli.interrupts import Interrupts
from superjax.cli.place import Place
from superjax.cli.terminal import Terminal
from superjax.core.errors import InputError
from superjax.runs import Manifest, OnProgress, RunFolder, show_progress
from superjax.runs.results import CHECKPOINTS, PROGRESS

if TYPE_CHECKING:
    import jax

    from superjax.cli.checkpoints import Checkpoints

T = TypeVar("T")


class Session:
    """The command line's `Context`.

    Args:
        flags: the parsed flags.
        folder: where results go, or None.
        terminal: where remarks and progress go.
        place: which of several processes this is.
        on_devices: whether the flags hold those about devices.
        manifest: of the run.
        entries: makes the manifest's entries, for a folder that is begun early.
        interrupts: asks for the run's end.
    """

    def __init__(
        self,
        flags: FlagValues,
        folder: RunFolder | None,
        terminal: Terminal,
        place: Place,
        *,
        on_devices: bool,
        manifest: Manifest,
        entries: Callable[[], dict[str, Any]],
        interrupts: Interrupts,
    ) -> None:
        self._flags = flags
        self._manifest = manifest
        self._entries = entries
        self._interrupts = interrupts
        self._progress: dict[str, Any] = {}
        self._checkpoints: Checkpoints | None = None
        self._terminal = terminal
        self._on_devices = on_devices
        self._place = place
        self.folder = folder
        self.known: RunFolder | None = folder
        """The run folder to speak of, in every process."""

    @property
    def seed(self) -> int:
        return self._flags.seed

    @property
    def precision(self) -> str:
        return self._flags.precision

    @cached_property
    def devices(self) -> tuple[jax.Device, ...]:
        from superjax.cli.devices import start_devices

        return start_devices(self._flags.devices, self._flags.require_platform)

    @property
    def started_devices(self) -> tuple[jax.Device, ...]:
        """The devices, if the command has asked for them."""
        return self.__dict__.get("devices", ())

    @property
    def resume(self) -> bool:
        return self._flags.resume

    def begin(self) -> RunFolder | None:
        if self.folder is not None and not self.folder.begun:
            self.folder.begin(self._entries())
        self._expect()
        return self.folder

    def _expect(self) -> None:
        if self.known is not None:
            kept = endings.what_is_kept(self._manifest.argv, self.known, self.saved)
            self._place.expect(endings.LOST_PEER, kept)

    def together(self, work: Callable[[], T], content: Callable[[T], Iterable[bytes | memoryview]]) -> T:
        return self._place.together(work, content)

    @contextmanager
    def checkpoints(self) -> Iterator[Checkpoints]:
        from superjax.cli.checkpoints import Checkpoints
        from superjax.core import processes
        from superjax.runs.claim import writer
        from superjax.runs.store import Store, remove

        own = None if self.folder is None else str((self.folder.path / CHECKPOINTS).absolute())
        where = processes.agreed_text(own or "none")
        if where == "none":
            yield Checkpoints(None, None, self._interrupts, self.begin, lambda place: None)
            return
        own_claim = None if self.folder is None else writer(self.folder.path)
        claim = processes.agreed_text(own_claim or "none")
        self._place.together(lambda: _require_seen(Path(where).parent, claim), lambda _: ())
        if not self.resume:
            remove(Path(where))
        # Of several processes none may go without the others: the end waits until all have saved.
        self._interrupts.deferred = not processes.alone()
        run = self._manifest.identity()
        every_s, every_steps = self._flags.checkpoint_every, self._flags.checkpoint_steps
        options = {"every_s": every_s, "every_steps": every_steps, "keep": self._flags.keep_checkpoints}
        with Store(Path(where) / "state", run, **options) as store:
            self._checkpoints = Checkpoints(Path(where), store, self._interrupts, self.begin, self._report_saved)
            if self.known is not None and endings.keeps(self._manifest.argv, self.known):
                self._expect()
            try:
                yield self._checkpoints
            except KeyboardInterrupt:
                self._checkpoints.save_last()
                raise
            self._interrupts.deferred = False

    @property
    def saved(self) -> str | None:
        """Where the work stood when it was last saved, in words."""
        return None if self._checkpoints is None else self._checkpoints.saved

    def _report_saved(self, place: str) -> None:
        self.report(saved=place)
        self._expect()

    def report(self, **entries: Any) -> None:
        self._progress.update(entries)
        if self.folder is not None and self.folder.begun:
            self.folder.write_json(PROGRESS, self._progress)

    def progress(self, label: str) -> AbstractContextManager[OnProgress]:
        return show_progress(label, self._terminal.err)

    def note(self, text: str) -> None:
        self._terminal.note(text)

    @contextmanager
    def runtime(self) -> Iterator[None]:
        """JAX set up as the flags say; no device starts before somebody asks for it, unless its kind is required."""
        if not self._on_devices:
            yield
            return
        from superjax.cli.cache import default_cache, mending
        from superjax.cli.devices import compilation_cache, prepare_cpu_devices

        prepare_cpu_devices(self._flags.devices)
        if self._flags.require_platform is not None:
            _ = self.devices
        given = self._flags.compilation_cache
        with compilation_cache(default_cache() if given is None else given or None), mending():
            yield


def _require_seen(folder: Path, claim: str) -> None:
    """See that the run folder is the one that the first process has claimed, not one of the same name.

    Args:
        folder: as this host sees it.
        claim: what the first process reads there.

    Raises:
        InputError: it is another one, or none.
    """
    from superjax.runs.claim import writer

    if (writer(folder) or "none") != claim:
        raise InputError(f"{folder}: is not on a disk that this process shares with process 0; give another --out")
