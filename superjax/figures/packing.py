"""Figures of one packing: progress, the Gram matrix before and after, small ones in space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from superjax.figures.style import FAINT, INK, PALETTE, house_style, new_figure, plain_log
from superjax.laws import cosine_density

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d import Axes3D

VALUE = {"coherence": "coherence", "spherical": "largest cosine", "riesz": "energy"}
_BOUND_NAMES = {
    "welch": "Welch", "bukh_cox": "Bukh-Cox", "levenshtein": "Levenshtein", "fejes_toth": "Fejes Tóth",
    "rankin": "Rankin", "cap": "caps", "exact_d2": "exact in the plane",
}  # fmt: skip
_GREY = (0.8, 0.8, 0.8)
ZERO = 1e-9
"""Coherences up to this are 0 but for rounding."""
THINGS = {"coherence": "lines", "spherical": "points", "riesz": "points"}


@house_style()
def steps_figure(history: np.ndarray, row: Mapping[str, Any]) -> Figure:
    """The value at every step, the least so far, and what is proven.

    Args:
        history: [steps] value before every step.
        row: the packing's row of `table.csv`.

    Returns:
        The figure; the steps on a linear axis, so that the sharper half of the schedule is half of the figure, the
        values on a logarithmic one where they are positive and differ by more than a factor of 3.
    """
    figure = new_figure()
    axes = figure.subplots()
    steps = np.arange(1, len(history) + 1)
    axes.plot(steps, history, color=PALETTE[5], linewidth=0.8, label="at this step")
    axes.plot(steps, np.minimum.accumulate(history), color=PALETTE[0], label="least so far")
    references = (
        (row["lower_bound"], f"proven bound ({bound_in_words(row['bound_name'] or '')})", INK),
        (row["published"], "published", PALETTE[1]),
        (row["construction"], "best construction", PALETTE[2]),
    )
    known = [reference for reference in references if reference[0] is not None]
    for value, label, colour in known:
        axes.axhline(value, color=colour, linewidth=0.9, linestyle="--", label=f"{label}, {value:.4g}")
    axes.set(xlabel="step", ylabel=VALUE[row["objective"]])
    least = min([np.min(history), *(value for value, *_ in known)])
    if 0 < 3 * least < np.max(history):
        plain_log(axes.yaxis)
    axes.set_title(_title(row))
    axes.legend(loc="upper right")
    return figure


@house_style()
def gram_figure(counts: np.ndarray, start_counts: np.ndarray | None, row: Mapping[str, Any]) -> Figure:
    """How the cosines of all pairs are distributed, before and after, with the random law and the bound.

    Args:
        counts: [K] counts of the packing's cosines in equal bins over [-1, 1].
        start_counts: [K] of the start's, or None.
        row: the packing's row of `table.csv`.

    Returns:
        The figure, densities on a logarithmic axis; all of [-1, 1] where every cosine is 0.
    """
    edges = np.linspace(-1, 1, len(counts) + 1)
    width = edges[1] - edges[0]
    figure = new_figure()
    axes = figure.subplots()
    if start_counts is not None:
        axes.stairs(start_counts / start_counts.sum() / width, edges, color=FAINT, fill=True, alpha=0.6, label="start")
    axes.stairs(counts / counts.sum() / width, edges, color=PALETTE[0], linewidth=1.3, label="packed")
    reach = _reach(counts if start_counts is None else counts + start_counts, edges)
    floor = 0.5 / max(counts.sum(), 1) / width
    ceiling = 10 * counts.max() / max(counts.sum(), 1) / width
    axes.set(xlim=(-1.05 * reach, 1.05 * reach), yscale="log", ylim=(floor, max(ceiling, 10 * floor)))
    _random_law(axes, row["d"], np.linspace(*axes.get_xlim(), 201))
    _cosine_bound(axes, row)
    axes.set(xlabel="cosine of a pair", ylabel="density")
    axes.set_title(_title(row))
    axes.legend()
    return figure


def _reach(counts: np.ndarray, edges: np.ndarray) -> float:
    """The largest |cosine| of the counts [K] in the bins between edges [K + 1]; 1 where all are 0 within a bin."""
    shown = np.flatnonzero(counts)
    reach = max(abs(edges[shown[0]]), abs(edges[shown[-1] + 1]))
    return float(reach) if reach > 1.5 * (edges[1] - edges[0]) else 1.0


def _random_law(axes: Axes, d: int, cosines: np.ndarray) -> None:
    """The density of random pairs at cosines [n], where it stands clear of the lower end of the axis."""
    if d == 1:
        return
    inside = cosines[np.abs(cosines) < 1]
    law = np.asarray(cosine_density(inside, d))
    if np.max(law) > 1.2 * axes.get_ylim()[0]:
        axes.plot(inside, law, color=PALETTE[1], linestyle="--", label="random law")


def _cosine_bound(axes: Axes, row: Mapping[str, Any]) -> None:
    """Where the largest cosine cannot be below; on both sides for lines, whose cosines have no sign."""
    bound, lines = row["lower_bound"], row["objective"] == "coherence"
    if bound is None:
        return
    label = f"bound on the largest {'|cosine|' if lines else 'cosine'}"
    for place in sorted({bound, -bound}) if lines else (bound,):
        axes.axvline(place, color=INK, linewidth=0.8, linestyle=":", label=label)
        label = "_other side"


@house_style()
def picture_figure(points: np.ndarray, row: Mapping[str, Any]) -> Figure:
    """A packing in space: points or lines on the unit sphere, and segments between the nearest, faint behind.

    Args:
        points: [k, 3] unit rows.
        row: the packing's row of `table.csv`.

    Returns:
        The figure; its legend says which pairs the segments join.
    """
    figure = new_figure(4.6, 4.9)
    axes = figure.add_subplot(projection="3d", proj_type="ortho", computed_zorder=False)
    lines = row["objective"] == "coherence"
    if lines:
        points = np.concatenate([points, -points])
    front = points @ _sight(axes) >= 0
    pairs, meaning = nearest_pairs(points, row["objective"])
    _draw_sphere(axes)
    for i, j in pairs:
        near = (points[i] + points[j]) @ _sight(axes) >= -1e-9
        style = {"alpha": 1.0, "zorder": 3} if near else {"alpha": 0.3, "zorder": 1}
        axes.plot(*points[[i, j]].T, color=PALETTE[1], linewidth=0.9 if near else 0.7, **style)
    size = min(28.0, 4000 / len(points))
    for side, alpha, zorder in ((front, 1.0, 4), (~front, 0.3, 1)):
        axes.scatter(
            *points[side].T, s=size, color=PALETTE[0], alpha=alpha, depthshade=False, zorder=zorder, linewidth=0
        )
    axes.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
    axes.set_box_aspect((1, 1, 1), zoom=1.5)
    axes.set_axis_off()
    figure.suptitle(_title(row, " (both ends drawn)" if lines else ""), x=0.02, ha="left", fontsize=10)
    if len(pairs):
        figure.legend(handles=[_segment(meaning)], loc="outside lower center")
    return figure


def nearest_pairs(points: np.ndarray, objective: str) -> tuple[np.ndarray, str]:
    """The pairs that a picture joins, and which they are, in words.

    Args:
        points: [n, 3] unit rows; of lines, both ends.
        objective: of the packing.

    Returns:
        ``(pairs, meaning)``: [m, 2] indices i < j. Pairs as near as the nearest to 1e-6 where they are many, at least
        one for two points, as in polished packings; else those within 1, 5 or 20 % of the nearest distance, whichever
        are many first, and none where none are: a single segment says nothing of the whole.

    Example:
        >>> pairs, meaning = nearest_pairs(np.concatenate([np.eye(3), -np.eye(3)]), "coherence")
        >>> len(pairs), meaning
        (12, 'nearest pairs')
    """
    gram = np.clip(points @ points.T, -1, 1)
    i, j = np.triu_indices(len(points), 1)
    distance = np.sqrt(2 - 2 * gram[i, j])
    apart = distance < 2 - 1e-9 if objective == "coherence" else np.full(len(i), True)
    if not np.any(apart):
        return np.zeros((0, 2), int), ""
    least = np.min(distance[apart])
    for slack in (1e-6, 0.01, 0.05, 0.2):
        near = apart & (distance <= least * (1 + slack))
        if 2 * near.sum() >= len(points):
            meaning = "nearest pairs" if slack == 1e-6 else f"pairs within {100 * slack:g} % of the nearest distance"
            return np.stack([i[near], j[near]], axis=1), meaning
    return np.zeros((0, 2), int), ""


def _sight(axes: Axes3D) -> np.ndarray:
    """[3] the unit vector from the origin to the eye."""
    up, round_ = np.deg2rad(axes.elev), np.deg2rad(axes.azim)
    return np.array([np.cos(up) * np.cos(round_), np.cos(up) * np.sin(round_), np.sin(up)])


def _draw_sphere(axes: Axes3D) -> None:
    """The unit sphere's outline as it is seen, a translucent disc between what is in front and what is behind."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    sight = _sight(axes)
    across = np.cross([0.0, 0.0, 1.0], sight)
    across /= np.linalg.norm(across)
    angle = np.linspace(0, 2 * np.pi, 181)[:, None]
    outline = np.cos(angle) * across + np.sin(angle) * np.cross(sight, across)
    axes.add_collection3d(
        Poly3DCollection([outline], facecolor=(*_GREY, 0.35), edgecolor=FAINT, linewidth=0.8, zorder=2)
    )


def _segment(label: str) -> Any:
    """A legend's handle of the segments between points."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=PALETTE[1], linewidth=0.9, label=label)


def bound_in_words(name: str) -> str:
    """A bound's name in `table.csv`, as a figure writes it.

    Example:
        >>> bound_in_words("levenshtein_3"), bound_in_words("bukh_cox"), bound_in_words("two_points")
        ('Levenshtein 3', 'Bukh-Cox', 'two points')
    """
    if name in _BOUND_NAMES:
        return _BOUND_NAMES[name]
    family, _, level = name.rpartition("_")
    return f"{_BOUND_NAMES[family]} {level}" if family in _BOUND_NAMES else name.replace("_", " ")


def _title(row: Mapping[str, Any], remark: str = "") -> str:
    things = THINGS[row["objective"]]
    value = 0.0 if abs(row["value"]) < ZERO else row["value"]
    counted = f"{row['k']} {things if row['k'] > 1 else things[:-1]}"
    return rf"{counted} in $\mathbf{{R}}^{{{row['d']}}}${remark}: {VALUE[row['objective']]} {value:.6g}"
