"""What `superjax fit` found, as rows, lines, a summary and figures."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from superjax.cli.command import Outcome
from superjax.cli.prose import paragraphs
from superjax.cli.tables import Column
from superjax.core.errors import InputError
from superjax.laws import (
    LawFit,
    OffsetFit,
    PowerFit,
    Table,
    fit_law,
    fit_offset,
    fit_power,
    percentage_errors,
    shipped_fits,
    width_exponent,
)
from superjax.laws.fitting import PUBLISHED_LOW_K
from superjax.laws.quantile import QUANTILE_RATIO

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from superjax.cli.fit import FitConfig

DEFAULT_LAWS = ("jl", "ratio", "full", "quantile")
_READING = (
    "Intervals resample whole dimensions. Errors and AIC are over the n rows used: compare AIC at equal n. "
    f"quantile is fitted where k/d >= {QUANTILE_RATIO:g}. Rows named published hold the published constants, and their "
    "errors where k > d."
)
_TREATED = {"exclude": "k>d", "zero": "0 for k<=d", "formula": "all k"}
_NO_INTERVAL = "A law without a 95 % interval has too few dimensions to resample: the same rows would come every time."
_FIT_COLUMNS = (
    Column("shown", "law"),
    Column("n"),
    *(Column(name, format=".5g") for name in ("C", "a", "b", "c", "s")),
    Column("r2", "R2", ".5f"),
    Column("mape", "mean %", ".3f"),
    Column("median_ape", "median %", ".3f"),
    Column("leave_one_d_out", "left-out d %", ".3f"),
    Column("aic", "AIC", ".1f"),
)


def capacity_laws(table: Table, config: FitConfig) -> Outcome:
    """Every law on every kind of row, by the recommended and the published treatment of k <= d."""
    table.require("k", "d", "coherence")
    table, notes = _coherence_rows(table)
    if not table.cells:
        raise InputError(f"{table.path}: no row has the objective coherence; fit needs packings of least coherence")
    rows: list[dict[str, Any]] = []
    fits: list[tuple[str, LawFit]] = []
    refused: InputError | None = None
    for kind, part in _groups(table, ["kind"] if table.has("kind") else []):
        k, d, coherence = part.numbers("k", low=1), part.numbers("d", low=2), part.numbers("coherence", low=0, high=1)
        for law in config.laws or (("jl",) if kind == "random" else DEFAULT_LAWS):
            inside = k >= QUANTILE_RATIO * d if law == "quantile" else np.full(len(k), True)
            if law == "quantile" and not config.laws and np.sum(inside) < 2:
                notes.append(f"quantile: no rows have k/d >= {QUANTILE_RATIO:g}, where it holds; left out.")
                continue
            columns = k[inside], d[inside], coherence[inside]
            try:
                found = _treatments(*columns, law, config)
            except InputError as error:
                named = InputError(f"{table.path}: {_where(kind)}{str(error).removeprefix('table: ')}")
                if config.laws:
                    raise named from None
                notes.append(f"{law} is left out: {named}.")
                refused = refused or named
                continue
            fits += [(kind, fit) for fit in found]
            rows += [*(_fit_row(kind, fit) for fit in found), *_published_row(kind, *columns, law)]
        notes += _low_note(kind, k, d)
    if refused is not None and not fits:
        raise refused
    few = [_NO_INTERVAL] if any(not len(fit.bootstrap) for _, fit in fits) else []
    lines = [*(_constants_line(kind, fit) for kind, fit in fits), *notes, *few, _READING]
    summary = {"table": table.path, "fits": [_fit_summary(kind, fit) for kind, fit in fits]}
    return Outcome(rows, _FIT_COLUMNS, summary, _fit_arrays(fits), _fit_figures(fits, config), paragraphs(lines))


def power(table: Table, config: FitConfig) -> Outcome:
    """A power law on every group."""
    table.require(config.x, config.y, *config.by)
    rows, summary, lines = [], [], []
    figures: dict[str, Callable[[], Figure]] = {}
    arrays: dict[str, np.ndarray] = {}
    groups = _groups(table, config.by)
    by = ",".join(config.by)
    files = {
        group: name
        for (group, _), name in zip(groups, file_names(f"{by}_{g}" for g, _ in groups).values(), strict=True)
    }
    for group, part in groups:
        x, y = part.positive(config.x), part.positive(config.y)
        try:
            found = fit_power(x, y, window=config.window, draws=config.draws, seed=config.seed)
        except InputError as error:
            raise InputError(f"{table.path}: {_where(group)}{str(error).removeprefix('table: ')}") from None
        entry = _plain(found)
        if config.parameters:
            entry["width_exponent"], entry["width_exponent_stderr"] = width_exponent(
                found.exponent, found.exponent_stderr
            )
        rows.append({"group": group, **entry})
        summary.append({"group": group, **entry, "interval": list(found.interval), "window": list(found.window)})
        suffix = f"-{files[group]}" if group else ""
        figures[f"power{suffix}"] = partial(_power, found, x, y, (config.x, config.y), f"{by} {group}" if group else "")
        arrays |= {f"x{suffix}": x, f"y{suffix}": y}
    lines.append(f"{config.y} = scale {config.x}^exponent, least squares in logarithms; interval by resampled points.")
    if config.parameters:
        lines.append("width_exponent: parameters grow as width^2.52 +- .03 (Liu, Liu and Gore 2025).")
    columns = [
        Column("group"),
        Column("n"),
        Column("exponent", format=".4f"),
        Column("exponent_stderr", "std err", ".4f"),
        Column("interval_low", "95% low", ".4f"),
        Column("interval_high", "95% high", ".4f"),
        Column("scale", format=".4g"),
        Column("r2", "R2", ".4f"),
        *([Column("width_exponent", format=".3f"), Column("width_exponent_stderr", "std err", ".3f")]
          if config.parameters else []),
    ]  # fmt: skip
    if not config.by:
        columns = columns[1:]
    return Outcome(rows, columns, {"table": table.path, "fits": summary}, arrays, figures, paragraphs(lines))


def offset(table: Table, config: FitConfig) -> Outcome:
    """loss = A / m^alpha + B, a B per group."""
    table.require(config.x, config.y, *config.by)
    m, loss = table.positive(config.x), table.numbers(config.y)
    groups = ["/".join(cells) for cells in zip(*(table.text(column) for column in config.by), strict=True)]
    groups = groups or ["all"] * len(m)
    try:
        found = fit_offset(m, loss, groups, draws=config.draws, seed=config.seed)
    except InputError as error:
        raise InputError(f"{table.path}: {str(error).removeprefix('table: ')}") from None
    rows = [{"group": group, "offset": value} for group, value in found.offsets.items()]
    low, high = found.interval
    lines = [
        f"{config.y} = A / {config.x}^alpha + B",
        f"alpha = {found.alpha:.4f} +- {found.alpha_stderr:.4f} (95 % {low:.4f} to {high:.4f} by resampled residuals)",
        f"A = {found.scale:.5g} +- {found.scale_stderr:.3g}; R2 {found.r2:.5f}, mean squared error {found.mse:.4g}, "
        f"{found.n} rows",
    ]
    summary = {
        "table": table.path,
        **{name: getattr(found, name) for name in ("scale", "alpha", "scale_stderr", "alpha_stderr", "mse", "r2", "n")},
        "interval": list(found.interval),
        "offsets": {str(group): value for group, value in found.offsets.items()},
    }
    columns = (Column("group"), Column("offset", "B", ".4f"))
    arrays = {"m": m, "loss": loss, "group": np.array(groups)}
    figures = {"offset": partial(_offset, found, m, loss, groups)}
    return Outcome(rows, columns, summary, arrays, figures, paragraphs(lines))


def _coherence_rows(table: Table) -> tuple[Table, list[str]]:
    """The rows whose objective was coherence, where the table tells."""
    if not table.has("objective"):
        return table, []
    kept = [objective == "coherence" for objective in table.text("objective")]
    dropped = kept.count(False)
    return table.where(kept), [f"{dropped} rows of another objective than coherence are left out."] * (dropped > 0)


def _treatments(k: np.ndarray, d: np.ndarray, coherence: np.ndarray, law: str, config: FitConfig) -> list[LawFit]:
    """One fit by the chosen treatment of k <= d; without a choice the recommended one, then the published one."""
    chosen = [config.low_k] if config.low_k else ["exclude"]
    if config.low_k is None and np.any(k <= d) and PUBLISHED_LOW_K[law] != "exclude":
        chosen.append(PUBLISHED_LOW_K[law])
    return [fit_law(k, d, coherence, law, low_k=low_k, draws=config.draws, seed=config.seed) for low_k in chosen]


def _fit_row(kind: str, fit: LawFit) -> dict[str, Any]:
    entries = {**_named(kind, fit.law, fit.low_k), "n": fit.n, **fit.constants}
    for name, error in fit.stderr.items():
        entries |= {f"{name}_stderr": error}
        entries |= dict(zip((f"{name}_low", f"{name}_high"), fit.interval(name), strict=True))
    measures = {
        "r2": fit.r2,
        "mape": fit.mape,
        "median_ape": fit.median_ape,
        "leave_one_d_out": fit.leave_one_d_out,
        "aic": fit.aic,
    }
    return {name: _number(value) for name, value in (entries | measures).items()}


def _published_row(kind: str, k: np.ndarray, d: np.ndarray, coherence: np.ndarray, law: str) -> list[dict[str, Any]]:
    """The published constants on this table, rows with k > d; the quantile law's own factor is 1."""
    if law == "quantile":
        constants = {"s": 1.0}
    else:
        name = law if law != "jl" else "jl_random" if kind == "random" else "jl_optimised"
        constants = shipped_fits()[name]["constants"]
    if not np.any((k > d) & (coherence > 0)):
        return []
    mean, median = percentage_errors(k, d, coherence, law, tuple(constants.values()))
    source = "parameter-free" if law == "quantile" else "published"
    entries = {**_named(kind, law, source), "n": int(np.sum(k > d)), **constants}
    return [{**entries, "mape": mean, "median_ape": median}]


def _named(kind: str, law: str, treatment: str) -> dict[str, Any]:
    return {
        "shown": " ".join(filter(None, (law, kind, _TREATED.get(treatment, treatment)))),
        "kind": kind,
        "law": law,
        "low_k": treatment,
    }


def _fit_figures(fits: Sequence[tuple[str, LawFit]], config: FitConfig) -> dict[str, Callable[[], Figure]]:
    """Surfaces and residuals of each kind of rows, by the chosen or recommended treatment of k <= d."""
    figures: dict[str, Callable[[], Figure]] = {}
    files = file_names(kind for kind, _ in fits)
    for kind, file in files.items():
        chosen = [fit for found, fit in fits if found == kind and fit.low_k == (config.low_k or "exclude")]
        suffix = f"-{file}" if kind else ""
        figures |= {f"{name}{suffix}": partial(_draw, name, chosen) for name in ("surfaces", "curves", "residuals")}
    return figures


def _fit_arrays(fits: Sequence[tuple[str, LawFit]]) -> dict[str, np.ndarray]:
    """What the figures show: the rows each law was fitted to, and what it gives for them."""
    files = file_names(kind for kind, _ in fits)
    return {
        "_".join(part for part in (name, files[kind] if kind else "", fit.law, fit.low_k) if part): getattr(fit, name)
        for kind, fit in fits
        for name in ("k", "d", "coherence", "predicted")
    }


def _constants_line(kind: str, fit: LawFit) -> str:
    parts = []
    for name, value in fit.constants.items():
        low, high = fit.interval(name)
        interval = f" (95 % {low:.4g} to {high:.4g})" if low <= high else ""
        parts.append(f"{name} {value:.5g} +- {fit.stderr[name]:.2g}{interval}")
    return f"{fit.law}{', ' + kind if kind else ''}, k <= d {fit.low_k}: {'; '.join(parts)}"


def _low_note(kind: str, k: np.ndarray, d: np.ndarray) -> list[str]:
    low = [f"({a:.0f}, {b:.0f})" for a, b in zip(k, d, strict=True) if a <= b]
    if not low:
        return []
    shown = ", ".join(low[:12]) + (f" and {len(low) - 12} more" if len(low) > 12 else "")
    return [f"{kind or 'table'}: {len(low)} rows have k <= d, where an orthonormal set has coherence 0: {shown}."]


def _fit_summary(kind: str, fit: LawFit) -> dict[str, Any]:
    return {
        "kind": kind or None,
        "law": fit.law,
        "low_k": fit.low_k,
        "constants": fit.constants,
        "stderr": fit.stderr,
        "covariance": fit.covariance.tolist(),
        "intervals": {name: list(fit.interval(name)) for name in fit.constants},
        "n": fit.n,
        "r2": fit.r2,
        "mape": fit.mape,
        "median_ape": fit.median_ape,
        "leave_one_d_out": fit.leave_one_d_out,
        "aic": fit.aic,
        "low_rows": [list(row) for row in fit.low_rows],
    }


def file_names(labels: Iterable[str]) -> dict[str, str]:
    """A file name for each cell of a table: letters, digits, ``._+-``, at most 60, told apart by a number.

    Example:
        >>> file_names(["a b", "a/b", "../c"])
        {'a b': 'a-b', 'a/b': 'a-b-2', '../c': 'c'}
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for label in dict.fromkeys(labels):
        stem = re.sub(r"[^A-Za-z0-9._+-]+", "-", label)[:60].strip("-.") or "group"
        name, number = stem, 1
        while name.lower() in taken:  # some file systems do not tell cases apart
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.lower())
        names[label] = name
    return names


def _where(group: str) -> str:
    """The group as an error names it: on one line, not too long."""
    return f"{ascii(group)[:60]}: " if group else ""


def _groups(table: Table, by: Sequence[str]) -> list[tuple[str, Table]]:
    if not by:
        return [("", table)]
    labels = ["/".join(cells) for cells in zip(*(table.text(column) for column in by), strict=True)]
    return [(label, table.where([found == label for found in labels])) for label in dict.fromkeys(labels)]


def _plain(found: PowerFit) -> dict[str, Any]:
    entries = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    low, high = entries.pop("interval")
    window = entries.pop("window")
    kept = {name: value for name, value in entries.items() if name not in ("x", "y")}
    return {**kept, "interval_low": low, "interval_high": high, "window_low": window[0], "window_high": window[1]}


def _number(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _draw(name: str, fits: Sequence[LawFit]) -> Figure:
    from superjax.figures import laws as draw

    return {"surfaces": draw.surface_figure, "curves": draw.curves_figure, "residuals": draw.residual_figure}[name](
        fits
    )


def _power(fit: PowerFit, x: np.ndarray, y: np.ndarray, labels: tuple[str, str], group: str) -> Figure:
    from superjax.figures.laws import power_figure

    return power_figure(fit, x, y, labels, group)


def _offset(fit: OffsetFit, m: np.ndarray, loss: np.ndarray, groups: Sequence[str]) -> Figure:
    from superjax.figures.laws import offset_figure

    return offset_figure(fit, m, loss, groups)
