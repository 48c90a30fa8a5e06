"""What `superjax train` shows and saves of an ensemble: table, summary, arrays, figures, and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from superjax.cli.command import Outcome
from superjax.cli.tables import Column
from superjax.core.grid import group_by
from superjax.runs import format_duration, product_rate
from superjax.toy import Curve, EnsembleResult, Geometry, Member, Sweep, Trained, Training, gather_curves, to_arrays
from superjax.toy.cost import step_flops
from superjax.toy.curves import settings_of
from superjax.toy.memory import member_bytes, members_at_a_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS = (
    Column("n", format="d"),
    Column("m", format="d"),
    Column("distribution", "law"),
    Column("alpha", format=".3g"),
    Column("density", format=".3g"),
    Column("decay", format=".3g"),
    Column("importance", format=".3g"),
    Column("lr", format=".3g"),
    Column("seed", format="d"),
)
"""Printed where they differ between members."""

FOUND = (
    Column("loss", format=".4g"),
    Column("phi_half", format=".3f"),
    Column("phi_one", format=".3f"),
    Column("mean_sq_overlap", "overlap", ".4g"),
)

SHOWN_GRAM = 64
"""Features up to which W W^T is drawn."""


def outcome(sweep: Sweep, result: EnsembleResult, geometries: Sequence[Geometry]) -> Outcome:
    """The outcome of a trained ensemble.

    Args:
        sweep: what was run.
        result: what came of it.
        geometries: of its members.
    """
    curves = gather_curves(result, geometries, sweep.window)
    rows = [
        member_row(member, result.training, one, geometry)
        for member, one, geometry in zip(result.members, result.trained, geometries, strict=True)
    ]
    failed = [f"member {place}: {state}" for place, state in enumerate(result.status) if state != "trained"]
    return Outcome(
        rows=rows,
        columns=_columns(rows),
        summary=_summary(sweep, result, curves),
        arrays=to_arrays(result),
        figures=_figures(result, geometries, curves),
        lines=[*_fit_lines(curves), *_untrained_lines(curves)],
        failures=failed,
    )


def _columns(rows: Sequence[dict[str, Any]]) -> tuple[Column, ...]:
    """The settings that differ, and m and decay always; what was found; the status where somebody failed."""
    varying = [c for c in SETTINGS if c.key in ("m", "decay") or len({row[c.key] for row in rows}) > 1]
    failed = [Column("status")] if any(row["status"] != "trained" for row in rows) else []
    return (*varying, *FOUND, *failed)


def member_row(member: Member, training: Training, trained: Trained, geometry: Geometry) -> dict[str, Any]:
    """A member's row of `table.csv`.

    Args:
        member: its settings.
        training: how it was trained.
        trained: what became of it.
        geometry: of its parameters.
    """
    settings = settings_of(member)
    return {
        "n": settings.pop("n"),
        "m": member.m,
        **settings,
        "seed": member.seed,
        "lr": member.learning_rate,
        "lr_bias": member.bias_rate,
        "steps": training.steps,
        "loss": _number(trained.loss),
        "loss_stderr": _number(trained.loss_stderr),
        "phi_half": geometry.phi_half,
        "phi_one": geometry.phi_one,
        "mean_sq_overlap": _number(geometry.overlaps.mean),
        "variance_ratio": _number(geometry.overlaps.variance_ratio),
        "welch": _number(geometry.overlaps.welch),
        "strong_mean_sq_overlap": _number(geometry.strong_overlaps.mean),
        "strong_variance_ratio": _number(geometry.strong_overlaps.variance_ratio),
        "strong_welch": _number(geometry.strong_overlaps.welch),
        "one_over_m": 1 / member.m,
        "ambiguity": geometry.ambiguity,
        "dimensions_per_feature": _number(geometry.dimensions_per_feature),
        "status": trained.status,
    }


def _summary(sweep: Sweep, result: EnsembleResult, curves: Sequence[Curve]) -> dict[str, Any]:
    return {
        "members": len(result.members),
        "failed": int((result.failed_at >= 0).sum()),
        "programs": result.programs,
        "steps": result.training.steps,
        "loss": "sum over features of squared error, mean over samples; fresh test data",
        "window": sweep.window,
        "exponents": [_exponent(curve) for curve in curves],
    }


def _exponent(curve: Curve) -> dict[str, Any]:
    fit = curve.fit
    return {
        **curve.settings,
        "m": curve.m,
        "exponent": None if fit is None else fit.exponent,
        "stderr": None if fit is None else fit.stderr,
        "r2": None if fit is None else fit.r2,
        "interval": None if fit is None else fit.interval,
        "points": 0 if fit is None else fit.points,
        "seeds": len(curve.loss),
        "mean_loss": _over_seeds(curve.loss),
        "mean_phi_half": _over_seeds(curve.phi_half),
        "trivial_loss": curve.trivial,
        "ideal_weak_loss": curve.ideal_weak,
        "ideal_weak_exponent": curve.ideal_weak_exponent,
        "strong_exponent": curve.strong_exponent,
    }


def _over_seeds(values: np.ndarray) -> np.ndarray:
    """Mean over seeds, NaN where one is missing."""
    return values.mean(axis=0)


def _fit_lines(curves: Sequence[Curve]) -> list[str]:
    """One sentence a curve that has an exponent."""
    lines = []
    for curve in curves:
        if curve.fit is None:
            continue
        fit, settings = curve.fit, curve.settings
        varying = f"alpha={settings['alpha']:.3g}, " if settings["alpha"] is not None else ""
        interval = f", seeds give {fit.interval[0]:.2f} to {fit.interval[1]:.2f}" if fit.seeds > 1 else ""
        lines.append(
            f"{settings['distribution']}, {varying}density={settings['density']:.3g}, decay={settings['decay']:+.3g}: "
            f"loss ~ m^{-fit.exponent:.2f} (+-{fit.stderr:.2f}, R2 {fit.r2:.2f}{interval})"
        )
    return lines


def _untrained_lines(curves: Sequence[Curve]) -> list[str]:
    """A sentence where members do worse than the model that represents nothing, whose exponents mean nothing."""
    above = sum(int((curve.loss > curve.trivial).sum()) for curve in curves)
    if not above:
        return []
    trivial = sorted({f"{curve.trivial:.3g}" for curve in curves}, key=float)
    least = trivial[0] if len(trivial) == 1 else f"{trivial[0]} to {trivial[-1]}, by the data"
    return [
        f"{above} of {sum(curve.loss.size for curve in curves)} members lose more than a model that represents "
        f"nothing ({least}): trained too little, or held there by growth, and their exponents say nothing; try more "
        "--steps or a larger --batch"
    ]


def _figures(
    result: EnsembleResult, geometries: Sequence[Geometry], curves: Sequence[Curve]
) -> dict[str, Callable[[], Figure]]:
    from superjax.figures import toy as draw
    from superjax.figures import toy_geometry as draw_geometry
    from superjax.figures import toy_theory as draw_theory

    figures: dict[str, Callable[[], Figure]] = {}
    several = {name: len({c.settings[name] for c in curves}) > 1 for name in ("alpha", "decay", "density")}
    if any(len(curve.m) > 1 for curve in curves):
        figures["loss"] = partial(draw.loss_against_m, curves)
    if several["alpha"] and any(curve.fit is not None and curve.settings["alpha"] is not None for curve in curves):
        figures["exponent_curves"] = partial(draw.exponent_curves, curves)
        if several["decay"]:
            figures["exponents"] = partial(draw.exponent_map, curves)
    if several["decay"]:
        figures["represented"] = partial(draw.represented_map, curves)
    figures["geometry"] = partial(draw_geometry.norms_and_overlaps, result, geometries)
    decays = {member.decay for member in result.members}
    if max(decays) > 0:
        figures["loss_against_theory"] = partial(draw_theory.loss_against_theory, result, geometries)
    if min(decays) < 0 and len({member.m for member in result.members}) > 1:
        figures["strongly_represented"] = partial(draw_theory.strongly_represented, result, geometries)
    if several["density"]:
        figures["loss_against_density"] = partial(draw.loss_against_density, curves)
        figures["dimensionality"] = partial(draw_geometry.dimensionalities, result, geometries)
    if any(member.n <= SHOWN_GRAM for member in result.members):
        figures["gram"] = partial(draw_geometry.gram_matrices, result)
    return figures


def forecast(sweep: Sweep, members: Sequence[Member], devices: Sequence[jax.Device], chunk: int | None) -> Outcome:
    """What a sweep would train, by size, and what that takes; the longest first, as it would be trained."""
    rate = product_rate(devices)
    rows = []
    for program, places in group_by(members, lambda member: member.program).items():
        fitting = min(len(places), chunk or members_at_a_time(program, list(devices)))
        flops = sum(step_flops(members[place]) for place in places) * sweep.steps
        rows.append(
            {
                "n": program.n,
                "m": program.m,
                "batch": program.batch,
                "data": "events" if program.sparse else "dense",
                "members": len(places),
                "at a time": fitting,
                "MiB": round(fitting * member_bytes(program) / 2**20, 1),
                "TFLOP": round(flops / 1e12, 3),
                "minutes": round(flops / rate / 60, 2),
            }
        )
    rows.sort(key=lambda row: -row["TFLOP"])
    total = sum(row["TFLOP"] for row in rows)
    columns = tuple(Column(key, format="" if key == "data" else ",.6g") for key in rows[0])
    lines = [
        f"{len(members)} members in {len(rows)} groups, each compiled once; {sweep.steps} steps, "
        f"{len(members) * sweep.steps:,d} model-steps, {total:,.4g} TFLOP in matrix products",
        f"about {format_duration(1e12 * total / rate)} at the {rate / 1e9:,.0f} GFLOP/s that plain products reach here "
        "now; drawing the data and the rest may double that. Nothing was trained.",
    ]
    return Outcome(rows=rows, columns=columns, lines=lines)


def _number(value: float) -> float | None:
    """None for NaN and infinities, which a table leaves empty."""
    return float(value) if np.isfinite(value) else None
