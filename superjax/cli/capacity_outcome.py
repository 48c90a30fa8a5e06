"""What `superjax capacity` shows and saves: the bracket's rows, summary, sentences and figure."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from superjax.cli.command import Context, Outcome
from superjax.cli.prose import paragraphs
from superjax.cli.tables import Column

if TYPE_CHECKING:
    from superjax.laws import Bracket, DimensionBracket, EpsilonBracket, Interval, Reached

_BETWEEN = (
    "Each law says what optimisation reaches: jl_optimised, ratio and full were fitted to published optimised "
    "packings, jl_random to the best of 1000 random draws; jl_proven is what random projection proves to exist. A law "
    "may well lie below what can be built: gradient descent from random starts does not find the algebraic sets."
)
_CLAMPED = "An answer that is held at a limit, d or what is proven, has no interval."
_INTERVALS = (Column("covariance", "95% covariance"), Column("bootstrap", "95% bootstrap"))
_NO_CONSTANTS = (
    "The quantile law has no constants to vary: its interval holds the spread of published optima over the quantile, "
    "which lie 1.5 to 14 % above it. So the interval need not hold the law's own answer."
)
_VACUOUS = "An epsilon above 0.2 is class 1: the published laws say nothing there (arXiv 2606.02765)."


def capacity_outcome(found: Bracket) -> Outcome:
    """How many directions fit at (d, epsilon): built, by each law, and impossible."""
    from superjax.laws import sensitivity

    rows: list[dict[str, Any]] = [
        _end("at least", found.log10_constructed, found.constructed, found.construction.name),
        *(
            {
                **_law_entries(name, reached, found.log10_expected[name]),
                "directions": format_count(found.log10_expected[name]),
                "formula": format_count(reached.formula),
                "log10_k": found.log10_expected[name],
                "log10_formula": reached.formula,
                **_ranges(_interval(reached, found.log10_expected[name]), ".2f", "_log10_k"),
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
        f"{_more(by_d)}. Intervals are those of log10 k. {_CLAMPED}",
        *_range_lines(found.laws),
        _NO_CONSTANTS,
        *([_VACUOUS] if found.epsilon > 0.2 else []),
    ]
    columns = (
        Column("shown", "law"),
        Column("directions"),
        Column("formula"),
        Column("log10_k", "log10 k", ".2f"),
        *(Column(f"{column.key}_log10_k", column.title) for column in _INTERVALS),
    )
    return Outcome(rows, columns, _capacity_summary(found), lines=paragraphs(lines))


def epsilon_outcome(found: EpsilonBracket) -> Outcome:
    """The coherence of k directions in R^d: proven, by each law, and built."""
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
        _CLAMPED,
        _NO_CONSTANTS if found.k > found.d else "",
        *_range_lines(found.laws),
    ]
    columns = (Column("shown", "law"), Column("reads", "epsilon"), Column("formula", format=".6f"), *_INTERVALS)
    summary = {"k": found.k, "d": found.d, "random_mean": found.random, **_ends(found)}
    return Outcome(rows, columns, summary, lines=paragraphs(lines))


def dimension_outcome(found: DimensionBracket) -> Outcome:
    """The dimension that k directions need at epsilon: proven, by each law, and built."""
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
        _CLAMPED,
        _NO_CONSTANTS,
        *_range_lines(found.laws),
    ]
    columns = (Column("shown", "law"), Column("reads", "d"), Column("formula", format=".7g"), *_INTERVALS)
    return Outcome(rows, columns, {"k": found.k, "epsilon": found.epsilon, **_ends(found)}, lines=paragraphs(lines))


def _law_rows(found: EpsilonBracket | DimensionBracket, unit: str, form: str, ends: str) -> list[dict[str, Any]]:
    return [
        {
            **_law_entries(name, reached, found.expected[name]),
            unit: found.expected[name],
            "reads": format(found.expected[name], form),
            "formula": reached.formula,
            **_ranges(_interval(reached, found.expected[name]), ends),
        }
        for name, reached in found.laws.items()
    ]


def _interval(reached: Reached, answer: float) -> Interval | None:
    """The law's interval; None for an answer that is held at a limit, which its formula's interval need not hold."""
    return reached.interval if math.isclose(reached.formula, answer, rel_tol=1e-9) else None


def _law_entries(name: str, reached: Reached, answer: float) -> dict[str, Any]:
    return {
        "law": name,
        "shown": f"{name} *" if reached.extrapolated else name,
        "extrapolated": reached.extrapolated,
        **_interval_entries(_interval(reached, answer)),
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


def _ranges(interval: Interval | None, form: str, unit: str = "") -> dict[str, str]:
    """The intervals as printed, their unit where it is not the answer's at the end of their names."""
    if interval is None:
        return {}
    ends = {"covariance": interval.covariance, "bootstrap": interval.bootstrap}
    return {
        f"{source}{unit}": f"{format(pair[0], form)}..{format(pair[1], form)}"
        for source, pair in ends.items()
        if pair is not None
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


def with_figure(outcome: Outcome, d: int, mark: float, context: Context) -> Outcome:
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
