"""The manifest: who ran what, with which settings, on what, and how long it took."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superjax.runs.environment import devices_in_words, source_revision, versions

if TYPE_CHECKING:
    import jax

_COMPILE_EVENTS = ("/jax/core/compile/jaxpr_to_mlir_module_duration", "/jax/core/compile/backend_compile_duration")


@dataclass
class CompileClock:
    """Seconds that lowering and XLA have taken, as JAX reports them.

    Attributes:
        seconds: the sum so far.
    """

    seconds: float = 0.0

    def add(self, event: str, duration_secs: float, **_: str | int) -> None:
        """Take in one of JAX's duration events."""
        if event in _COMPILE_EVENTS:
            self.seconds += duration_secs


@contextmanager
def compile_clock(clock: CompileClock | None = None) -> Iterator[CompileClock]:
    """Measure compilation apart from the rest, whoever causes it; imports jax, starts no device.

    Args:
        clock: the clock to run; a new one when None.

    Yields:
        The clock, running until the block ends.

    Example:
        >>> import jax
        >>> with compile_clock() as clock:
        ...     _ = jax.jit(lambda x: x * 3 + 1)(2.0)
        >>> clock.seconds > 0
        True
    """
    import jax

    clock = clock or CompileClock()
    jax.monitoring.register_event_duration_secs_listener(clock.add)
    try:
        yield clock
    finally:
        jax.monitoring.unregister_event_duration_listener(clock.add)


@dataclass(frozen=True)
class Manifest:
    """A run's description; `entries()` is `manifest.json`.

    Attributes:
        command: the command's name.
        argv: the command line after the program's name, as given.
        config: the run's configuration, a dataclass of plain values.
        seed: the seed, or None for a command without randomness.
        precision: of Gram products, or None for a command without devices.
        inputs: paths that the run reads, as they stand in the configuration.
        started: when the run began, in UTC.

    Example:
        >>> @dataclass(frozen=True)
        ... class Settings:
        ...     bins: int = 10
        >>> manifest = Manifest("embed", ("embed", "--bins=10"), Settings(), seed=0, precision="highest")
        >>> manifest.identity()
        {'command': 'embed', 'config': {'bins': 10}, 'seed': 0, 'precision': 'highest'}
    """

    command: str
    argv: tuple[str, ...]
    config: Any
    seed: int | None = None
    precision: str | None = None
    inputs: tuple[str, ...] = ()
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    _began: float = field(default_factory=time.monotonic)

    def identity(self) -> dict[str, Any]:
        """What makes two runs the same one: not the devices, which change no count and no starting value.

        Nor settings that change no result, which are fields of the configuration with `compare=False`. Inputs count by
        their absolute paths, sizes and times of change.
        """
        absolute = self._absolute_inputs()
        compared = {one.name for one in dataclasses.fields(self.config) if one.compare}
        return {
            "command": self.command,
            "config": {name: value for name, value in self.settings().items() if name in compared},
            "seed": self.seed,
            "precision": self.precision,
            **({"inputs": {path: _stamp(Path(path)) for path in absolute.values()}} if absolute else {}),
        }

    def settings(self) -> dict[str, Any]:
        """The whole configuration, its inputs by their absolute paths."""
        settings: dict[str, Any] = _renamed(dataclasses.asdict(self.config), self._absolute_inputs())
        return settings

    def _absolute_inputs(self) -> dict[str, str]:
        return {path: os.path.abspath(Path(path).expanduser()) for path in self.inputs}

    def entries(
        self, *, devices: Sequence[jax.Device] = (), compile_time_s: float = 0.0, **more: Any
    ) -> dict[str, Any]:
        """Everything `manifest.json` says, as of now.

        Args:
            devices: the devices in use; none where none was started.
            compile_time_s: seconds of compilation within the run.
            more: further entries.

        Returns:
            Names -> plain values; `wall_time_s` is the time since the manifest was made.
        """
        nowhere = {"platform": None, "device_kind": None, "device_count": 0}
        return {
            "argv": self.argv,
            "cwd": Path.cwd(),
            **self.identity(),
            "config": self.settings(),
            "versions": versions(),
            **(devices_in_words(devices) if devices else nowhere),
            "started": self.started.isoformat(timespec="seconds"),
            "wall_time_s": round(self.elapsed_s, 6),
            "compile_time_s": round(compile_time_s, 6),
            "git": source_revision(),
            **more,
        }

    @property
    def elapsed_s(self) -> float:
        """Seconds since the manifest was made."""
        return time.monotonic() - self._began


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A configuration with some of its texts replaced."""
    if isinstance(value, Mapping):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def _stamp(path: Path) -> list[int] | None:
    """Bytes and time of change, in ns, of a file, or of all files in a folder; None where there is nothing."""
    try:
        files = [path] if path.is_file() else [Path(at) / name for at, _, names in os.walk(path) for name in names]
        found = [file.stat() for file in files if not file.name.startswith(".") or file == path]
        return [sum(one.st_size for one in found), max(one.st_mtime_ns for one in found)] if found else None
    except (OSError, ValueError):
        return None
