"""Figures of packings: progress, the Gram matrix before and after, small ones in space, coherence against k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from superjax.figures.style import FAINT, INK, PALETTE, house_style, new_figure, plain_log
from superjax.laws import best_construction, cosine_density, lower_bound, lower_bound_code, published_packings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_VALUE = {"coherence": "coherence", "spherical": "largest cosine", "riesz": "energy"}


@house_style()
def steps_figure(history: np.ndarray, row: Mapping[str, Any]) -> Figure:
    """The value at every step, the least so far, and what is proven.

    Args:
        history: [steps] value before every step.
        row: the packing's row of `table.csv`.

    Returns:
        The figure; both axes logarithmic where the values are positive.
    """
    figure = new_figure()
    axes = figure.subplots()
    steps = np.arange(1, len(history) + 1)
    axes.plot(steps, history, color=PALETTE[5], linewidth=0.8, label="at this step")
    axes.plot(steps, np.minimum.accumulate(history), color=PALETTE[0], label="least so far")
    _reference(axes, row["lower_bound"], f"proven bound ({row['bound_name']})", INK)
    _reference(axes, row["published"], "published", PALETTE[1])
    _reference(axes, row["construction"], "best construction", PALETTE[2])
    axes.set(xscale="log", xlabel="step", ylabel=_VALUE[row["objective"]])
    if np.min(history) > 0:
        plain_log(axes.yaxis)
    axes.set_title(_title(row))
    axes.legend()
    return figure


@house_style()
def gram_figure(counts: np.ndarray, start_counts: np.ndarray | None, row: Mapping[str, Any]) -> Figure:
    """How the cosines of all pairs are distributed, before and after, with the random law and the bound.

    Args:
        counts: [K] counts of the packing's cosines in equal bins over [-1, 1].
        start_counts: [K] of the start's, or None.
        row: the packing's row of `table.csv`.

    Returns:
        The figure, densities on a logarithmic axis.
    """
    edges = np.linspace(-1, 1, len(counts) + 1)
    middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    figure = new_figure()
    axes = figure.subplots()
    if start_counts is not None:
        axes.stairs(start_counts / start_counts.sum() / width, edges, color=FAINT, fill=True, alpha=0.6, label="start")
    axes.stairs(counts / counts.sum() / width, edges, color=PALETTE[0], linewidth=1.3, label="packed")
    if row["d"] > 1:
        law = np.asarray(cosine_density(middle, row["d"]))
        axes.plot(middle, law, color=PALETTE[1], linestyle="--", label="random law")
    bound = row["lower_bound"]
    if bound is not None:
        for place in (bound, -bound) if row["objective"] == "coherence" else (bound,):
            axes.axvline(place, color=INK, linewidth=0.8, linestyle=":")
        axes.plot([], [], color=INK, linewidth=0.8, linestyle=":", label="proven bound")
    shown = np.flatnonzero(counts if start_counts is None else counts + start_counts)
    reach = max(abs(edges[shown[0]]), abs(edges[shown[-1] + 1]))
    floor = 0.5 / max(counts.sum(), 1) / width
    ceiling = 10 * counts.max() / max(counts.sum(), 1) / width
    axes.set(xlim=(-1.05 * reach, 1.05 * reach), yscale="log", ylim=(floor, max(ceiling, 10 * floor)))
    axes.set(xlabel="cosine of a pair", ylabel="density")
    axes.set_title(_title(row))
    axes.legend()
    return figure


@house_style()
def picture_figure(points: np.ndarray, row: Mapping[str, Any]) -> Figure:
    """A packing in space: points or lines on the unit sphere, and the pairs that are nearest.

    Args:
        points: [k, 3] unit rows.
        row: the packing's row of `table.csv`.

    Returns:
        The figure.
    """
    figure = new_figure(4.6, 4.6)
    axes = figure.add_subplot(projection="3d")
    if row["objective"] == "coherence":
        points = np.concatenate([points, -points])
    angle = np.linspace(0, 2 * np.pi, 25)
    height = np.linspace(0, np.pi, 13)
    x, y, z = (
        np.outer(np.cos(angle), np.sin(height)),
        np.outer(np.sin(angle), np.sin(height)),
        np.outer(np.ones_like(angle), np.cos(height)),
    )
    axes.plot_surface(0.97 * x, 0.97 * y, 0.97 * z, color=FAINT, alpha=0.25, linewidth=0)
    gram = points @ points.T - 2 * np.eye(len(points))
    for i, j in np.argwhere(np.triu(gram > gram.max() - 1e-6, 1)):
        axes.plot(*points[[i, j]].T, color=PALETTE[1], linewidth=0.9)
    axes.scatter(*points.T, s=28, color=PALETTE[0], depthshade=True)
    axes.set_box_aspect((1, 1, 1), zoom=1.5)
    axes.set_axis_off()
    axes.set_title(_title(row), y=0.98)
    return figure


@house_style()
def coherence_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Value against k, one colour a dimension, with what is published, proven and built.

    Args:
        rows: of `table.csv`, of one objective.

    Returns:
        The figure, logarithmic axes where the values are positive.
    """
    import matplotlib

    figure = new_figure(7.2, 4.6)
    axes = figure.subplots()
    dimensions = sorted({row["d"] for row in rows})
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.85, len(dimensions)))
    lines = rows[0]["objective"] == "coherence"
    for colour, d in zip(colours, dimensions, strict=True):
        own = sorted((row for row in rows if row["d"] == d), key=lambda row: row["k"])
        ks = [row["k"] for row in own]
        axes.plot(ks, _positive([row["value"] for row in own]), "o-", markersize=4, color=colour, label=f"d = {d}")
        grid = np.unique(np.geomspace(max(min(ks), 2), max(max(ks), 2), 60).astype(int))
        bounds = [(lower_bound if lines else lower_bound_code)(int(k), d).value for k in grid]
        axes.plot(grid, _positive(bounds), ":", color=colour, linewidth=1)
        if lines:
            built = [best_construction(int(k), d).value if d > 1 else 1.0 for k in ks]
            axes.plot(ks, _positive(built), "_", color=colour, markersize=9)
            all_k, all_d, published = published_packings("optimised")
            same = (all_d == d) & (all_k >= min(ks)) & (all_k <= max(ks))
            axes.plot(all_k[same], _positive(published[same]), "x", color=colour, markersize=4)
    marks = {"packed": "ko-", "proven bound": "k:"}
    if lines:
        marks["best construction"] = "k_"
    if any(row.get("published") for row in rows):
        marks["published"] = "kx"
    for meaning, mark in marks.items():
        axes.plot([], [], mark, markersize=5, label=meaning)
    axes.set(xlabel="vectors k", ylabel=_VALUE[rows[0]["objective"]])
    plain_log(axes.xaxis, [row["k"] for row in rows])
    if lines:
        plain_log(axes.yaxis)
    axes.set_title(f"{_VALUE[rows[0]['objective']].capitalize()} against the number of vectors")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
    return figure


def _positive(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Zeros, which a logarithmic axis cannot show, as gaps."""
    array = np.asarray(values, float)
    return np.where(array > 0, array, np.nan)


def _reference(axes: Axes, value: float | None, label: str, colour: str) -> None:
    if value:
        axes.axhline(value, color=colour, linewidth=0.9, linestyle="--", label=f"{label}, {value:.4g}")


def _title(row: Mapping[str, Any]) -> str:
    return f"{row['k']} vectors in $R^{{{row['d']}}}$: {_VALUE[row['objective']]} {row['value']:.6g}"
