"""`superjax capacity`: how many directions fit, the coherence of k directions, or the dimension they need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from absl import flags
from absl.flags import FlagValues

from superjax.cli.command import Command, Context, Outcome
from superjax.core.errors import InputError

_LARGEST_D = 10**9
_LARGEST_K = 10**300
_SMALLEST_EPSILON = 1e-6
_LARGEST_EPSILON = 1 - 1e-9


@dataclass(frozen=True)
class CapacityConfig:
    """Two of the three; the third is answered."""

    d: int | None
    epsilon: float | None
    k: int | None


def define_flags(values: FlagValues) -> None:
    """Two of three numbers."""
    flags.DEFINE_integer(
        "d", None, "dimension `D`, from 2 to 1e9", lower_bound=2, upper_bound=_LARGEST_D, flag_values=values
    )
    flags.DEFINE_string(
        "epsilon",
        None,
        "accepted absolute cosine `E` from 1e-6 to 1 - 1e-9, such as 0.0645 or 1/64",
        flag_values=values,
    )
    flags.DEFINE_string("k", None, "number of directions `K` up to 1e300, such as 32000 or 1e9", flag_values=values)


def configure(values: FlagValues) -> CapacityConfig:
    """Flags -> configuration."""
    epsilon = None if values.epsilon is None else _number("epsilon", values.epsilon, "0.0645 or 1/64")
    if epsilon is not None and not 0 < epsilon < 1:
        raise InputError(
            f"--epsilon={_short(values.epsilon)}: is not inside (0, 1); give an absolute cosine such as 0.0645"
        )
    if epsilon is not None and not _SMALLEST_EPSILON <= epsilon <= _LARGEST_EPSILON:
        raise InputError(
            f"--epsilon={_short(values.epsilon)}: is not between 1e-6 and 1 - 1e-9, where the answers hold to "
            "rounding; give an absolute cosine such as 0.0645"
        )
    k = None if values.k is None else _number("k", values.k, "32000 or 1e9")
    if k is not None and (k < 1 or k.denominator != 1):
        raise InputError(
            f"--k={_short(values.k)}: is not a whole number >= 1; give a number of directions such as 32000"
        )
    if k is not None and k > _LARGEST_K:
        raise InputError(f"--k={_short(values.k)}: is beyond 1e300; give a number of directions such as 32000")
    if sum(value is None for value in (values.d, epsilon, k)) != 1:
        raise InputError(
            "--d, --epsilon, --k: give two of the three: --d and --epsilon for k, --d and --k for epsilon, "
            "--k and --epsilon for d"
        )
    return CapacityConfig(values.d, None if epsilon is None else float(epsilon), None if k is None else int(k))


def run(config: CapacityConfig, context: Context) -> Outcome:
    """The bracket of the missing one."""
    from superjax.cli.capacity_outcome import capacity_outcome, dimension_outcome, epsilon_outcome, with_figure
    from superjax.laws import capacity_bracket, dimension_bracket, epsilon_bracket

    if config.k is None:
        assert config.d is not None
        assert config.epsilon is not None
        found = capacity_bracket(config.d, config.epsilon)
        return with_figure(capacity_outcome(found), found.d, found.epsilon, context)
    if config.d is not None:
        return with_figure(epsilon_outcome(epsilon_bracket(config.k, config.d)), config.d, config.k, context)
    assert config.epsilon is not None
    return dimension_outcome(dimension_bracket(config.k, config.epsilon))


def _number(flag: str, text: str, example: str) -> Fraction:
    try:
        size = 1.0 if "/" in text else abs(float(text))
        if size == math.inf and "inf" not in text.lower():  # and 1e999999999 is not written out
            return Fraction(_LARGEST_K + 1)
        return Fraction(text.strip()) if size else Fraction(0)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"--{flag}={_short(text)}: is not a number; give one such as {example}") from None


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:36]}..."


COMMAND = Command(
    summary="how many directions fit: built, expected, impossible; or epsilon, or d",
    details=(
        "Give two of --d, --epsilon and --k. The answer is a bracket: what an explicit construction reaches, what each "
        "law expects of optimisation, with 95 % intervals and a mark where it is extrapolated, and what proven bounds "
        "forbid. Writes only with --out."
    ),
    examples=(
        "superjax capacity --d=4096 --epsilon=0.0645",
        "superjax capacity --d=4096 --k=32000",
        "superjax capacity --k=32000 --epsilon=1/16",
    ),
    define_flags=define_flags,
    configure=configure,
    run=run,
    on_devices=False,
    keeps_folder=False,
)
