"""`superjax COMMAND --flag=value`: finds the command, parses, runs, and turns how it ended into an exit code."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from superjax._version import __version__
from superjax.cli import help as help_text
from superjax.cli.command import Command
from superjax.cli.endings import DONE, INTERRUPTED, USAGE, crashed
from superjax.cli.execution import Execution
from superjax.cli.parsing import parse
from superjax.cli.terminal import Terminal
from superjax.core.errors import InputError

COMMANDS = {
    "embed": "superjax.cli.embed",
    "train": "superjax.cli.train",
    "pack": "superjax.cli.pack",
    "fit": "superjax.cli.fit",
    "capacity": "superjax.cli.capacity",
    "rerun": "superjax.cli.rerun",
    "doctor": "superjax.cli.doctor",
}
"""name -> the module whose COMMAND it is, in the order of help; imported when needed."""

_HELP = {"--help", "-help", "-h", "--helpfull", "--helpshort"}
_VERSION = {"--version", "-version", "-V"}


def entry() -> None:
    """The console script."""
    sys.exit(main())


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
    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        with terminal.warnings_as_notes():
            return _dispatch(tuple(sys.argv[1:] if argv is None else argv), terminal)
    except InputError as error:
        terminal.complain(str(error))
        return USAGE
    except KeyboardInterrupt:
        terminal.complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        return crashed(error, None, dict, terminal)


def _dispatch(arguments: tuple[str, ...], terminal: Terminal) -> int:
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
    return Execution(first, command, tuple(rest), parse(first, command, rest), terminal).execute()


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
