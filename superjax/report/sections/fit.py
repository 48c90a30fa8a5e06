"""The report of `superjax fit`: constants with intervals, beside the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from superjax.laws import published_packings
from superjax.report.folders import Run
from superjax.report.published import CAPACITY_SOURCE, law_constants
from superjax.report.section import Headline, Section, shown

_TREATMENTS = {"exclude": "left out", "zero": "taken as 0", "formula": "by the formula"}
_PUBLISHED_ROWS = {"optimised": 166, "random": 256}
_COLUMNS = (
    "shown", "group", "n", "C", "a", "b", "c", "s", "exponent", "exponent_stderr", "interval_low", "interval_high",
    "scale", "offset", "width_exponent", "r2", "mape", "median_ape", "leave_one_d_out", "aic",
)  # fmt: skip


def section(run: Run) -> Section:
    """What a fit has to say: of capacity laws, of a power law, or of a loss with offsets."""
    summary = run.summary
    subject = "/".join(PurePath(summary["table"]).parts[-2:])
    if "fits" not in summary:
        return Section(subject, [_offset_headline(summary)], _COLUMNS)
    if summary["fits"] and "law" in summary["fits"][0]:
        return Section(subject, [line for fit in summary["fits"] for line in _law_headlines(fit)], _COLUMNS)
    return Section(subject, [_power_headline(fit) for fit in summary["fits"]], _COLUMNS)


def _law_headlines(fit: Mapping[str, Any]) -> Iterator[Headline]:
    kind = fit["kind"] or "optimised"
    published = law_constants(fit["law"], kind) or {}
    source = f"{CAPACITY_SOURCE}; {_fitted_range(kind)}" if published else ""
    name = f"{' '.join(filter(None, (fit['law'], fit['kind'])))} law"
    treated = f"rows of k ≤ d {_TREATMENTS[fit['low_k']]}"
    for constant, value in fit["constants"].items():
        low, high = fit["intervals"][constant]
        theirs = (shown(published[constant], ".6g"), source) if constant in published else ("", "")
        interval = "" if low is None or high is None else f" (95 % {low:.4g} to {high:.4g})"
        yield Headline(f"{name}: {constant}, {treated}", f"{value:.5g}{interval}", *theirs)
    # An error belongs to its rows: the published one stands beside ours on the published table alone.
    same_rows = published and fit["low_k"] != "exclude" and fit["n"] == _PUBLISHED_ROWS[kind]
    theirs = (f"{published['mape']:.4g} %", CAPACITY_SOURCE) if same_rows else ("", "")
    yield Headline(f"{name}: mean error of epsilon, {treated}", f"{fit['mape']:.4g} % of {fit['n']:,d} rows", *theirs)


def _fitted_range(kind: str) -> str:
    """Where the published constants were fitted."""
    k, d, _ = published_packings(kind)
    return f"k {k.min():g} to {k.max():g}, d {d.min():g} to {d.max():g}"


def _power_headline(fit: Mapping[str, Any]) -> Headline:
    low, high = fit["interval"]
    group = f"{fit['group']}: " if fit["group"] else ""
    value = f"{fit['exponent']:.4f} ± {fit['exponent_stderr']:.4f} (95 % {low:.4f} to {high:.4f})"
    return Headline(f"{group}exponent of the power law, {fit['n']:,d} rows", value)


def _offset_headline(fit: Mapping[str, Any]) -> Headline:
    low, high = fit["interval"]
    value = f"alpha = {fit['alpha']:.4f} ± {fit['alpha_stderr']:.4f} (95 % {low:.4f} to {high:.4f})"
    return Headline(f"loss = A / m^alpha + B, {len(fit['offsets'])} groups, {fit['n']:,d} rows", value)
