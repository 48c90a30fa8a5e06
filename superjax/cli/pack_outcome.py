"""What `superjax pack` shows and saves: table, summary, arrays, figures, and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from superjax.cli.command import Outcome
from superjax.cli.pack_cells import Cell, cell_memory, cell_work, published_value
from superjax.cli.tables import Column
from superjax.core.errors import EnvironmentFailure
from superjax.packing import coherence, largest_cosine, load_vectors, proven_bound
from superjax.runs import format_duration, product_rate

if TYPE_CHECKING:
    import jax
    from matplotlib.figure import Figure

    from superjax.cli.pack import PackConfig

COLUMNS = (
    Column("k", format="d"),
    Column("d", format="d"),
    Column("value", format=".6f"),
    Column("lower_bound", "bound", ".6f"),
    Column("bound_name", "by"),
    Column("random_mean", "random", ".4f"),
    Column("published", format=".4f"),
    Column("construction", "built", ".4f"),
    Column("construction_name", "construction"),
    Column("steps", format="d"),
    Column("seconds", format=".1f"),
)

_FIGURES_OF_CELLS = 6
"""Cells with figures of their own: the largest."""


def outcome(config: PackConfig, cells: Sequence[Cell], failures: Sequence[str] = ()) -> Outcome:
    """The outcome of packed cells.

    Args:
        config: what was asked.
        cells: what came of it.
        failures: the cells that could not be packed, one line each.

    Raises:
        EnvironmentFailure: none could.
    """
    if not cells:
        raise EnvironmentFailure("; ".join(failures))
    rows = [cell.row for cell in cells]
    return Outcome(
        rows=rows,
        columns=_columns(config.objective),
        summary={"objective": config.objective, "riesz_s": config.riesz_s, "cells": rows},
        arrays={f"{name}_{cell.name}": array for cell in cells for name, array in cell.arrays.items()},
        figures=_figures(config, cells),
        lines=[*_sentences(rows), *_undrawn(len(cells))],
        failures=failures,
    )


def _columns(objective: str) -> tuple[Column, ...]:
    """The printed columns; energies may be of any size."""
    return tuple(
        replace(column, format=".12g") if column.key == "value" and objective == "riesz" else column
        for column in COLUMNS
    )


def _sentences(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    met = [row for row in rows if row["lower_bound"] is not None and row["value"] <= row["lower_bound"] + 1e-9]
    if met:
        lines.append(f"{len(met)} of {len(rows)} reach a proven bound: no packing of that size is better.")
    compared = [row for row in rows if row["published"]]
    if compared:
        below = [1 - row["value"] / row["published"] for row in compared]
        better, typical = sum(change > 0 for change in below), 100 * np.median(below)
        lines.append(f"{better} of {len(compared)} are below the published optimum; median change {-typical:+.1f} %.")
    built = [row for row in rows if row["construction"] is not None and row["construction"] < row["value"] - 1e-9]
    if built:
        lines.append(f"For {len(built)} of {len(rows)} an explicit construction is lower still: --init=construction.")
    return lines


def _undrawn(cells: int) -> list[str]:
    """That only the largest of so many cells have figures of their own, where some have none."""
    if cells <= _FIGURES_OF_CELLS:
        return []
    return [f"figures of the {_FIGURES_OF_CELLS} largest of {cells} cells; of another: --k=K --d=D --out=FOLDER"]


def _figures(config: PackConfig, cells: Sequence[Cell]) -> dict[str, Callable[[], Figure]]:
    from superjax.figures import packing as draw
    from superjax.figures.packing_grid import coherence_figure

    figures: dict[str, Callable[[], Figure]] = {}
    for cell in sorted(cells, key=lambda cell: cell.row["k"] * cell.row["d"])[-_FIGURES_OF_CELLS:]:
        row, arrays = cell.row, cell.arrays
        if len(arrays["history"]) > 1:
            figures[f"steps_{cell.name}"] = partial(draw.steps_figure, arrays["history"], row)
        if row["k"] > 1 and "counts" in arrays:
            figures[f"gram_{cell.name}"] = partial(draw.gram_figure, arrays["counts"], arrays.get("start_counts"), row)
        if "points" in arrays:
            figures[f"picture_{cell.name}"] = partial(draw.picture_figure, arrays["points"], row)
    if len(cells) > 1 and config.objective != "riesz":
        figures["coherence"] = partial(coherence_figure, [cell.row for cell in cells])
    return figures


def verification(path: str) -> Outcome:
    """The float64 coherence of a file's rows, beside what is proven and published for their number."""
    rows = load_vectors(path)
    k, d = rows.shape
    bound = proven_bound("coherence", k, d)
    with np.errstate(over="ignore"):  # rows may be longer than a number can say; their directions are not
        norms = np.linalg.norm(rows.astype(np.float64), axis=1)
    found = {
        "file": path,
        "k": k,
        "d": d,
        "dtype": str(rows.dtype),
        "coherence": coherence(rows),
        "largest_cosine": largest_cosine(rows),
        "lower_bound": None if bound is None else bound.value,
        "bound_name": None if bound is None else bound.name,
        "published": published_value(k, d),
        "norm_min": float(norms.min()),
        "norm_max": float(norms.max()),
    }
    columns = (
        Column("file"), Column("k", format="d"), Column("d", format="d"), Column("coherence", format=".15f"),
        Column("lower_bound", "bound", ".15f"), Column("bound_name", "by"),
    )  # fmt: skip
    return Outcome([found], columns, found, lines=["recomputed over all pairs in float64"])


def forecast(config: PackConfig, devices: Sequence[jax.Device]) -> Outcome:
    """What the cells would take: compiling, work, memory and time, without packing anything; the longest first."""
    rate = product_rate(devices)
    rows = sorted((_forecast_row(config, k, d, rate) for k, d in config.cells), key=lambda row: -row["gflop"])
    columns = (
        Column("k", format="d"), Column("d", format="d"), Column("steps", format=",d"),
        Column("gflop", "GFLOP", ",.0f"), Column("memory_mib", "MiB", ",.0f"), Column("minutes", format=",.1f"),
    )  # fmt: skip
    total, compiled = sum(row["gflop"] for row in rows), sum(row["steps"] > 0 for row in rows)
    lines = [
        f"{len(rows)} cells, {compiled} of them compiled, the others exact; {total:,.0f} GFLOP",
        f"about {format_duration(1e9 * total / rate)} at the {rate / 1e9:,.0f} GFLOP/s that plain products reach here "
        "now; the rest of a step, and polishing, may double that. Nothing was packed.",
    ]
    return Outcome(rows, columns, lines=lines)


def _forecast_row(config: PackConfig, k: int, d: int, rate: float) -> dict[str, Any]:
    work = cell_work(config, k, d)
    return {
        "objective": config.objective,
        "k": k,
        "d": d,
        "steps": work.steps,
        "gflop": 1e-9 * work.flops,
        "memory_mib": cell_memory(k, d, 1, orbits=config.orbits) / 2**20,
        "minutes": work.flops / rate / 60,
    }
