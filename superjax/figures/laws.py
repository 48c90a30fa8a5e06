"""Figures of the capacity laws: the bracket over epsilon, fitted surfaces, residuals, and power laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from superjax.figures.style import FAINT, INK, PALETTE, house_style, new_figure, plain_log, plain_text
from superjax.laws import (
    LawFit,
    OffsetFit,
    PowerFit,
    largest_construction,
    largest_count,
    log10_capacity,
)
from superjax.laws.constructions import constructions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LAWS = (
    ("full", "full form"),
    ("ratio", "ratio form"),
    ("quantile", "quantile law"),
    ("jl_random", "random draws (JL)"),
)


def bracket_curves(
    d: int, *, mark: float | None = None, high: float = 0.11, points: int = 160
) -> dict[str, np.ndarray]:
    """log10 of how many directions fit in R^d, over epsilon.

    Args:
        d: dimension >= 2.
        mark: an epsilon of interest; the range reaches at least a little beyond it.
        high: largest epsilon.
        points: how many epsilons, beside those at which a construction begins.

    Returns:
        ``[P]`` float64 each: `epsilon`, `built`, `impossible` (the least number that is proven impossible), and what
        each law expects, never below d nor above what is possible.

    Example:
        >>> curves = bracket_curves(16, points=5)
        >>> sorted(curves)[:3], bool(np.all(curves["built"] <= curves["impossible"]))
        (['built', 'epsilon', 'full'], True)
    """
    high = min(max(high, 1.1 * (mark or 0.0)), 0.98)
    begins = [found.coherence for found in constructions(d) if 0 < found.coherence < high]
    epsilons = np.union1d(np.linspace(1 / (2 * d), high, points), begins)
    most = np.array([largest_count(d, epsilon).log10_k for epsilon in epsilons])
    expected = {
        name: np.minimum(np.maximum(log10_capacity(d, epsilons, name), math.log10(d)), most) for name, _ in _LAWS
    }
    built = np.array([math.log10(largest_construction(d, epsilon).k) for epsilon in epsilons])
    return {"epsilon": epsilons, "built": built, "impossible": most, **expected}


@house_style()
def bracket_figure(d: int, curves: Mapping[str, np.ndarray], *, mark: float | None = None) -> Figure:
    """How many directions fit in R^d against epsilon: what is built, what each law expects, what is impossible.

    Args:
        d: dimension.
        curves: of `bracket_curves`.
        mark: an epsilon to mark.

    Returns:
        The figure, log10 k against epsilon.
    """
    epsilons, built, most = (curves[name] for name in ("epsilon", "built", "impossible"))
    figure = new_figure(7.0, 4.6)
    axes = figure.subplots()
    axes.fill_between(epsilons, most, 2 * most[-1], color=FAINT, alpha=0.45, linewidth=0, label="impossible (proven)")
    axes.fill_between(epsilons, 0, built, step="post", color=PALETTE[2], alpha=0.2, linewidth=0)
    axes.plot(epsilons, built, drawstyle="steps-post", color=PALETTE[2], label="built (explicit constructions)")
    for colour, (name, title) in zip((PALETTE[0], PALETTE[1], PALETTE[3], INK), _LAWS, strict=True):
        axes.plot(epsilons, curves[name], color=colour, linestyle=":" if colour == INK else "--", label=title)
    if mark is not None:
        axes.axvline(mark, color=INK, linewidth=0.8)
        axes.annotate(f" {mark:g}", (mark, 0.4), fontsize=8)
    axes.set(xlim=(0, epsilons[-1]), ylim=(0, 1.02 * most[-1]))
    axes.set(xlabel=r"accepted |cosine| $\epsilon$", ylabel=r"$\log_{10}$ directions")
    axes.set_title(f"How many directions fit in $R^{{{d}}}$")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@house_style()
def surface_figure(fits: Sequence[LawFit]) -> Figure:
    """The fitted laws as surfaces over (k, d), with the table's points on them.

    Args:
        fits: one panel each.

    Returns:
        The figure; k and d on logarithmic axes.
    """
    figure = new_figure(3.6 * len(fits), 3.6)
    for place, fit in enumerate(fits, 1):
        axes = figure.add_subplot(1, len(fits), place, projection="3d")
        log_k, log_d = np.log10(fit.k), np.log10(fit.d)
        spans = (np.linspace(values.min(), values.max(), 30) for values in (log_k, log_d))
        grid_k, grid_d = np.meshgrid(*spans)
        surface = fit.predict(10**grid_k, 10**grid_d)
        axes.plot_surface(grid_k, grid_d, surface, color=PALETTE[5], alpha=0.45, linewidth=0)
        axes.scatter(log_k, log_d, fit.coherence, s=6, color=PALETTE[1], depthshade=False)
        axes.set(xlabel=r"$\log_{10} k$", ylabel=r"$\log_{10} d$", zlabel="coherence")
        axes.set_title(f"{fit.law}: R² {fit.r2:.5f}, median {fit.median_ape:.2f} %", y=0.96)
        axes.view_init(elev=22, azim=40)
        axes.locator_params(nbins=4)
    return figure


@house_style()
def curves_figure(fits: Sequence[LawFit]) -> Figure:
    """The fitted laws as curves of coherence against k, one colour a dimension, with the table's points on them.

    Args:
        fits: one panel each; rows of coherence 0 are left out, and a curve where its law gives 0.

    Returns:
        The figure, both axes logarithmic.
    """
    import matplotlib

    figure = new_figure(3.2 * len(fits) + 0.8, 3.4)
    panels = figure.subplots(1, len(fits), squeeze=False, sharex=True, sharey=True)[0]
    dimensions = np.unique(np.concatenate([fit.d for fit in fits]))
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(dimensions)))
    for axes, fit in zip(panels, fits, strict=True):
        for colour, d in zip(colours, dimensions, strict=True):
            rows = (fit.d == d) & (fit.coherence > 0)
            axes.plot(fit.k[rows], fit.coherence[rows], "o", markersize=3, color=colour, label=f"{d:g}")
            if rows.sum() > 1:
                k = np.geomspace(fit.k[rows].min(), fit.k[rows].max(), 60)
                curve = fit.predict(k, np.full_like(k, d))
                axes.plot(k, np.where(curve > 0, curve, np.nan), color=colour, linewidth=0.9)
        axes.set_xlabel("vectors k")
        axes.set_title(f"{fit.law}: R² {fit.r2:.5f}")
        for axis in (axes.xaxis, axes.yaxis):
            plain_log(axis)
    panels[0].set_ylabel("coherence, largest |cosine|")
    figure.legend(*panels[0].get_legend_handles_labels(), title="d", loc="outside right center")
    return figure


@house_style()
def residual_figure(fits: Sequence[LawFit]) -> Figure:
    """Relative residuals of fitted laws against k/d, one colour a dimension.

    Args:
        fits: one panel each.

    Returns:
        The figure, residuals in percent of the measured coherence; rows of coherence 0 are left out.
    """
    import matplotlib

    figure = new_figure(3.2 * len(fits) + 0.8, 3.2)
    panels = figure.subplots(1, len(fits), squeeze=False, sharex=True)[0]
    dimensions = np.unique(np.concatenate([fit.d for fit in fits]))
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.95, len(dimensions)))
    for axes, fit in zip(panels, fits, strict=True):
        for colour, d in zip(colours, dimensions, strict=True):
            rows = (fit.d == d) & (fit.coherence > 0)
            percent = 100 * (fit.coherence[rows] - fit.predicted[rows]) / fit.coherence[rows]
            axes.plot(fit.k[rows] / d, percent, ".", markersize=4, color=colour, label=f"{d:g}")
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xlabel("k / d")
        plain_log(axes.xaxis)
        axes.set_title(f"{fit.law}: mean {fit.mape:.2f} %, median {fit.median_ape:.2f} %", fontsize=8.5)
    panels[0].set_ylabel("measured - fitted, %")
    figure.legend(*panels[0].get_legend_handles_labels(), title="d", loc="outside right center")
    return figure


@house_style()
def power_figure(fit: PowerFit, x: np.ndarray, y: np.ndarray, labels: tuple[str, str]) -> Figure:
    """A power law through its points; those outside the window are hollow.

    Args:
        fit: the fit.
        x: ``[n]``, all points.
        y: ``[n]``.
        labels: names of x and y.

    Returns:
        The figure, both axes logarithmic.
    """
    figure = new_figure(4.6, 3.4)
    axes = figure.subplots()
    inside = (x >= fit.window[0]) & (x <= fit.window[1])
    ends = np.array(fit.window)
    low, high = fit.interval
    shown: Callable[[np.ndarray], np.ndarray] = np.asarray
    names = [plain_text(label) for label in labels]
    if _spans_too_much(x) or _spans_too_much(y):
        shown, names = np.log10, [rf"$\log_{{10}}$ {name}" for name in names]
    axes.plot(shown(x[inside]), shown(y[inside]), "o", color=PALETTE[0])
    axes.plot(shown(x[~inside]), shown(y[~inside]), "o", color=PALETTE[0], fillstyle="none")
    axes.plot(shown(ends), shown(fit.predict(ends)), color=PALETTE[1])
    axes.set(xlabel=names[0], ylabel=names[1])
    if shown is not np.log10:
        plain_log(axes.xaxis)
        plain_log(axes.yaxis)
    axes.set_title(f"exponent {fit.exponent:.3f} ± {fit.exponent_stderr:.3f} (95 % {low:.3f} to {high:.3f})")
    return figure


def _spans_too_much(values: np.ndarray) -> bool:
    """Whether matplotlib's logarithmic axis would overflow as it looks for ticks beyond the data."""
    return bool(np.min(values) < 1e-100 or np.max(values) > 1e100)


@house_style()
def offset_figure(fit: OffsetFit, m: np.ndarray, loss: np.ndarray, groups: Sequence[str]) -> Figure:
    """Losses less the offset of their group, against width, on the one power law all share.

    Args:
        fit: the fit.
        m: ``[n]`` widths.
        loss: ``[n]``.
        groups: ``[n]`` labels.

    Returns:
        The figure, both axes logarithmic; losses at or under their offset cannot be drawn.
    """
    figure = new_figure(5.4, 3.8)
    axes = figure.subplots()
    for place, (group, offset) in enumerate(fit.offsets.items()):
        rows = np.array([label == group for label in groups])
        above = loss[rows] - offset
        drawn = above > 0
        axes.plot(m[rows][drawn], above[drawn], ".", color=PALETTE[place % len(PALETTE)], label=str(group))
    widths = np.geomspace(m.min(), m.max(), 50)
    axes.plot(widths, fit.scale / widths**fit.alpha, color=INK)
    axes.set(xlabel="width m", ylabel="loss - offset")
    plain_log(axes.xaxis)
    plain_log(axes.yaxis)
    axes.set_title(f"loss = {fit.scale:.4g} / m^{fit.alpha:.4f} + B; exponent ± {fit.alpha_stderr:.4f}")
    axes.legend(fontsize=6, ncols=2)
    return figure
