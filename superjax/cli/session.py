"""What a running command is handed: seed, precision, devices, run folder, progress and notes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from absl.flags import FlagValues

from superjax.cli.terminal import Terminal
from superjax.runs import OnProgress, RunFolder, show_progress

if TYPE_CHECKING:
    import jax


class Session:
    """The command line's `Context`.

    Args:
        flags: the parsed flags.
        folder: where results go, or None.
        terminal: where remarks and progress go.
        on_devices: whether the flags hold those about devices.
        entries: makes the manifest, for a folder that is begun early.
    """

    def __init__(
        self,
        flags: FlagValues,
        folder: RunFolder | None,
        terminal: Terminal,
        *,
        on_devices: bool,
        entries: Callable[[], dict[str, Any]],
    ) -> None:
        self._flags = flags
        self._entries = entries
        self._terminal = terminal
        self._on_devices = on_devices
        self.folder = folder

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
        return self.folder

    def progress(self, label: str) -> AbstractContextManager[OnProgress]:
        return show_progress(label, self._terminal.err)

    def note(self, text: str) -> None:
        self._terminal.note(text)

    def runtime(self) -> AbstractContextManager[None]:
        """JAX set up as the flags say; no device starts before somebody asks for it, unless its kind is required."""
        if not self._on_devices:
            return nullcontext()
        from superjax.cli.devices import compilation_cache, prepare_cpu_devices

        prepare_cpu_devices(self._flags.devices)
        if self._flags.require_platform is not None:
            _ = self.devices
        return compilation_cache(self._flags.compilation_cache)
