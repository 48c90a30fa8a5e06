"""A small real command for the tests of the command line: squares, in every way a command can end."""

from __future__ import annotations

import signal
import warnings
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from absl import flags
from absl.flags import FlagValues

from superjax.cli.command import Command, Context, Outcome
from superjax.cli.tables import Column
from superjax.core.errors import InputError, InputWarning
from superjax.figures import house_style, new_figure


@dataclass(frozen=True)
class CountConfig:
    """How far to count, and the word beside each number."""

    up_to: int
    word: str


ENDING = "done"
"""How the next run ends; no flag, since it is no part of what the run is."""


def define_flags(values: FlagValues) -> None:
    flags.DEFINE_integer("up_to", 3, "count up to `N`", lower_bound=0, flag_values=values)
    flags.DEFINE_string("word", None, "the `WORD` beside each number", flag_values=values)
    flags.DEFINE_bool("loud", False, "in capitals", flag_values=values)


def configure(values: FlagValues) -> CountConfig:
    if values.up_to == 13:
        raise InputError("--up_to=13: is unlucky; give another number")
    return CountConfig(values.up_to, values.word.upper() if values.loud else values.word)


def run(config: CountConfig, context: Context) -> Outcome:
    assert len(context.devices) > 0
    with context.progress("counting") as on_progress:
        for number in range(config.up_to):
            on_progress(number + 1, config.up_to)
    failures = _end(context)
    numbers = np.arange(1, config.up_to + 1)
    rows = [{"n": n, "square": float(n) ** 2, "word": config.word} for n in numbers.tolist()]
    return Outcome(
        rows,
        (Column("word"), Column("n"), Column("square", format=".1f")),
        {"sum": numbers.sum(), "third": 1 / 3, "ratio": float("nan"), "above": float("inf")},
        {"numbers": numbers},
        {"squares": lambda: _draw(numbers)},
        ("That was all.",),
        failures,
    )


def _end(context: Context) -> list[str]:
    """Do what ENDING says."""
    match ENDING:
        case "input":
            raise InputError("words.txt: has no words;\n give another")
        case "warning":
            for _ in range(2):
                warnings.warn("words.txt: one word\ntwice", InputWarning, stacklevel=1)
        case "crash":
            raise ZeroDivisionError("a fault of ours")
        case "interrupt":
            signal.raise_signal(signal.SIGINT)
        case "interrupt after saving":
            assert context.folder is not None
            context.folder.begin({})
            signal.raise_signal(signal.SIGINT)
        case "host memory":
            np.empty(2**50)
        case "device memory":
            jnp.ones(2**50, jnp.int8).block_until_ready()
        case "partial":
            return ["number 2 would not come"]
    return []


@house_style()
def _draw(numbers: np.ndarray):
    figure = new_figure(3.0, 2.0)
    figure.subplots().plot(numbers, numbers**2)
    return figure


COMMAND = Command(
    summary="count, and square what was counted",
    examples=("superjax count --word=sheep",),
    define_flags=define_flags,
    configure=configure,
    run=run,
    required=("word",),
)
