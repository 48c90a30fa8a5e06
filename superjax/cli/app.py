"""`superjax COMMAND --flag=value`: finds the command, parses, runs, and turns how it ended into an exit code."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from absl.flags import FlagValues

from superjax._version import __version__
from superjax.cli import distributed, parent
from superjax.cli import help as help_text
from superjax.cli.command import Command
from superjax.cli.endings import (
    DONE,
    ENVIRONMENT,
    INTERRUPTED,
    USAGE,
    crashed,
    end_at_once,
    environment_cause,
    environment_failed,
)
from superjax.cli.execution import Execution
from superjax.cli.parsing import parse
from superjax.cli.place import ALONE, Place
from superjax.cli.quiet import quiet_orbax
from superjax.cli.terminal import Terminal
from superjax.core.errors import InputError

COMMANDS = {
    "demo": "superjax.cli.demo",
    "embed": "superjax.cli.embed",
    "train": "superjax.cli.train",
    "pack": "superjax.cli.pack",
    "fit": "superjax.cli.fit",
    "capacity": "superjax.cli.capacity",
    "report": "superjax.cli.report",
    "rerun": "superjax.cli.rerun",
    "doctor": "superjax.cli.doctor",
}
"""name -> the module whose COMMAND it is, in the order of help; imported when needed."""

_HELP = {"--help", "-help", "-h", "--helpfull", "--helpshort"}
_VERSION = {"--version", "-version", "-V"}


def entry() -> None:
    """The console script, once signals are heard."""
    # Before JAX is loaded: on a CPU, XLA complains at length of every program that it takes from the cache. 1 is what a
    # process that has loaded JAX leaves to its children.
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1") == "1":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    worker = parent.this_worker()
    with quiet_orbax():
        code = _run(tuple(sys.argv[1:]), worker)
        # A worker's runtime would wait for peers that may be gone, Orbax's threads for saves that a disk has refused.
        if worker is not None or code == ENVIRONMENT:
            end_at_once(code)
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command in this process.

    Args:
        argv: the arguments after the program's name; those of the process when None.

    Returns:
        The exit code, as `superjax.cli.main` lists them.

    Example:
        >>> main(["--version"])
        superjax 0.1.0...
        0
    """
    with quiet_orbax():
        return _run(tuple(sys.argv[1:] if argv is None else argv), None)


def _run(arguments: tuple[str, ...], worker: parent.Worker | None) -> int:
    terminal = Terminal(sys.stdout, sys.stderr)
    return _ended(lambda: _dispatch(arguments, terminal, worker), terminal)


def _ended(work: Callable[[], int], terminal: Terminal, *, joined: bool = False) -> int:
    """The exit code of the work, however it ends."""
    try:
        with terminal.warnings_as_notes():
            return work()
    except InputError as error:
        terminal.complain(str(error))
        return USAGE
    except KeyboardInterrupt:
        terminal.complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        cause = environment_cause(error, joined=joined)
        if cause is not None:
            return environment_failed(cause, (), None, None, terminal)
        return crashed(error, None, dict, terminal)


def _dispatch(arguments: tuple[str, ...], terminal: Terminal, worker: parent.Worker | None) -> int:
    first, *rest = arguments or ("--help",)
    if first in _HELP or first == "help":
        names = [argument for argument in rest if not argument.startswith("-")]
        terminal.say(_help_for(names[0]) if names else help_text.overview({name: load(name) for name in COMMANDS}))
        return DONE
    if first in _VERSION or first == "version":
        terminal.say(f"superjax {__version__}")
        return DONE
    if first.startswith("-"):
        raise InputError(f"{first}: the command comes first; give superjax COMMAND --flag=value, or superjax --help")
    command = load(first)
    if _HELP.intersection(rest):
        terminal.say(help_text.of_command(first, command))
        return DONE
    if worker is None and parent.wanted(rest):
        distributed.require_fresh_process()
        return parent.supervise(arguments, terminal)
    values = parse(first, command, rest)
    if command.on_hosts:
        distributed.check(values)

    def execute(terminal: Terminal, place: Place) -> int:
        return Execution(first, command, tuple(rest), values, terminal, place).execute()

    if worker is None or not values.distributed:
        return execute(terminal, ALONE)
    return _execute_joined(execute, values, terminal, worker)


def _execute_joined(
    execute: Callable[[Terminal, Place], int], values: FlagValues, terminal: Terminal, worker: parent.Worker
) -> int:
    """Join the other processes, run, and end as the first process ends."""
    place = distributed.join(values, worker.notes.expect)
    own = terminal if place.first else terminal.of_process(place.process)
    code = _ended(lambda: place.ended_as_the_first(execute(own, place)), own, joined=True)
    if code != ENVIRONMENT:  # a peer that was lost is not waited for
        distributed.leave()
    return code


def _help_for(name: str) -> str:
    return help_text.of_command(name, load(name))


def load(name: str) -> Command[Any]:
    """The command of that name.

    Raises:
        InputError: there is none.
    """
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        remedy = f"did you mean {near[0]}?" if near else "`superjax --help` lists the commands"
        raise InputError(f"{name}: no such command; {remedy}")
    return importlib.import_module(COMMANDS[name]).COMMAND
