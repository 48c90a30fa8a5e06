"""Figures of toy ensembles: loss against m, maps over alpha and gamma, norms and overlaps, and W W^T."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from superjax.core.grid import group_by
from superjax.figures.style import FAINT, INK, PALETTE, house_style, new_figure
from superjax.toy import Curve, EnsembleResult, Geometry, random_overlap_moments

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS, MOST_CURVES = 6, 7


@house_style()
def loss_against_m(curves: Sequence[Curve]) -> Figure:
    """Test loss against hidden dimension, a panel for each kind of data, beside the lines of theory.

    Args:
        curves: of an ensemble; those with a single m are points.
    """
    panels = list(group_by(curves, _data_name).items())
    panels = [panels[i] for i in _evenly(len(panels), MOST_PANELS)]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(max(5.6, 3.4 * columns), 3.4 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, (name, places) in zip(grid.flat, panels, strict=False):
        _loss_panel(axes, [curves[place] for place in places])
        axes.set_title(name)
    for axes in grid[:, 0]:
        axes.set_ylabel("test loss (sum over features)")
    return figure


def _data_name(curve: Curve) -> str:
    settings = curve.settings
    alpha = "" if settings["alpha"] is None else f", alpha {settings['alpha']:.3g}"
    return f"n {settings['n']}, {settings['distribution']}{alpha}, density {settings['density']:.3g}"


def _loss_panel(axes: Axes, curves: Sequence[Curve]) -> None:
    ordered = sorted(curves, key=lambda curve: curve.settings["decay"])
    shown = [ordered[i] for i in _evenly(len(ordered), MOST_CURVES)]
    for colour, curve in zip(PALETTE, shown, strict=False):
        mean = curve.loss.mean(axis=0)
        slope = "" if curve.fit is None else f", slope {-curve.fit.exponent:.2f}"
        axes.plot(curve.m, mean, "o-", color=colour, markersize=3, label=f"γ {curve.settings['decay']:+.2g}{slope}")
        if len(curve.loss) > 1:
            axes.fill_between(curve.m, curve.loss.min(axis=0), curve.loss.max(axis=0), color=colour, alpha=0.2)
    first = shown[0]
    axes.axhline(first.trivial, color=FAINT, linestyle="-", linewidth=1, label="nothing represented")
    axes.plot(first.m, first.ideal_weak, color=INK, linestyle="--", linewidth=1, label="first m features kept")
    strongest = first.loss.mean(axis=0)
    if np.isfinite(strongest[0]):
        axes.plot(first.m, strongest[0] * first.m[0] / first.m, color=INK, linestyle=":", linewidth=1, label="1/m")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("hidden dimension m")
    axes.legend(fontsize=6.5)


@house_style()
def exponent_map(curves: Sequence[Curve]) -> Figure:
    """The exponent alpha_m over the features' exponent alpha and the decay gamma.

    Args:
        curves: of an ensemble; curves without a fit stay blank.
    """
    cells = [
        (curve.settings["alpha"], curve.settings["decay"], np.nan if curve.fit is None else curve.fit.exponent)
        for curve in curves
    ]
    return _map(cells, "features' exponent alpha", "exponent of loss, alpha_m")


@house_style()
def represented_map(curves: Sequence[Curve]) -> Figure:
    """The share of represented features, averaged over seeds, over gamma and what else varies: alpha, density, or m.

    Args:
        curves: of an ensemble; over alpha or density the share is averaged over m.
    """
    name = next((name for name in ("alpha", "density") if len({curve.settings[name] for curve in curves}) > 1), "m")
    cells = [
        (m if name == "m" else curve.settings[name], curve.settings["decay"], share)
        for curve in curves
        for m, share in zip(curve.m.tolist(), curve.phi_half.mean(axis=0), strict=True)
    ]
    upwards = {"alpha": "features' exponent alpha", "density": "activation density", "m": "hidden dimension m"}
    return _map(cells, upwards[name], "share of features with norm > 1/2")


def _map(cells: Sequence[tuple[float | None, float, float]], upwards: str, meaning: str) -> Figure:
    """A map of (row, gamma, value), gamma across and rows upwards; values of one cell are averaged."""
    placed = [(row, decay, value) for row, decay, value in cells if row is not None]
    rows, across = sorted({cell[0] for cell in placed}), sorted({cell[1] for cell in placed})
    sums, counts = np.zeros((2, len(rows), len(across)))
    for row, decay, value in placed:
        if not np.isfinite(value):
            continue
        sums[rows.index(row), across.index(decay)] += value
        counts[rows.index(row), across.index(decay)] += 1
    values = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    figure = new_figure(max(4.6, 0.55 * len(across) + 2), max(2.6, 0.3 * len(rows) + 1.4))
    axes = figure.subplots()
    image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis")
    axes.set_xticks(range(len(across)), [f"{x:.2g}" for x in across])
    axes.set_yticks(range(len(rows)), [f"{y:.3g}" for y in rows])
    axes.grid(visible=False)
    for (i, j), number in np.ndenumerate(values):
        if np.isfinite(number) and values.size <= 200:
            dark = number < np.nanmean(values)
            axes.text(j, i, f"{number:.2f}", ha="center", va="center", color="white" if dark else INK, fontsize=6)
    axes.set_xlabel("γ: growth below 0, weight decay above")
    axes.set_ylabel(upwards)
    figure.colorbar(image, label=meaning)
    return figure


@house_style()
def norms_and_overlaps(result: EnsembleResult, geometries: Sequence[Geometry]) -> Figure:
    """Row norms and cosines in each regime, and mean squared overlaps against 1/m and the Welch value.

    Args:
        result: the ensemble.
        geometries: of its members.
    """
    figure = new_figure(10.2, 3.4)
    norms, cosines, overlaps = figure.subplots(1, 3)
    decays = sorted({member.decay for member in result.members})
    edges = np.linspace(-1, 1, len(geometries[0].overlaps.counts) + 1)
    for colour, decay in zip(PALETTE, [decays[i] for i in _evenly(len(decays), 4)], strict=False):
        chosen = [place for place, member in enumerate(result.members) if member.decay == decay]
        found = [geometries[place] for place in chosen]
        lengths = np.minimum(np.concatenate([one.norms for one in found]), 2)
        norms.hist(lengths, np.linspace(0, 2, 81), histtype="step", density=True, color=colour, label=f"γ {decay:+.2g}")
        counts = np.sum([one.strong_overlaps.counts for one in found], axis=0)
        if counts.sum():
            cosines.stairs(counts / (counts.sum() * np.diff(edges)), edges, color=colour)
        sizes = [result.members[place].m for place in chosen]
        overlaps.plot(sizes, [one.strong_overlaps.mean for one in found], "o", color=colour, markersize=3)
    _overlap_guides(overlaps, np.array(sorted({m.m for m in result.members})), max(m.n for m in result.members))
    for axes, name in ((norms, "norm of a row of W"), (cosines, "cosine of two rows with norm > 1")):
        axes.set_yscale("log")
        axes.set_xlabel(name)
    norms.set_ylabel("density of features")
    norms.legend()
    cosines.set_ylabel("density of pairs")
    return figure


def _overlap_guides(axes: Axes, m: np.ndarray, n: int) -> None:
    """Mean squared overlaps of random directions and of tight frames of min(n, m^2 / 2)."""
    axes.plot(m, [random_overlap_moments(size)[0] for size in m], color=INK, linewidth=1, label="random, 1/m")
    nu = np.minimum(n, m**2 / 2)
    welch = np.where(nu > m, (nu - m) / (m * np.maximum(nu - 1, 1)), np.nan)
    axes.plot(m, welch, color=INK, linestyle=":", linewidth=1, label="Welch κ², ν = min(n, m²/2)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    # Two or three orthogonal rows have no overlap to speak of, and would stretch the axis to nothing.
    axes.set_ylim(bottom=0.1 / m.max())
    axes.set_xlabel("hidden dimension m")
    axes.set_ylabel("mean cos² of rows with norm > 1")
    axes.legend()


@house_style()
def gram_matrices(result: EnsembleResult) -> Figure:
    """W W^T of up to six of the smallest models.

    Args:
        result: the ensemble.
    """
    smallest = min(member.n for member in result.members)
    places = [place for place, member in enumerate(result.members) if member.n == smallest]
    places = [places[i] for i in _evenly(len(places), MOST_PANELS)]
    figure = new_figure(2.3 * len(places) + 0.8, 2.7)
    axes = figure.subplots(1, len(places), squeeze=False)[0]
    for panel, place in zip(axes, places, strict=True):
        W, member = np.asarray(result.params[place].W), result.members[place]
        image = panel.imshow(W @ W.T, cmap="RdBu_r", vmin=-1, vmax=1)
        panel.set_title(f"m {member.m}, γ {member.decay:+.2g}", fontsize=8)
        panel.grid(visible=False)
    figure.colorbar(image, ax=list(axes), label="W Wᵀ", shrink=0.8)
    return figure


def _evenly(number: int, most: int) -> list[int]:
    """At most `most` of `number` places, the first and the last among them."""
    return sorted(set(np.linspace(0, number - 1, min(number, most)).round().astype(int).tolist()))
