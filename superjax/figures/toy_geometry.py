"""Figures of toy ensembles' geometry: norms and overlaps, feature dimensionalities, and W W^T."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from superjax.figures.style import FAINT, INK, PALETTE, evenly, house_style, new_figure, plain_log
from superjax.toy import EnsembleResult, Geometry, random_overlap_moments, welch_overlap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_GRAMS, MOST_DECAYS = 6, 4

FEWEST_ROWS = 5
"""Rows with norm > 1 from which their overlaps are drawn: of two or three orthogonal ones there is nothing to say."""

_FRACTIONS = {1.0: "1", 3 / 4: "3/4", 2 / 3: "2/3", 1 / 2: "1/2", 2 / 5: "2/5", 3 / 8: "3/8"}
"""Dimensionalities of simple polytopes: alone, tetrahedron, triangle, antipodal pair, pentagon, square antiprism."""


@house_style()
def norms_and_overlaps(result: EnsembleResult, geometries: Sequence[Geometry]) -> Figure:
    """Row norms and cosines in each regime, and the mean and variance of squared cosines against m.

    Args:
        result: the ensemble.
        geometries: of its members.
    """
    figure = new_figure(9.0, 6.6)
    (norms, cosines), (means, variances) = figure.subplots(2, 2)
    decays = sorted({member.decay for member in result.members})
    bins = int(np.clip(np.sqrt(sum(len(one.norms) for one in geometries)), 20, 80))
    for colour, decay in zip(PALETTE, [decays[i] for i in evenly(len(decays), MOST_DECAYS)], strict=False):
        chosen = [place for place, member in enumerate(result.members) if member.decay == decay]
        found = [geometries[place] for place in chosen]
        lengths = np.minimum(np.concatenate([one.norms for one in found]), 2)
        norms.hist(lengths, np.linspace(0, 2, bins + 1), histtype="step", density=True, color=colour)
        norms.plot([], [], color=colour, label=f"γ {decay:+.2g}")
        _cosine_density(cosines, np.sum([one.strong_overlaps.counts for one in found], axis=0), colour)
        many = [place for place in chosen if geometries[place].strong_overlaps.rows >= FEWEST_ROWS]
        overlaps = [geometries[place].strong_overlaps for place in many]
        sizes = np.array([result.members[place].m for place in many])
        _against_m(means, sizes, np.array([one.mean for one in overlaps]), colour)
        _against_m(variances, sizes, np.array([one.variance for one in overlaps]), colour)
    _overlap_guides(means, variances, [member.m for member in result.members], max(m.n for m in result.members))
    norms.set(xlabel="norm of a row of W", ylabel="density of features")
    cosines.set(xlabel="cosine of two rows with norm > 1", ylabel="density of pairs")
    plain_log(norms.yaxis)
    plain_log(cosines.yaxis)
    norms.set_xlim(0, 1.05 * min(2.0, max(float(np.max(one.norms)) for one in geometries)) or None)
    norms.legend()
    return figure


def _cosine_density(axes: Axes, counts: np.ndarray, colour: str) -> None:
    """Counts in equal bins over [-1, 1] as a density, in fewer bins where there are few pairs."""
    if not counts.sum():
        return
    joined = counts.reshape(-1, 4).sum(axis=1) if counts.sum() < 20_000 and len(counts) % 4 == 0 else counts
    edges = np.linspace(-1, 1, len(joined) + 1)
    axes.stairs(joined / (joined.sum() * np.diff(edges)), edges, color=colour)


def _against_m(axes: Axes, sizes: np.ndarray, values: np.ndarray, colour: str) -> None:
    """Every member as a faint point, and the geometric mean of each size; zeros have no place on a logarithmic axis."""
    there = np.isfinite(values) & (values > 0)
    axes.plot(sizes[there], values[there], ".", color=colour, alpha=0.3, markersize=4)
    shown = np.unique(sizes[there])
    means = [np.exp(np.log(values[there & (sizes == m)]).mean()) for m in shown]
    axes.plot(shown, means, "o-", color=colour, markersize=4, linewidth=1)


def _overlap_guides(means: Axes, variances: Axes, sizes: Sequence[int], n: int) -> None:
    """Mean and variance of the squared cosine of random directions, and the mean of tight frames of min(n, m^2 / 2)."""
    m = np.geomspace(max(1.5, 0.85 * min(sizes)), 1.15 * max(sizes), 60)
    mean, variance = np.array([random_overlap_moments(size) for size in m]).T
    means.plot(m, mean, color=INK, linewidth=1, label="random, 1/m")
    whole = np.array([size for size in sorted(set(sizes)) if min(n, size**2 / 2) > size])
    kappa = [welch_overlap(int(min(n, size**2 / 2)), int(size)) for size in whole]
    means.plot(whole, kappa, "_:", color=INK, linewidth=1, label="guide: Welch κ² of min(n, m²/2) rows")
    variances.plot(m, variance, color=INK, linewidth=1, label="random, 2(m - 1) / (m²(m + 2))")
    for axes, what in ((means, "mean"), (variances, "variance")):
        plain_log(axes.xaxis, sizes)
        plain_log(axes.yaxis)
        axes.set(xlabel="hidden dimension m", ylabel=f"{what} of cos², rows with norm > 1")
        axes.legend()


@house_style()
def dimensionalities(result: EnsembleResult, geometries: Sequence[Geometry]) -> Figure:
    """Feature dimensionality D_i against sparsity, with those of simple polytopes, and dimensions per feature D*.

    Args:
        result: an ensemble with several densities.
        geometries: of its members.

    Source:
        Elhage et al. 2022, "The geometry of superposition".
    """
    sparsity = np.array([member.n / member.probabilities.sum() for member in result.members])
    figure = new_figure(7.0, 4.2)
    axes = figure.subplots()
    for value, name in _FRACTIONS.items():
        axes.axhline(value, color=FAINT, linewidth=0.8)
        axes.annotate(name, (1, value), xycoords=("axes fraction", "data"), xytext=(3, -3), textcoords="offset points",
                      fontsize=7)  # fmt: skip
    decays = sorted({member.decay for member in result.members})
    for colour, decay in zip(PALETTE, [decays[i] for i in evenly(len(decays), MOST_DECAYS)], strict=False):
        places = [place for place, member in enumerate(result.members) if member.decay == decay]
        x = np.concatenate([np.full(len(geometries[p].norms), sparsity[p]) for p in places])
        y = np.concatenate([geometries[p].dimensionality for p in places])
        axes.plot(x, y, ".", color=colour, alpha=0.25, markersize=3)
        levels = np.unique(sparsity[places])
        stars = [np.mean([min(geometries[p].dimensions_per_feature, 1e9) for p in places if sparsity[p] == level])
                 for level in levels]  # fmt: skip
        axes.plot(levels, stars, "o-", color=colour, markersize=4, label=f"D*, γ {decay:+.2g}")
    axes.plot([], [], ".", color=INK, alpha=0.5, label="D of each feature")
    plain_log(axes.xaxis)
    axes.set(ylim=(0, 1.15), xlabel="sparsity, 1 / mean probability of a feature", ylabel="dimensions per feature")
    axes.legend(ncols=3, loc="upper right", fontsize=7)
    return figure


@house_style()
def gram_matrices(result: EnsembleResult) -> Figure:
    """W W^T of up to six of the smallest models, features in the order of their frequency.

    Args:
        result: the ensemble.
    """
    smallest = min(member.n for member in result.members)
    places = [place for place, member in enumerate(result.members) if member.n == smallest]
    places = [places[i] for i in evenly(len(places), MOST_GRAMS)]
    columns = min(3, len(places))
    rows = -(-len(places) // columns)
    figure = new_figure(2.5 * columns + 0.9, 2.7 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    alphas = len({float(result.members[place].alpha) for place in places}) > 1
    for panel in grid.flat[len(places) :]:
        panel.set_axis_off()
    for panel, place in zip(grid.flat, places, strict=False):
        W, member = np.asarray(result.params[place].W), result.members[place]
        order = np.argsort(-np.asarray(member.probabilities), kind="stable")
        image = panel.imshow(W[order] @ W[order].T, cmap="RdBu_r", vmin=-1, vmax=1)
        panel.set_title(f"m {member.m}, γ {member.decay:+.2g}" + f", α {member.alpha:.2g}" * alphas, fontsize=8.5)
        panel.grid(visible=False)
        panel.spines[:].set_visible(False)
        panel.set_xticks([])
        panel.set_yticks([])
    for panel in grid[:, 0]:
        panel.set_ylabel("feature")
    for panel in grid[-1]:
        panel.set_xlabel("feature")
    figure.colorbar(image, ax=grid, label="W Wᵀ", shrink=0.8)
    return figure
