"""`superjax capacity`: how many directions fit, the coherence of k directions, or the dimension they need."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from absl import flags
from absl.flags import FlagValues

from superjax.cli.command import Command, Context, Outcome
from superjax.cli.prose import paragraphs
from superjax.cli.tables import Column
from superjax.core.errors import InputError

if TYPE_CHECKING:
    from superjax.laws import Bracket, DimensionBracket, EpsilonBracket, Interval, Reached

_BETWEEN = (
    "Each law says what optimisation reaches (jl_proven: what is proven to exist by random projection; jl_random: the "
    "best of 1000 random draws). It may well lie below what can be built: gradient descent from random starts does "
    "not find the algebraic sets."
)
_INTERVALS = (Column("covariance", "95% covariance"), Column("bootstrap", "95% bootstrap"))
_NO_CONSTANTS = (
    "The quantile law has no constants to vary: its interval holds the spread of published optima over the quantile, "
    "which lie 1.5 to 14 % above it. So the interval need not hold the law's own answer."
)
_LARGEST_D = 10**9
_LARGEST_K = 10**300
_SMALLEST_EPSILON = 1e-6
_LARGEST_EPSILON = 1 - 1e-9
_VACUOUS = "An epsilon above 0.2 is class 1: the published laws say nothing there (arXiv 2606.02765)."


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
    from superjax.laws import capacity_bracket, dimension_bracket, epsilon_bracket

    if config.k is None:
        assert config.d is not None
        assert config.epsilon is not None
        found = capacity_bracket(config.d, config.epsilon)
        return _with_figure(_capacity_outcome(found), found.d, found.epsilon, context)
    if config.d is not None:
        return _with_figure(_epsilon_outcome(epsilon_bracket(config.k, config.d)), config.d, config.k, context)
    assert config.epsilon is not None
    return _dimension_outcome(dimension_bracket(config.k, config.epsilon))


def _capacity_outcome(found: Bracket) -> Outcome:
    from superjax.laws import sensitivity

    rows: list[dict[str, Any]] = [
        _end("at least", found.log10_constructed, found.constructed, found.construction.name),
        *(
            {
                **_law_entries(name, reached),
                "directions": format_count(found.log10_expected[name]),
                "formula": format_count(reached.formula),
                "log10_k": found.log10_expected[name],
                "log10_formula": reached.formula,
                **_ranges(reached.interval, ".2f"),
            }
            for name, reached in found.laws.items()
        ),
        _end("at most", found.log10_bound, _whole_or_none(found.bound), found.bound_name),
    ]
    by_epsilon, by_d = sensitivity(found.d, found.epsilon, "full")
    lines = [
        f"At least {format_count(found.log10_constructed, found.constructed)} directions can be built in R^{found.d} "
        f"with every |cosine| <= {found.epsilon:g} ({found.construction.name}; {found.construction.source}). More than "
        f"{format_count(found.log10_bound, _whole_or_none(found.bound))} are impossible ({found.bound_name}).",
        _BETWEEN,
        f"By the full form, 1 % more epsilon gives {_more(by_epsilon)} directions, 1 % more d "
        f"{_more(by_d)}. Intervals are those of log10 k.",
        *_range_lines(found.laws),
        _NO_CONSTANTS,
        *([_VACUOUS] if found.epsilon > 0.2 else []),
    ]
    columns = (
        Column("shown", "law"),
        Column("directions"),
        Column("formula"),
        Column("log10_k", "log10 k", ".2f"),
        *_INTERVALS,
    )
    return Outcome(rows, columns, _capacity_summary(found), lines=paragraphs(lines))


def _epsilon_outcome(found: EpsilonBracket) -> Outcome:
    rows: list[dict[str, Any]] = [
        {
            "law": "at most",
            "shown": "at most",
            "epsilon": found.constructed,
            "reads": outward(found.constructed, 1),
            "from": found.construction.name,
        },
        {
            "law": "random",
            "shown": "random mean",
            "epsilon": found.random,
            "reads": f"{found.random:.6f}",
            "from": "exact law of the maximum",
        },
        *_law_rows(found, "epsilon", ".6f", ".5f"),
        {
            "law": "at least",
            "shown": "at least",
            "epsilon": found.bound,
            "reads": outward(found.bound, -1),
            "from": found.bound_name,
        },
    ]
    lines = [
        f"{_count(found.k)} directions in R^{found.d} can be built with every |cosine| <= "
        f"{outward(found.constructed, 1)} ({found.construction.name}; {found.construction.source}). "
        f"Below {outward(found.bound, -1)} it is impossible ({found.bound_name}).",
        _BETWEEN.replace("below", "above"),
        _NO_CONSTANTS if found.k > found.d else "",
        *_range_lines(found.laws),
    ]
    columns = (Column("shown", "law"), Column("reads", "epsilon"), Column("formula", format=".6f"), *_INTERVALS)
    summary = {"k": found.k, "d": found.d, "random_mean": found.random, **_ends(found)}
    return Outcome(rows, columns, summary, lines=paragraphs(lines))


def _dimension_outcome(found: DimensionBracket) -> Outcome:
    rows: list[dict[str, Any]] = [
        {
            "law": "built",
            "shown": "if built",
            "d": found.constructed,
            "reads": str(found.constructed),
            "from": found.construction.name,
        },
        *_law_rows(found, "d", ".7g", ".5g"),
        {
            "law": "impossible below",
            "shown": "impossible below",
            "d": found.bound,
            "reads": str(found.bound),
            "from": found.bound_name,
        },
    ]
    lines = [
        f"{_count(found.k)} directions with every |cosine| <= {found.epsilon:g} need d = {found.constructed} if built "
        f"({found.construction.name}; {found.construction.source}), d = "
        f"{math.ceil(found.expected['full'] * (1 - 1e-12))} if reached by gradient descent (full form). Below d = "
        f"{found.bound} it is impossible ({found.bound_name}).",
        _BETWEEN.replace("lie below what can be built", "ask for more than building does"),
        _NO_CONSTANTS,
        *_range_lines(found.laws),
    ]
    columns = (Column("shown", "law"), Column("reads", "d"), Column("formula", format=".7g"), *_INTERVALS)
    return Outcome(rows, columns, {"k": found.k, "epsilon": found.epsilon, **_ends(found)}, lines=paragraphs(lines))


def _law_rows(found: EpsilonBracket | DimensionBracket, unit: str, form: str, ends: str) -> list[dict[str, Any]]:
    return [
        {
            **_law_entries(name, reached),
            unit: found.expected[name],
            "reads": format(found.expected[name], form),
            "formula": reached.formula,
            **_ranges(reached.interval, ends),
        }
        for name, reached in found.laws.items()
    ]


def _law_entries(name: str, reached: Reached) -> dict[str, Any]:
    return {
        "law": name,
        "shown": f"{name} *" if reached.extrapolated else name,
        "extrapolated": reached.extrapolated,
        **_interval_entries(reached.interval),
    }


def _end(answer: str, log10_k: float, k: int | None, name: str) -> dict[str, Any]:
    return {
        "law": answer,
        "shown": answer,
        "directions": format_count(log10_k, k),
        "log10_k": log10_k,
        "from": name,
    }


def _interval_entries(interval: Interval | None) -> dict[str, float]:
    if interval is None:
        return {}
    entries = dict(zip(("bootstrap_low", "bootstrap_high"), interval.bootstrap, strict=True))
    if interval.covariance is not None:
        entries |= dict(zip(("covariance_low", "covariance_high"), interval.covariance, strict=True))
    return entries


def _ranges(interval: Interval | None, form: str) -> dict[str, str]:
    """The intervals as printed."""
    if interval is None:
        return {}
    ends = {"covariance": interval.covariance, "bootstrap": interval.bootstrap}
    return {
        source: f"{format(pair[0], form)}..{format(pair[1], form)}" for source, pair in ends.items() if pair is not None
    }


def _range_lines(laws: dict[str, Reached]) -> list[str]:
    from superjax.laws import law

    by_range: dict[str, list[str]] = {}
    for name, reached in laws.items():
        if reached.extrapolated:
            by_range.setdefault(str(law(name).range), []).append(name)
    return [f"* extrapolated: {', '.join(names)} beyond {where}." for where, names in by_range.items()]


def _capacity_summary(found: Bracket) -> dict[str, Any]:
    from superjax.laws import sensitivity

    return {
        "d": found.d,
        "epsilon": found.epsilon,
        "constructed": {
            "k": found.constructed if found.constructed < 2**53 else None,
            "log10_k": found.log10_constructed,
            "name": found.construction.name,
            "source": found.construction.source,
        },
        "expected": {
            name: {
                "k": found.expected[name],
                "log10_k": found.log10_expected[name],
                "log10_formula": reached.formula,
                **_interval_entries(reached.interval),
                "extrapolated": reached.extrapolated,
                "sensitivity": dict(zip(("epsilon", "d"), sensitivity(found.d, found.epsilon, name), strict=True)),
            }
            for name, reached in found.laws.items()
        },
        "bound": {"k": _whole_or_none(found.bound), "log10_k": found.log10_bound, "name": found.bound_name},
    }


def _ends(found: EpsilonBracket | DimensionBracket) -> dict[str, Any]:
    return {
        "constructed": {
            "value": found.constructed,
            "name": found.construction.name,
            "source": found.construction.source,
        },
        "expected": {
            name: {
                "value": found.expected[name],
                "formula": reached.formula,
                **_interval_entries(reached.interval),
                "extrapolated": reached.extrapolated,
            }
            for name, reached in found.laws.items()
        },
        "bound": {"value": found.bound, "name": found.bound_name},
    }


def _with_figure(outcome: Outcome, d: int, mark: float, context: Context) -> Outcome:
    """The outcome with the bracket over epsilon, or over k, as arrays and as a figure, where a folder keeps them."""
    if context.folder is None:
        return outcome
    from superjax.figures import bracket

    if isinstance(mark, int):
        if d == 1:
            return outcome
        near = bracket.epsilon_curves(d, mark=mark)
        return replace(outcome, arrays=near, figures={"epsilon": partial(bracket.epsilon_figure, d, near, mark=mark)})
    fitting = bracket.bracket_curves(d, mark=mark)
    return replace(outcome, arrays=fitting, figures={"bracket": partial(bracket.bracket_figure, d, fitting, mark=mark)})


def format_count(log10_k: float, k: int | None = None) -> str:
    """A count for reading: whole where small, else 3.99e7, or 10^335.2 where no float holds it."""
    if k is not None and k < 10**9:
        return str(k)
    if log10_k >= 300:
        return f"10^{log10_k:.1f}"
    if log10_k < 6:
        count = 10**log10_k
        return f"{count:.3g}" if count < 999.5 else f"{count:.0f}"
    mantissa, exponent = f"{10**log10_k:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _whole_or_none(value: float) -> int | None:
    return int(value) if value < 2**53 else None


def outward(value: float, direction: int) -> str:
    """A coherence to six decimals, rounded up (1) where it is reached and down (-1) where less is impossible."""
    scaled = Fraction(value) * 10**6
    rounded = math.ceil(scaled) if direction > 0 else math.floor(scaled)
    if abs(scaled - round(scaled)) < 1e-6:  # 0.015625 is no more than it reads
        rounded = round(scaled)
    return f"{rounded / 10**6:.6f}"


def _count(k: int) -> str:
    return format_count(math.log10(k), k)


def _more(slope: float) -> str:
    """What 1 % more of an argument gives, from decades of k per unit of its logarithm."""
    decades = slope * math.log(1.01)
    return f"{100 * (10**decades - 1):.1f} % more" if decades < 1 else f"10^{decades:.1f} times as many"


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
