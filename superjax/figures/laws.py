"""Figures of fits: capacity laws as surfaces, curves and residuals, power laws, and losses with offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from superjax.figures.style import INK, PALETTE, house_style, new_figure, plain_log, plain_text
from superjax.laws import (
    LawFit,
    OffsetFit,
    PowerFit,
)
from superjax.laws.quantile import QUANTILE_RATIO

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_FEW_TICKS = 12
_REACH = {"quantile": f" (k/d ≥ {QUANTILE_RATIO:g})"}
"""The rows a law holds for, where that is not all: other dimensions are absent from its panel."""


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
        axes.set_box_aspect(None, zoom=0.75)  # room for the vertical label
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
            if rows.any():
                margin = 1.0 if rows.sum() > 1 else 1.3  # a curve through a single point too
                k = np.geomspace(fit.k[rows].min() / margin, fit.k[rows].max() * margin, 60)
                curve = fit.predict(k, np.full_like(k, d))
                axes.plot(k, np.where(curve > 0, curve, np.nan), color=colour, linewidth=0.9)
        axes.set_xlabel("vectors k")
        axes.set_title(f"{fit.law}{_REACH.get(fit.law, '')}: R² {fit.r2:.5f}")
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
        axes.set(xlabel="k / d", ylabel="measured - fitted, %")  # each panel has a scale of its own
        plain_log(axes.xaxis)
        axes.set_title(f"{fit.law}: mean {fit.mape:.2f} %, median {fit.median_ape:.2f} %", fontsize=8.5)
    figure.legend(*panels[0].get_legend_handles_labels(), title="d", loc="outside right center")
    return figure


@house_style()
def power_figure(fit: PowerFit, x: np.ndarray, y: np.ndarray, labels: tuple[str, str], group: str = "") -> Figure:
    """A power law through its points; those outside the window are hollow.

    Args:
        fit: the fit.
        x: ``[n]``, all points.
        y: ``[n]``.
        labels: names of x and y.
        group: which rows of the table, as the title says; empty for all.

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
    axes.plot(shown(x[inside]), shown(y[inside]), "o", color=PALETTE[0], label="fitted")
    if not inside.all():
        axes.plot(
            shown(x[~inside]), shown(y[~inside]), "o", color=PALETTE[0], fillstyle="none", label="outside the window"
        )
    axes.plot(shown(ends), shown(fit.predict(ends)), color=PALETTE[1], label=f"exponent {fit.exponent:.3f}")
    axes.legend()
    axes.set(xlabel=names[0], ylabel=names[1])
    if shown is not np.log10:
        plain_log(axes.xaxis, x if len(np.unique(x)) <= _FEW_TICKS else None)
        plain_log(axes.yaxis)
    named = f"{plain_text(group)}\n" if group else ""
    axes.set_title(f"{named}exponent {fit.exponent:.3f} ± {fit.exponent_stderr:.3f} (95 % {low:.3f} to {high:.3f})")
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
