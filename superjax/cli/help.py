"""Help: what superjax can do, and what one command's flags are."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from absl.flags import FlagValues

from superjax._version import __version__
from superjax.cli.command import Command
from superjax.cli.parsing import define_flags, placeholder

WIDTH = 80
_FLAG_COLUMN = 26


def overview(commands: Mapping[str, Command[Any]]) -> str:
    """What `superjax --help` prints.

    Args:
        commands: name -> command, in the order to list them.
    """
    column = max(map(len, commands)) + 2
    listed = [_entry(f"  {name}", command.summary, column) for name, command in commands.items()]
    first_examples = [_example(command.examples[0]) for command in commands.values() if command.examples]
    return "\n".join(
        [
            f"superjax {__version__}: the geometry of superposition, in JAX",
            "",
            "usage: superjax COMMAND --flag=value ...",
            "",
            "Commands",
            *listed,
            "",
            "`superjax COMMAND --help` lists a command's flags; `superjax --version` prints",
            "the version.",
            "",
            "Examples",
            *first_examples,
            "",
            "Exit codes: 0 done; 1 internal error; 2 bad input or usage; 3 done, but some",
            "items failed; 4 disk, memory or a peer failed; 130 interrupted.",
        ]
    )


def of_command(name: str, command: Command[Any]) -> str:
    """What `superjax COMMAND --help` prints.

    Args:
        name: the command's name.
        command: what it is.
    """
    defined = define_flags(command)
    required = "".join(f" {_shown(defined.values, flag, command)}" for flag in command.required)
    sections = [
        f"usage: superjax {name}{required} [--flag=value ...]",
        _sentence(command.summary),
        *([textwrap.fill(" ".join(command.details.split()), WIDTH)] if command.details else []),
        *([_flag_section("Flags", defined.values, defined.own, command)] if defined.own else []),
        _flag_section("Common flags", defined.values, defined.common, command),
    ]
    if command.examples:
        sections.append("\n".join(["Examples", *map(_example, command.examples)]))
    return "\n\n".join(sections)


def _shown(values: FlagValues, flag: str, command: Command[Any]) -> str:
    """A flag as it is given; of the positional one, its value alone."""
    wanted = placeholder(values, flag)
    return wanted if flag == command.positional else f"--{flag}={wanted}"


def _example(line: str) -> str:
    """A command line, going on below where it is long, in a form a shell takes."""
    parts = textwrap.wrap(line, WIDTH - 8, break_long_words=False, break_on_hyphens=False)
    return "  " + " \\\n      ".join(parts)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:].rstrip(".") + "."


def _flag_section(title: str, values: FlagValues, names: Iterable[str], command: Command[Any]) -> str:
    return "\n".join([title, *(_flag_entry(values, name, command) for name in names)])


def _flag_entry(values: FlagValues, name: str, command: Command[Any]) -> str:
    """A flag with its placeholder on the left, its meaning and default wrapped on the right."""
    definition = values[name]
    left = f"  --[no]{name}" if definition.boolean else f"  {_shown(values, name, command)}"
    # absl puts choices in front, and behind a flag that may be repeated that it may.
    meaning = re.sub(r"^<.*?>: |;\s+repeat this option.*", "", definition.help or "", flags=re.DOTALL).replace("`", "")
    return _entry(left, f"{meaning} {_remark(definition, name in command.required)}", _FLAG_COLUMN)


def _entry(left: str, right: str, column: int) -> str:
    """`left` in a column of that width, `right` wrapped beside it, or below a `left` that is wider."""
    margin = " " * (column + 2)
    lines = [margin + line for line in textwrap.wrap(" ".join(right.split()), WIDTH - len(margin))]
    if len(left) > column:
        return "\n".join([left, *lines])
    return "\n".join([left.ljust(len(margin)) + lines[0].removeprefix(margin), *lines[1:]])


def _remark(definition: Any, required: bool) -> str:
    if required:
        return "(required)"
    if definition.boolean:
        return f"(default: {'on' if definition.default else 'off'})"
    if definition.default in (None, "", []):
        return ""
    return f"(default: {definition.default_as_str.strip(chr(39))})"
