"""The figure of many packings: coherence, or the largest cosine, against k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from superjax.figures.packing import THINGS, VALUE, ZERO
from superjax.figures.style import INK, PALETTE, house_style, new_figure, plain_log
from superjax.laws import lower_bound, lower_bound_code, published_packings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

_MOST_COLOURS = 6
"""Dimensions that share a panel, told apart by colour; more of them get a panel each."""
_DENSE = 400
"""Numbers of vectors at which a bound is drawn; every one of a shorter range."""
_MARKS: dict[str, tuple[str, dict[str, Any]]] = {
    "packed": (PALETTE[0], {"marker": "o", "markersize": 4, "linestyle": "none"}),
    "proven bound": (INK, {"linestyle": ":", "linewidth": 1.2}),
    "best construction": (PALETTE[2], {"marker": "_", "markersize": 8, "linestyle": "none"}),
    "published": (PALETTE[1], {"marker": "x", "markersize": 4, "markeredgewidth": 0.9, "linestyle": "none"}),
}
"""What is drawn against k -> its colour where each dimension has a panel, and how."""


@house_style()
def coherence_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Value against k, one colour or panel a dimension, with what is published, proven and built.

    Args:
        rows: of `table.csv`, of one objective, "coherence" or "spherical".

    Returns:
        The figure: marks for what was packed, built and published, a dotted curve for the bound. Up to 6 dimensions
        share a panel. The values of lines are on a logarithmic axis, and those that are 0 left out of it, which the
        label of the other axis says.
    """
    log = rows[0]["objective"] == "coherence" and any(row["value"] > ZERO for row in rows)
    shown = [row for row in rows if row["value"] > ZERO] if log else list(rows)
    dimensions = sorted({row["d"] for row in shown})
    figure, body, foot, panels = _panels(len(dimensions))
    single = len(panels) == 1
    colours = dict(zip(dimensions, _colours(len(dimensions)), strict=True))
    for place, d in enumerate(dimensions):
        own = sorted((row for row in shown if row["d"] == d), key=lambda row: row["k"])
        axes = panels[0 if single else place]
        _draw_dimension(axes, _series(own, log=log), colours[d] if single else None)
        if not single:
            axes.set_title(f"$d = {d}$", fontsize=9)
    _scale(panels, [row["k"] for row in shown], log=log)
    _name_axes(body, panels, rows[0]["objective"], left_out=len(shown) < len(rows))
    _legend(foot, panels, colours)
    return figure


def _panels(dimensions: int) -> tuple[Figure, FigureBase, FigureBase, list[Axes]]:
    """A figure, where in it labels and legend go, and its panels: one, or, of many dimensions, one for each."""
    if dimensions <= _MOST_COLOURS:
        figure = new_figure(7.2, 4.6)
        return figure, figure, figure, [figure.subplots()]
    columns = 4 if dimensions <= 12 else 5
    height = 0.7 + 1.5 * -(-dimensions // columns)
    figure = new_figure(7.2, height + 0.3)
    parts: Any = figure.subfigures(2, 1, height_ratios=[height, 0.3])
    body, foot = parts
    grid = body.subplots(-(-dimensions // columns), columns, sharex=True, sharey=True).ravel()
    for axes in grid[dimensions:]:
        axes.remove()
    for axes in grid[dimensions - columns : dimensions]:
        axes.tick_params(labelbottom=True)
    return figure, body, foot, list(grid[:dimensions])


def _colours(dimensions: int) -> np.ndarray:
    """[dimensions, 4] a colour for each of the dimensions, dark to light."""
    import matplotlib

    return np.asarray(matplotlib.colormaps["viridis"](np.linspace(0, 0.85, dimensions)))


def _series(own: Sequence[Mapping[str, Any]], *, log: bool) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """What is drawn of one dimension: meaning -> (k [n], values [n]), without values the axis cannot show.

    Args:
        own: the rows of that dimension, k increasing.
        log: the values are on a logarithmic axis.
    """
    d, ks = own[0]["d"], np.array([row["k"] for row in own])
    built = np.array([np.nan if row.get("construction") is None else row["construction"] for row in own])
    series = {"packed": (ks, np.array([row["value"] for row in own])), "proven bound": _bound(own)}
    if own[0]["objective"] == "coherence":
        all_k, all_d, published = published_packings("optimised")
        same = (all_d == d) & (all_k >= ks[0]) & (all_k <= ks[-1])
        series |= {"best construction": (ks, built), "published": (all_k[same], published[same])}
    keep = {name: np.isfinite(values) & ((values > ZERO) | (not log)) for name, (_, values) in series.items()}
    return {name: (k[keep[name]], values[keep[name]]) for name, (k, values) in series.items() if np.any(keep[name])}


def _bound(own: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """The bound of one dimension, dense in k and at every row's own k: (k [n], values [n])."""
    ks = [max(row["k"], 2) for row in own]
    low, high = min(ks), max(ks)
    dense = np.arange(low, high + 1) if high - low < _DENSE else np.geomspace(low, high, _DENSE // 2).round()
    grid = np.unique(np.concatenate([dense, ks]).astype(int))
    bound = lower_bound if own[0]["objective"] == "coherence" else lower_bound_code
    return grid, np.array([bound(int(k), own[0]["d"]).value for k in grid])


def _draw_dimension(axes: Axes, series: Mapping[str, tuple[np.ndarray, np.ndarray]], colour: Any) -> None:
    """The series of one dimension, in its colour, or, where that is None, each small, in its meaning's."""
    for meaning, (ks, values) in series.items():
        own, style = _MARKS[meaning]
        if colour is None and "markersize" in style:
            style = {**style, "markersize": 0.65 * style["markersize"]}
        axes.plot(ks, values, color=own if colour is None else colour, label=meaning, **style)


def _scale(panels: Sequence[Axes], ks: Sequence[int], *, log: bool) -> None:
    """Logarithmic axes with few labels: the very k where they are short and have the room, else round numbers."""
    single = len(panels) == 1
    round_ks = _ticks(min(ks), max(ks), (1, 2, 5) if single else (1, 4, 16))
    plain_log(panels[0].xaxis, ks if single and max(ks) < 1000 else round_ks)
    if log and single:
        plain_log(panels[0].yaxis)
    elif log:
        values = np.concatenate([line.get_ydata() for axes in panels for line in axes.lines])
        plain_log(panels[0].yaxis, _ticks(float(values.min()), float(values.max()), (1, 2, 5)))


def _ticks(low: float, high: float, between: Sequence[int]) -> list[float]:
    """Powers of ten in [low, high] where there are three; else their multiples by `between`; else the ends.

    Example:
        >>> _ticks(2000, 32000, (1, 4, 16)), _ticks(3, 20000, (1, 4, 16))
        ([4000.0, 16000.0], [10.0, 100.0, 1000.0, 10000.0])
    """
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.log10(high) + 1)
    for ticks in (decades, np.outer(decades[: 1 if max(between) > 10 else None], between).ravel()):
        inside = [float(tick) for tick in ticks if low <= tick <= high]
        if len(inside) >= (3 if ticks is decades else 2):
            return inside
    return sorted({low, high})


def _name_axes(figure: FigureBase, panels: Sequence[Axes], objective: str, *, left_out: bool) -> None:
    """Title, labels and one legend of a figure of values against k."""
    things, value = THINGS[objective], VALUE[objective]
    label = f"number of {things} $k$" + (r" ($k \leq d$, coherence 0, not shown)" if left_out else "")
    title = f"{value.capitalize()} against the number of {things}"
    if len(panels) == 1:
        panels[0].set(xlabel=label, ylabel=value, title=title)
    else:
        figure.suptitle(title, x=0.02, ha="left", fontsize=10)
        figure.supxlabel(label, fontsize=9)
        figure.supylabel(value, fontsize=9)


def _legend(figure: FigureBase, panels: Sequence[Axes], colours: Mapping[int, Any]) -> None:
    """One legend of the marks in any panel, and of the colours {dimension: colour} where they tell dimensions."""
    from matplotlib.lines import Line2D

    drawn = {line.get_label() for axes in panels for line in axes.lines}
    single = len(panels) == 1
    handles = [Line2D([], [], marker="s", linestyle="", color=c, label=f"$d = {d}$") for d, c in colours.items()]
    marks = [
        Line2D([], [], color=INK if single else colour, label=meaning, **style)
        for meaning, (colour, style) in _MARKS.items()
        if meaning in drawn
    ]
    where = {"loc": "outside right center"} if single else {"loc": "center", "ncols": len(marks)}
    figure.legend(handles=(handles if single else []) + marks, **where)
