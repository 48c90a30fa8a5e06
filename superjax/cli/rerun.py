"""`superjax rerun RUN`: repeats a run from its manifest, and says how far the new numbers lie from the old."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from absl import flags
from absl.flags import FlagValues

from superjax.cli.app import COMMANDS
from superjax.cli.command import Command, Context, Outcome
from superjax.cli.parts import run_part, without_keeping
from superjax.cli.prose import paragraphs
from superjax.core.errors import InputError
from superjax.runs import Difference, RunFolder, ground_differences, summary_differences
from superjax.runs.results import SUMMARY

TOLERANCE = 0.01
"""Relative, where versions, devices or precision are others than then; the same ground gives the same numbers."""

_SHOWN = 12


@dataclass(frozen=True)
class RerunConfig:
    """Which run, what it ran, and how near its numbers must be met."""

    run: str
    argv: tuple[str, ...]
    tolerance: float | None


def define_flags(values: FlagValues) -> None:
    """What to repeat, and what counts as the same."""
    flags.DEFINE_multi_string("run", None, "the run folder `RUN` to repeat", flag_values=values)
    flags.DEFINE_float(
        "tolerance", None,
        "largest relative difference `X` of a number that counts as the same; by default 0 on the same versions, "
        f"devices and precision, else {TOLERANCE}",
        lower_bound=0, flag_values=values,
    )  # fmt: skip


def configure(values: FlagValues) -> RerunConfig:
    """Flags -> configuration, the command line of the run among it."""
    if len(values.run) > 1:
        raise InputError(f"{values.run[1]}: rerun repeats one run; give one folder")
    folder = RunFolder(Path(values.run[0]).expanduser().absolute())
    return RerunConfig(str(folder.path), _recorded_argv(folder), values.tolerance)


def _recorded_argv(folder: RunFolder) -> tuple[str, ...]:
    """The command and flags of a finished run.

    Raises:
        InputError: no run folder, a damaged or foreign manifest, or a run that never ended.
    """
    manifest = _read(folder, "manifest.json")
    argv = manifest.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(part, str) for part in argv):
        raise InputError(f"{folder.path}/manifest.json: argv is no command line; give the folder of a superjax run")
    if argv[0] not in COMMANDS or argv[0] == "rerun":
        raise InputError(f"{folder.path}/manifest.json: {argv[0]!r} is no command to repeat; give another folder")
    if manifest.get("status") != "finished":
        raise InputError(
            f"{folder.path}: its run is not finished ({manifest.get('status')}); end it first, with the same command "
            "and --out"
        )
    return (argv[0], *without_keeping(argv[1:]))


def _read(folder: RunFolder, name: str) -> dict[str, Any]:
    if not folder.path.is_dir():
        raise InputError(f"{folder.path}: is no folder; give the folder of a superjax run")
    try:
        return folder.read_json(name)
    except InputError as error:
        raise InputError(str(error).replace("give another --out", "give the folder of a finished run")) from None


def run(config: RerunConfig, context: Context) -> Outcome:
    """Repeat, where the first run stood if that folder is still there; then compare."""
    first = RunFolder(Path(config.run))
    then, summary = first.read_manifest(), _read(first, SUMMARY)
    folder = context.begin()
    assert folder is not None
    into = folder.path.absolute() / "run"
    context.note(f"repeating superjax {shlex.join(config.argv)}")
    try:
        with _working_folder(then.get("cwd"), context):
            second, failures = run_part(config.argv, into)
    except InputError:
        folder.take_back()
        raise
    ground = ground_differences(then, second.read_manifest())
    apart = summary_differences(summary, second.read_json(SUMMARY))
    tolerance = config.tolerance if config.tolerance is not None else (TOLERANCE if ground else 0.0)
    return _outcome(ground, apart, tolerance, failures)


@contextlib.contextmanager
def _working_folder(recorded: Any, context: Context) -> Iterator[None]:
    """The folder the first run was started in, to which its paths are relative."""
    if isinstance(recorded, str) and Path(recorded).is_dir():
        with contextlib.chdir(recorded):
            yield
        return
    context.note(f"the folder the run was started in is gone ({recorded}); paths are taken from here")
    yield


def _outcome(
    ground: Sequence[Difference], apart: Sequence[Difference], tolerance: float, failures: Sequence[str]
) -> Outcome:
    beyond = [one for one in apart if one.size > tolerance]
    largest = next((one for one in apart if one.size < float("inf")), None)
    lines = [
        *([] if ground else ["The same versions, devices, precision and settings as then."]),
        *(f"other than then: {_in_words(one)}" for one in ground),
        "largest difference of a number: "
        + (f"{largest.size:.1e}, relative; {_in_words(largest)}" if largest else "none, every number is the same"),
        f"{'the same' if not beyond else 'NOT the same'} within a relative {tolerance:g}"
        + (f": {len(beyond)} entries differ by more; --tolerance=X sets another" if beyond else ""),
    ]
    more = [f"and {len(beyond) - _SHOWN} more entries, all in table.csv"] if len(beyond) > _SHOWN else []
    return Outcome(
        rows=[*(_row("ground", one) for one in ground), *(_row("result", one) for one in apart)],
        summary={
            "same": not beyond,
            "tolerance": tolerance,
            "largest_difference": largest.size if largest else 0.0,
            "differences": len(apart),
            "ground": [_row("ground", one) for one in ground],
        },
        lines=paragraphs(lines),
        failures=[*failures, *(_in_words(one) for one in beyond[:_SHOWN]), *more],
    )


def _row(part: str, one: Difference) -> dict[str, Any]:
    """A row of table.csv; what is no plain value is written as JSON."""
    then, now = (
        value if isinstance(value, str | float | int | None) else _short(value) for value in (one.then, one.now)
    )
    return {"part": part, "place": one.place, "then": then, "now": now, "difference": one.size}


def _in_words(one: Difference) -> str:
    return f"{one.place}: {_short(one.then)} then, {_short(one.now)} now"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


COMMAND = Command(
    summary="repeats a run from its manifest, and compares",
    details=(
        "Runs the command of a finished run folder again, into `run/` of its own run folder, and compares the two "
        "summaries. On the same versions, devices and precision every number must be the same; elsewhere each within "
        f"{100 * TOLERANCE:g} %, as float32 sums of another order allow. What differs is named; exit "
        "code 3 where it is too much. A manifest is only ever read as a superjax command line, never given to a shell."
    ),
    examples=("superjax rerun runs/mine", "superjax rerun runs/mine --tolerance=0.05 --out=runs/again"),
    define_flags=define_flags,
    configure=configure,
    run=run,
    required=("run",),
    positional="run",
    inputs=lambda config: (str(Path(config.run) / SUMMARY),),
    on_devices=False,
)
