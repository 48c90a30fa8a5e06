"""Figures of the capacity bracket: how many directions fit against epsilon, and how close they come against k."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from superjax.figures.style import FAINT, INK, PALETTE, house_style, new_figure, plain_log
from superjax.laws import (
    best_construction,
    epsilon_for,
    largest_construction,
    largest_count,
    log10_capacity,
    lower_bound,
    max_coherence_mean,
    published_packings,
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

_MOST_K = 10**15


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
        axes.annotate(rf" $\epsilon$ = {mark:g}", (mark, 0.4), fontsize=8)
    axes.set(xlim=(0, epsilons[-1]), ylim=(0, 1.02 * most[-1]))
    axes.set(xlabel=r"accepted |cosine| $\epsilon$", ylabel=r"$\log_{10}$ directions")
    axes.set_title(f"How many directions fit in $R^{{{d}}}$")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def epsilon_curves(d: int, *, mark: int | None = None, points: int = 60) -> dict[str, np.ndarray]:
    """How close k directions come in R^d, over k.

    Args:
        d: dimension >= 2.
        mark: a number of directions of interest; the range reaches ten times as far, to 10^15 at most.
        points: how many k.

    Returns:
        ``[P]`` float64 each: `k` from d + 1 on, `built`, `impossible` (the proven bound, below which nothing can be),
        `random` (the mean of random directions), and what each law expects.

    Example:
        >>> curves = epsilon_curves(16, points=5)
        >>> bool(np.all(curves["impossible"] <= curves["built"])), int(curves["k"][0])
        (True, 17)
    """
    high = min(max(100 * d, 10 * (mark or 0)), _MOST_K)
    k = np.unique(np.round(np.geomspace(d + 1, high, points)))
    least = np.array([lower_bound(int(number), d).value for number in k])
    expected = {
        name: np.minimum(np.maximum(np.asarray(epsilon_for(k, float(d), name)), least), 1.0)
        for name, _ in _LAWS
        if name != "jl_random"
    }
    built = np.array([best_construction(int(number), d).value for number in k])
    return {"k": k, "built": built, "impossible": least, "random": np.asarray(max_coherence_mean(k, d)), **expected}


@house_style()
def epsilon_figure(d: int, curves: Mapping[str, np.ndarray], *, mark: int | None = None) -> Figure:
    """How close k directions come in R^d against k: built, expected, random, impossible, and the published points.

    Args:
        d: dimension.
        curves: of `epsilon_curves`.
        mark: a number of directions to mark.

    Returns:
        The figure, both axes logarithmic.
    """
    k = curves["k"]
    figure = new_figure(7.0, 4.6)
    axes = figure.subplots()
    low = 0.7 * curves["impossible"].min()
    axes.fill_between(k, low, curves["impossible"], color=FAINT, alpha=0.45, linewidth=0, label="impossible (proven)")
    axes.plot(k, curves["built"], drawstyle="steps-pre", color=PALETTE[2], label="built (explicit constructions)")
    for colour, (name, title) in zip((PALETTE[0], PALETTE[1], PALETTE[3]), _LAWS, strict=False):
        axes.plot(k, curves[name], color=colour, linestyle="--", label=title)
    axes.plot(k, curves["random"], color=INK, linestyle=":", label="random directions (mean)")
    all_k, all_d, published = published_packings("optimised")
    same = (all_d == d) & (all_k > d) & (all_k <= k[-1])
    if same.any():
        axes.plot(all_k[same], published[same], "x", color=INK, markersize=4, label="published optima")
    if mark is not None and k[0] <= mark <= k[-1]:
        axes.axvline(mark, color=INK, linewidth=0.8)
    axes.set(xscale="log", xlim=(k[0], k[-1]), xlabel="directions k", ylabel=r"largest |cosine| $\epsilon$")
    plain_log(axes.yaxis)
    axes.set_ylim(low, 1)
    axes.set_title(f"How close directions come in $R^{{{d}}}$")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
