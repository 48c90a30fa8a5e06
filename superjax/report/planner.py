"""The capacity planner: its form, and the constants its formulas take from the library: the page copies none."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from superjax.laws import LAWS, FitRange, Law, law
from superjax.laws.assessment import CLASS_ONE_ABOVE
from superjax.laws.checks import ATTAINED, BELOW_ONE
from superjax.laws.constructions import Construction, constructions
from superjax.laws.constructions.frames import frames
from superjax.laws.forms import PowerForm
from superjax.laws.levenshtein import MAX_LEVEL
from superjax.laws.quantile import QuantileLaw
from superjax.report.markup import Markup, element, join

D_RANGE = (2, 16384)
EPSILON_RANGE = (0.005, 0.5)
LARGEST_K = 1e300

_EXACT = 2**53
_SCRIPTS = ("laws.js", "bounds.js", "constructions.js", "planner.js")


def planner_section() -> Markup:
    """The planner's place on the page, with its form; its script fills in the answers."""
    form = (resources.files("superjax.report") / "assets" / "planner.html").read_text(encoding="utf-8")
    constants = element("script", _json(planner_constants()), type="application/json", id="planner-constants")
    return join(Markup(form), constants)


def planner_script() -> str:
    """The planner's formulas and form."""
    assets = resources.files("superjax.report") / "assets"
    return "\n".join((assets / name).read_text(encoding="utf-8") for name in _SCRIPTS)


@cache
def planner_constants() -> dict[str, Any]:
    """Everything the page's formulas need of the library.

    Returns:
        Plain values: the laws' forms and ranges, the limits of the form, the constructions up to the largest dimension.

    Example:
        >>> found = planner_constants()
        >>> found["laws"]["ratio"]["form"]["d_power"], found["d"]
        (1.0, (2, 16384))
    """
    return {
        "laws": {name: _law_entries(law(name)) for name in LAWS},
        "d": D_RANGE,
        "epsilon": EPSILON_RANGE,
        "largest_k": LARGEST_K,
        "class_one_above": CLASS_ONE_ABOVE,
        "levels": MAX_LEVEL,
        "attained": ATTAINED,
        "below_one": BELOW_ONE,
        "families": _families(_every_construction()),
    }


def _law_entries(found: Law) -> dict[str, Any]:
    form: dict[str, Any]
    if isinstance(found.form, PowerForm):
        names = ("scale", "k_power", "log_power", "d_power", "divisor_power")
        form = {name: getattr(found.form, name) for name in names}
    else:
        assert isinstance(found.form, QuantileLaw)
        form = {"factor": found.form.factor}
    return {"title": found.title, "form": form, "range": _range_entries(found.range)}


def _range_entries(found: FitRange) -> dict[str, Any]:
    """The range of a fit; null where it has no end."""
    ends = {name: [end if math.isfinite(end) else None for end in getattr(found, name)] for name in ("k", "d")}
    return {**ends, "ratio": found.ratio, "words": str(found)}


def _every_construction() -> Iterable[Construction]:
    """Every construction that is the best of its family in some dimension up to the largest.

    The axes and the simplex, which every dimension has, are left to the page's formulas.
    """
    found = {each.name: each for each in constructions(D_RANGE[1])}
    for d in range(*D_RANGE):
        found |= {each.name: each for each in frames(d)}
    return (each for each in found.values() if not each.name.startswith(("cross-polytope", "simplex")))


def _families(found: Iterable[Construction]) -> list[dict[str, Any]]:
    """The constructions by the words of their names; `rows` are [d, k, 1/coherence^2, numbers of the name ...].

    k is null, and its decimal logarithm stands in for it, where no float holds it exactly.
    """
    families: dict[tuple[str, str], list[list[Any]]] = {}
    for each in found:
        words = re.sub(r"\d+", "#", each.name)
        k = each.k if each.k < _EXACT else {"log10": math.log10(each.k)}
        row = [each.d, k, _inverse_square(each.coherence), *map(int, re.findall(r"\d+", each.name))]
        families.setdefault((words, each.source), []).append(row)
    return [{"words": words, "source": source, "rows": rows} for (words, source), rows in families.items()]


def _inverse_square(coherence: float) -> float:
    """1/coherence^2, whole where it is so to rounding: shorter on the page."""
    value = coherence**-2
    return round(value) if abs(value - round(value)) < 1e-9 else value


def _json(value: Any) -> Markup:
    """JSON that may stand inside a script element."""
    return Markup(json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))
