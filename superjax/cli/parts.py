"""Commands run by another command: the same objects, in this process, their answers kept in folders of their own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from superjax.cli.endings import ENVIRONMENT, INTERNAL, INTERRUPTED, PARTIAL
from superjax.cli.terminal import Terminal
from superjax.core.errors import EnvironmentFailure, InputError
from superjax.runs import RunFolder
from superjax.runs.results import ERROR

_SWITCHES = {"resume", "noresume", "distributed", "nodistributed"}
KEEPING = _SWITCHES | {
    "out", "compilation_cache", "checkpoint_every", "checkpoint_steps", "keep_checkpoints", "coordinator",
    "num_processes", "process_id", "distributed_timeout", "flagfile", "undefok",
}  # fmt: skip
"""Flags that say where a run keeps things and which processes share it, and no part of what it computes."""


class _Quiet(Terminal):
    """A terminal that shows progress and notes; the answer stays in the run folder, complaints are collected."""

    def __init__(self) -> None:
        super().__init__(sys.stdout, sys.stderr)
        self.complaints: list[str] = []

    def say(self, text: str) -> None:
        """The answer is in the folder's table.txt."""

    def complain(self, text: str) -> None:
        self.complaints.append(text)


def run_part(argv: Sequence[str], folder: Path) -> tuple[RunFolder, tuple[str, ...]]:
    """Run `superjax ARGV` into a folder, or leave it alone where it is finished.

    Args:
        argv: a command and its flags, without `--out`.
        folder: the part's run folder.

    Returns:
        The run folder, and one line for each item that failed while others were done.

    Raises:
        InputError: no such command, or its input is bad.
        EnvironmentFailure: the machine failed.
        KeyboardInterrupt: the part was interrupted.
        RuntimeError: the part has a fault of ours, its traceback in its folder.
    """
    from superjax.cli.app import load
    from superjax.cli.execution import Execution
    from superjax.cli.parsing import parse

    name, *given = argv
    arguments = (f"--out={folder}", *given)
    command, terminal = load(name), _Quiet()
    flags = parse(name, command, arguments)
    if flags.out != str(folder):
        raise InputError(f"{name}: names a run folder of its own, {flags.out}; leave --out out")
    code = Execution(name, command, arguments, flags, terminal).execute()
    said = "; ".join(terminal.complaints)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code == ENVIRONMENT:
        raise EnvironmentFailure(said)
    if code == INTERNAL:
        raise RuntimeError(f"superjax {name} failed, its traceback is in {folder / ERROR}")
    return RunFolder(folder), tuple(terminal.complaints) if code == PARTIAL else ()


def without_keeping(arguments: Sequence[str]) -> list[str]:
    """Arguments less the flags of `KEEPING`, in any of the forms that a shell takes.

    Args:
        arguments: what follows a command's name.

    Example:
        >>> without_keeping(["--bins=10", "--out", "runs/x", "-noresume", "--compilation_cache=c", "RUN"])
        ['--bins=10', 'RUN']
    """
    kept: list[str] = []
    skip_value = False
    for argument in arguments:
        if skip_value:
            skip_value = False
            continue
        name, equals, _ = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name in KEEPING:
            skip_value = not equals and name not in _SWITCHES
            continue
        kept.append(argument)
    return kept
