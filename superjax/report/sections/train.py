"""The report of `superjax train`: exponents of loss against m and shares of features, beside the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from superjax.report.columns import columns_of
from superjax.report.folders import Run
from superjax.report.published import TOY_SOURCE, toy_value
from superjax.report.section import Cell, Column, Headline, Section, Table, evenly, shown

_PUBLISHED_M = {1000: [10, 15, 25, 39, 63, 100], 10240: [8, 16, 32, 64, 128, 256, 512, 1024]}
_MOST_HEADLINES = 6
_COLUMNS = (
    "n", "m", "distribution", "alpha", "density", "decay", "importance", "lr", "seed", "loss", "loss_stderr",
    "phi_half", "phi_one", "mean_sq_overlap", "welch", "one_over_m", "status",
)  # fmt: skip
_EXPONENT_COLUMNS = (
    *columns_of(("n", "distribution", "alpha", "density", "decay", "exponent", "stderr", "r2")),
    Column("points", format=".0f", meaning="values of m"),
    Column("seeds", format=".0f"),
    Column("ideal_weak_exponent", "first m kept", format=".3f", meaning="exponent if only the first m were kept"),
    Column("published", "published exponent", format=".3g", meaning=TOY_SOURCE),
)
_SHARE_COLUMNS = (
    *columns_of(("n", "alpha", "decay", "m", "phi_half")),
    Column("published", "published φ½", format=".3f", meaning=TOY_SOURCE),
)


def section(run: Run) -> Section:
    """What a train run has to say."""
    summary = run.summary
    if "exponents" not in summary:
        return Section(subject=f"{summary['members']:,d} members, not trained (--dry_run)")
    curves = [_with_published(curve) for curve in summary["exponents"]]
    fitted = sorted((curve for curve in curves if curve["exponent"] is not None), key=lambda curve: curve["decay"])
    trained = summary["members"] - summary["failed"]
    failed = f", {summary['failed']:,d} failed" if summary["failed"] else ""
    headlines = [
        Headline("toy autoencoders trained", f"{trained:,d}, {summary['steps']:,d} steps each{failed}"),
        *(_headline(fitted[place]) for place in evenly(len(fitted), _MOST_HEADLINES)),
    ]
    return Section(
        subject=f"{summary['members']:,d} toy autoencoders, n = {_listed(curve['n'] for curve in curves)}",
        headlines=headlines,
        columns=_COLUMNS,
        tables=list(_tables(run, curves)),
    )


def _with_published(curve: Mapping[str, Any]) -> dict[str, Any]:
    """The curve, with the published exponent of the same data, decay and range of m."""
    comparable = curve["density"] == 1 and curve["importance"] == 1 and curve["activation"] == "relu"
    found = None
    if comparable and curve["m"] == _PUBLISHED_M.get(curve["n"]):
        found = toy_value("exponent", **_setting(curve))
    value, source = found or (None, "")
    return {**curve, "comparable": comparable, "published": value, "source": source}


def _setting(curve: Mapping[str, Any]) -> dict[str, Any]:
    return {name: curve[name] for name in ("n", "distribution", "alpha", "decay")}


def _headline(curve: Mapping[str, Any]) -> Headline:
    data = curve["distribution"] + ("" if curve["alpha"] is None else f", alpha {curve['alpha']:.3g}")
    published = "" if curve["published"] is None else shown(curve["published"], ".3g")
    return Headline(
        f"loss ~ m^-x at decay γ = {curve['decay']:+.3g} ({data}, density {curve['density']:.3g}, n = {curve['n']})",
        f"x = {curve['exponent']:.2f} ± {curve['stderr']:.2f}",
        published,
        f"{TOY_SOURCE}, {curve['source']}" if published else "",
    )


def _tables(run: Run, curves: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    if curves:
        yield Table.whole("Exponents of loss against m", curves, _EXPONENT_COLUMNS, f"{run.name}-exponents.csv")
    shares = [row for curve in curves if curve["comparable"] for row in _shares(curve)]
    if shares:
        yield Table.whole(
            "Features represented, beside the published share", shares, _SHARE_COLUMNS, f"{run.name}-phi.csv"
        )


def _shares(curve: Mapping[str, Any]) -> Iterator[dict[str, Cell]]:
    for m, share in zip(curve["m"], curve["mean_phi_half"], strict=True):
        found = toy_value("phi_half", m=m, **_setting(curve))
        if found is not None:
            yield {**_setting(curve), "m": m, "phi_half": share, "published": found[0]}


def _listed(values: Iterator[int]) -> str:
    return ", ".join(f"{value:,d}" for value in sorted(set(values)))
