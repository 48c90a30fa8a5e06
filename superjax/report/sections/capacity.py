"""The report of `superjax capacity`: the bracket's two ends and the full law, beside the published model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from superjax.report.folders import Run
from superjax.report.published import CAPACITY_SOURCE, model_at
from superjax.report.section import Headline, Section, shown

_COLUMNS = (
    "shown", "directions", "reads", "epsilon", "d", "log10_k", "formula", "covariance_log10_k", "bootstrap_log10_k",
    "covariance", "bootstrap", "extrapolated", "from",
)  # fmt: skip


def section(run: Run) -> Section:
    """What a bracket has to say: of k, of epsilon, or of d."""
    found = run.summary
    if "k" not in found:
        return _directions(found)
    if "d" in found:
        asked, unit, answer = f"coherence of {_whole(found['k'])} directions in R^{found['d']}", "epsilon", ".6f"
    else:
        asked, unit, answer = (
            f"dimension for {_whole(found['k'])} directions at epsilon {found['epsilon']:g}",
            "d",
            ".6g",
        )
    return Section(
        asked,
        [
            Headline(f"{unit} that is built", f"{shown(found['constructed']['value'], answer)} ({_built(found)})"),
            Headline(f"{unit} by the full law", _law(found, answer)),
            Headline(f"impossible below this {unit}", f"{shown(found['bound']['value'], answer)} ({_bound(found)})"),
        ],
        _COLUMNS,
    )


def _directions(found: Mapping[str, Any]) -> Section:
    model = model_at(found["d"], found["epsilon"])
    published = ("", "")
    if model is not None and model.capacity is not None:
        published = (shown(model.capacity, ".3g"), f"{model.model}; {CAPACITY_SOURCE}")
    full = found["expected"]["full"]
    beyond = ", extrapolated" if full["extrapolated"] else ""
    return Section(
        f"directions of epsilon {found['epsilon']:g} in R^{found['d']}",
        [
            Headline("directions that can be built", f"{_count(found['constructed'])} ({_built(found)})"),
            Headline("directions by the full law", f"{_count(full)}{beyond}", *published),
            Headline("more directions than this are impossible", f"{_count(found['bound'])} ({_bound(found)})"),
        ],
        _COLUMNS,
    )


def _count(found: Mapping[str, Any]) -> str:
    k = found["k"]
    if k is None or k > 1e300:
        return f"10^{found['log10_k']:.2f}"
    return _whole(k)


def _whole(k: float) -> str:
    return shown(k, ",.0f" if k < 1e9 else ".3g")


def _law(found: Mapping[str, Any], form: str) -> str:
    full = found["expected"]["full"]
    return shown(full["value"], form) + (", extrapolated" if full["extrapolated"] else "")


def _built(found: Mapping[str, Any]) -> str:
    return found["constructed"]["name"]


def _bound(found: Mapping[str, Any]) -> str:
    return found["bound"]["name"]
