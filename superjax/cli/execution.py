"""One run of one command: look at the run folder, run, save, print."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from absl.flags import FlagValues

from superjax.cli import endings
from superjax.cli.command import Command, Outcome
from superjax.cli.interrupts import Interrupts
from superjax.cli.place import ALONE, Place
from superjax.cli.session import Session
from superjax.cli.tables import format_table
from superjax.cli.terminal import Terminal
from superjax.core.errors import InputError
from superjax.runs import CompileClock, Manifest, RunFolder, compile_clock, format_duration, product_error
from superjax.runs.follower import Follower
from superjax.runs.results import FIGURES, SUMMARY, TEXT


class Execution:
    """A command with its flags, from the first look at the run folder to the exit code.

    Args:
        name: the command's name.
        command: what it is.
        arguments: the arguments after its name, as given.
        flags: the same, parsed.
        terminal: where everything is printed.
        place: which of several processes this is.

    Raises:
        InputError: the flags make no configuration.
    """

    def __init__(
        self,
        name: str,
        command: Command[Any],
        arguments: tuple[str, ...],
        flags: FlagValues,
        terminal: Terminal,
        place: Place = ALONE,
    ) -> None:
        self._place = place
        self._command = command
        self._flags = flags
        self._terminal = terminal
        config = command.configure(flags)
        self._manifest = Manifest(
            name,
            (name, *arguments),
            config,
            seed=flags.seed if command.on_devices else None,
            precision=flags.precision if command.on_devices else None,
            inputs=tuple(command.inputs(config)),
        )
        writes = place.first and not ("dry_run" in flags and flags.dry_run)
        self._folder = _choose_folder(name, flags.out, command.keeps_folder) if writes else None
        self._interrupts = Interrupts()
        self._session = Session(
            flags, self._folder, terminal, place, on_devices=command.on_devices, manifest=self._manifest,
            entries=self._entries, interrupts=self._interrupts,
        )  # fmt: skip
        self._known = self._folder
        self._clock = CompileClock()

    def execute(self) -> int:
        """Run, save and print; or show what the folder already holds.

        Returns:
            The exit code.

        Raises:
            InputError: the user must change something.
        """
        with self._interrupts:
            return self._execute()

    def _execute(self) -> int:
        try:
            self._place.together(self._settings, lambda text: [text.encode()])
            if self._place.decided(self._done_before):
                return endings.DONE if self._folder is None else self._show_again(self._folder)
            self._known = self._session.known = self._known_folder()
            with compile_clock(self._clock), self._session.runtime():
                return self._conclude(self._command.run(self._manifest.config, self._session))
        except InputError:
            raise
        except KeyboardInterrupt:
            return endings.interrupted(self._manifest.argv, self._known, self._session.saved, self._terminal)
        except Exception as error:
            cause = endings.environment_cause(error, joined=self._place.processes > 1)
            if cause is not None:
                argv, saved = self._manifest.argv, self._session.saved
                return endings.environment_failed(cause, argv, self._known, saved, self._terminal)
            return endings.crashed(error, self._folder, self._entries, self._terminal)
        finally:
            if self._folder is not None:
                self._folder.release()

    def _settings(self) -> str:
        """What all processes of the run must have been given alike."""
        identity = self._manifest.identity()
        alike = [identity[name] for name in ("command", "seed", "precision")]
        return json.dumps([*alike, self._manifest.settings()], default=str)

    def _done_before(self) -> bool:
        """Whether the folder has this very run; if not, it is ours from now on."""
        if self._folder is None:
            return False
        if self._holds_this_run(self._folder):
            return True
        self._folder.require_writable()
        self._folder.claim()
        return self._holds_this_run(self._folder)  # by another process, meanwhile

    def _known_folder(self) -> RunFolder | None:
        """The run folder, to speak of: in every process, though the first one writes it."""
        path = self._place.told(lambda: "" if self._folder is None else str(self._folder.path))
        return self._folder if self._place.first or not path else Follower(Path(path))

    def _conclude(self, outcome: Outcome) -> int:
        if not self._place.first:
            return endings.DONE
        remark = self._precision_remark()
        if self._folder is not None:
            self._save(outcome, _text(outcome, remark), self._folder)
        text = _text(outcome, remark, width=self._terminal.width)
        self._terminal.say("\n\n".join(part for part in (text, self._closing()) if part))
        return endings.partial(outcome.failures, self._terminal)

    def _precision_remark(self) -> str:
        """How exact a faster precision was; nothing to say of the highest."""
        devices = self._session.started_devices
        if not devices or self._session.precision == "highest":
            return ""
        error = product_error(devices[0], self._session.precision)
        return f"precision {self._session.precision}: products of unit rows are off by up to {error:.1e}"

    def _save(self, outcome: Outcome, text: str, folder: RunFolder) -> None:
        if not folder.begun:
            folder.begin(self._entries())
        folder.write_json(SUMMARY, outcome.summary)
        if outcome.rows:
            folder.write_table(outcome.rows)
        if outcome.arrays:
            folder.write_arrays(outcome.arrays)
        folder.write_text(TEXT, text + "\n")
        if outcome.figures:
            from superjax.figures import save

            for name, draw in outcome.figures.items():
                save(draw(), folder.path / FIGURES, name)
        folder.finish(self._entries(failures=outcome.failures))

    def _entries(self, **more: Any) -> dict[str, Any]:
        return self._manifest.entries(devices=self._session.started_devices, compile_time_s=self._clock.seconds, **more)

    def _closing(self) -> str:
        """How long it took, on what, and where the results are."""
        lines = []
        devices = self._session.started_devices
        if devices:
            number = f"{len(devices)} device{'s' if len(devices) > 1 else ''}"
            took, compiling = format_duration(self._manifest.elapsed_s), format_duration(self._clock.seconds)
            lines.append(
                f"{devices[0].platform}, {number} ({devices[0].device_kind}), precision {self._session.precision}; "
                f"{took}, {compiling} of it compiling"
            )
        if self._folder is not None:
            lines.append(f"run folder: {self._folder.path}")
        return "\n".join(lines)

    def _holds_this_run(self, folder: RunFolder) -> bool:
        """Whether the folder has this very run, finished without failures, and it may be shown again."""
        finished = folder.state(self._manifest.identity()) == "finished"  # refuses the folder of another run
        if not finished or not self._flags.resume or self._command.always_anew:
            return False
        return not folder.read_manifest().get("failures")

    def _show_again(self, folder: RunFolder) -> int:
        self._terminal.say(folder.read_text(TEXT))
        self._terminal.say(f"run folder: {folder.path} (finished before, left alone; --noresume runs it again)")
        return endings.DONE


def _text(outcome: Outcome, remark: str, *, width: int = 80) -> str:
    """The table and what is said under it."""
    parts = (format_table(outcome.rows, outcome.columns, width=width), *outcome.lines, remark)
    return "\n".join(part for part in parts if part)


def _choose_folder(name: str, out: str | None, keeps_folder: bool) -> RunFolder | None:
    """`--out`, or a folder of this second under runs/, or none."""
    if out is not None:
        if not out:
            raise InputError("--out=: is empty; give the path of a folder")
        return RunFolder(Path(os.path.expanduser(out)))
    if not keeps_folder:
        return None
    return RunFolder(Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}", fresh=True)
