"""Flags: the common ones, and parsing that answers a mistake with its cause and remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from absl import flags
from absl.flags import FlagValues

from superjax.cli import distributed
from superjax.cli.command import Command
from superjax.core.errors import InputError

PLATFORMS = ("cpu", "gpu", "tpu")
PRECISIONS = ("highest", "high", "default")


@dataclass(frozen=True)
class CommandFlags:
    """A command's flags, defined on a FlagValues of their own.

    Attributes:
        values: all of them.
        own: names of the command's own flags, in the order of their definition.
        common: names of those it shares with other commands.
    """

    values: FlagValues
    own: tuple[str, ...]
    common: tuple[str, ...]


def define_flags(command: Command[Any]) -> CommandFlags:
    """Define a command's own flags and the common ones that mean something to it."""
    values = FlagValues()
    command.define_flags(values)
    own = tuple(values)
    _define_common(values, on_devices=command.on_devices)
    if command.keeps_checkpoints:
        _define_checkpoints(values)
    if command.on_hosts:
        distributed.define_flags(values)
    return CommandFlags(values, own, tuple(name for name in values if name not in own))


def _define_common(values: FlagValues, *, on_devices: bool) -> None:
    flags.DEFINE_string(
        "out", None, "`PATH` of the run folder; if it holds this very run, that is continued, or left alone if done",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_bool(
        "resume",
        True,
        "go on from what the run folder holds; --noresume starts anew and replaces it",
        flag_values=values,
    )
    if not on_devices:
        return
    flags.DEFINE_integer("seed", 0, "the number `N` that all randomness comes from", flag_values=values)
    flags.DEFINE_integer(
        "devices", None, "use `N` devices, of every process; by default all there are, and one a core on a CPU",
        lower_bound=1, flag_values=values,
    )  # fmt: skip
    flags.DEFINE_enum(
        "precision", "highest", PRECISIONS,
        "precision of matrix products; the faster ones are less exact on accelerators, and their error is printed",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_enum(
        "require_platform", None, PLATFORMS, "stop unless the devices are of this kind", flag_values=values
    )
    flags.DEFINE_string(
        "compilation_cache", None,
        "keep compiled programs in the folder `PATH`, so that the next run starts faster; by default in the user's "
        "cache, and nowhere with --compilation_cache=",
        flag_values=values,
    )  # fmt: skip


def _define_checkpoints(values: FlagValues) -> None:
    flags.DEFINE_float(
        "checkpoint_every", 60.0, "save the state of what is under way every `SECONDS`", lower_bound=0,
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_integer(
        "checkpoint_steps", None, "save it after every `N` steps too, at the next pause", lower_bound=1,
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_integer("keep_checkpoints", 2, "keep the newest `N` states", lower_bound=1, flag_values=values)


def parse(name: str, command: Command[Any], arguments: Sequence[str]) -> FlagValues:
    """Parse a command's arguments.

    Args:
        name: the command's name.
        command: what it is.
        arguments: what follows its name.

    Returns:
        The parsed flags.

    Raises:
        InputError: an unknown flag, a bad value, a missing flag, or an argument that is no flag.
    """
    defined = define_flags(command)
    values = defined.values
    values.set_gnu_getopt(True)  # flags may follow a stray argument, which is then the thing to complain about
    help_hint = f"`superjax {name} --help` lists them"
    _refuse_repeats(values, arguments)
    try:
        _, *stray = values(["superjax", *arguments])
    except flags.UnrecognizedFlagError as error:
        near = difflib.get_close_matches(error.flagname, list(values), n=1)
        remedy = f"did you mean --{near[0]}?" if near else help_hint
        raise InputError(f"--{error.flagname}: {name} has no such flag; {remedy}") from None
    except flags.Error as error:
        raise InputError(_bad_value(values, str(error), name)) from None
    if stray and command.positional:
        values[command.positional].value = [*(values[command.positional].value or []), *stray]
    elif stray:
        wanted = command.required[0] if command.required else None
        remedy = f"did you mean --{wanted}={stray[0]}?" if wanted else help_hint
        raise InputError(f"{stray[0]}: {name} takes flags only, --flag=value; {remedy}")
    for flag in command.required:
        if not values[flag].value:
            wanted = placeholder(values, flag)
            if flag == command.positional:
                raise InputError(f"{wanted}: missing; give superjax {name} {wanted}")
            raise InputError(f"--{flag}: missing; give superjax {name} --{flag}={wanted}")
    return values


def _refuse_repeats(values: FlagValues, arguments: Sequence[str]) -> None:
    """A flag given twice would silently lose its first value, and with it half of a grid or of a list of files."""
    given = [match[1] for argument in arguments if (match := re.match(r"--?(\w+)", argument))]
    for flag in given:
        if given.count(flag) > 1 and flag in values and not values[flag].boolean:
            raise InputError(f"--{flag}: given twice; give it once, several values with commas between them")


def _bad_value(values: FlagValues, complaint: str, name: str) -> str:
    """absl's complaint in our form: which flag, which value, what is wanted."""
    match = re.match(r"flag --([\w-]+)=(.*?): (.*)", complaint, re.DOTALL)
    if match is not None and match[1] in values:
        flag, given, _ = match.groups()
        return f"--{flag}={given}: give {_wanted(values, flag)}; `superjax {name} --help` says more"
    missing = re.match(r"Missing value for flag --?([\w-]+)", complaint)
    if missing is not None:
        return f"--{missing[1]}: needs a value; give --{missing[1]}={placeholder(values, missing[1])}"
    return f"{complaint}; `superjax {name} --help` lists the flags"


def _wanted(values: FlagValues, flag: str) -> str:
    parser = values[flag].parser
    choices = getattr(parser, "enum_values", None)
    if choices:
        return "one of " + ", ".join(choices)
    if values[flag].boolean:
        return "true or false"
    return parser.syntactic_help or f"a value such as {placeholder(values, flag)}"


def placeholder(values: FlagValues, flag: str) -> str:
    """How a flag's value is written in help: the back-quoted word of its help text, its choices, or its type."""
    definition = values[flag]
    quoted = re.search(r"`([^`]+)`", definition.help or "")
    if quoted is not None:
        return quoted[1]
    choices = getattr(definition.parser, "enum_values", None)
    if choices:
        return "|".join(choices)
    return {"int": "N", "float": "X"}.get(definition.flag_type(), "TEXT")
