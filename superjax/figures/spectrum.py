"""Figures of a cosine spectrum: the distribution, row lengths, hubs, partners, and models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from superjax.embeddings.spectrum import Spectrum
from superjax.figures.style import FAINT, INK, PALETTE, house_style, new_figure, plain_log, plain_text, shorten
from superjax.laws import epsilon_for, published_models
from superjax.laws.random_vectors import cosine_density

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN = PALETTE[:3]


@house_style()
def distribution(spectrum: Spectrum, title: str) -> Figure:
    """The density of all pairwise cosines, whole and zoomed, with mean, epsilon and the random-vector law.

    Args:
        spectrum: with a histogram and at least one pair.
        title: the model's and the matrix's name.
    """
    figure = new_figure(7.6, 3.6)
    whole, zoomed = figure.subplots(1, 2)
    reach = 4.5 * max(spectrum.std, 1e-3)
    near = (max(-1.0, spectrum.mean - reach), min(1.0, spectrum.mean + reach))
    for axes, span in ((whole, (-1.0, 1.0)), (zoomed, near)):
        _density(axes, spectrum, span)
        axes.set_xlabel("cosine of two rows")
        axes.set_xlim(*span)
    whole.set_yscale("log")
    density = spectrum.counts / (spectrum.pairs * np.diff(spectrum.edges))
    whole.set_ylim(0.5 * density[density > 0].min(), 3 * max(density.max(), 1.0))
    whole.set_ylabel("density of pairs (log scale)")
    whole.set_title("all cosines")
    zoomed.set_ylim(bottom=0)
    zoomed.set_ylabel("density of pairs")
    zoomed.set_title(f"zoomed: mean {spectrum.mean:.4f}, std {spectrum.std:.4f}")
    figure.suptitle(plain_text(title), fontsize=10, x=0.01, ha="left")
    figure.legend(*zoomed.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _density(axes: Axes, spectrum: Spectrum, span: tuple[float, float]) -> None:
    widths = np.diff(spectrum.edges)
    axes.stairs(spectrum.counts / (spectrum.pairs * widths), spectrum.edges, fill=True, color=BLUE, alpha=0.35)
    axes.stairs(spectrum.counts / (spectrum.pairs * widths), spectrum.edges, color=BLUE, label="all pairs of rows")
    if spectrum.dim >= 3:
        cosines = np.linspace(max(span[0], -1), min(span[1], 1), 801)[1:-1]
        density = cosine_density(cosines, spectrum.dim)
        density[density < 1e-300] = np.nan
        axes.plot(
            cosines, density, color=INK, linewidth=1.2, linestyle=":", label=f"random vectors, d = {spectrum.dim}"
        )
    axes.axvline(spectrum.mean, color=GREEN, linewidth=1, label="mean")
    axes.axvline(spectrum.epsilon, color=RED, linewidth=1, linestyle="--", label=f"epsilon = {spectrum.epsilon:.4f}")


@house_style()
def norms(spectrum: Spectrum, title: str) -> Figure:
    """The lengths of the finite rows as stored, with their mean."""
    figure = new_figure(5.2, 3.2)
    axes = figure.subplots()
    lengths = spectrum.norms[np.isfinite(spectrum.norms)]
    # Rows of one length, as unit rows are, differ by rounding alone: too little for bins of a finite size.
    least = 1e-6 * lengths.max() or 1.0
    spread = (
        (lengths.min(), lengths.max()) if np.ptp(lengths) > least else (lengths.min() - least, lengths.max() + least)
    )
    axes.hist(lengths, bins=min(200, max(10, len(lengths) // 50)), range=spread, color=BLUE, alpha=0.8)
    axes.axvline(lengths.mean(), color=GREEN, linewidth=1, label=f"mean {lengths.mean():.3g}")
    axes.set_xlabel("length of a row")
    axes.set_ylabel("rows")
    _set_titles(axes, "Row lengths", title)
    axes.legend()
    return figure


@house_style()
def hubs(spectrum: Spectrum, labels: Sequence[str], title: str, number: int = 25) -> Figure:
    """The rows that are most often another row's nearest neighbour.

    Args:
        spectrum: with neighbours.
        labels: [V] text of each row, a token or a number.
        title: the model's and the matrix's name.
        number: bars at most.
    """
    assert spectrum.neighbors is not None
    top = spectrum.neighbors.hubs(number)
    figure = new_figure(5.6, 0.8 + 0.18 * max(len(top), 5))
    axes = figure.subplots()
    axes.barh(np.arange(len(top)), spectrum.neighbors.hubness[top], color=BLUE, alpha=0.8)
    axes.set_yticks(np.arange(len(top)), [f"'{plain_text(labels[row])}'" for row in top])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("rows whose nearest neighbour it is")
    axes.margins(y=0.01)
    _set_titles(axes, "Rows that are most often nearest", title)
    return figure


@house_style()
def partners(cosines: np.ndarray, title: str) -> Figure:
    """The cosine of each token's input vector with its own output vector, in an untied model.

    Args:
        cosines: [V] values, NaN where a row could not be used.
        title: the model's name.
    """
    figure = new_figure(5.2, 3.2)
    axes = figure.subplots()
    known = cosines[np.isfinite(cosines)]
    axes.hist(known, bins=200, range=(-1, 1), color=BLUE, alpha=0.8)
    axes.axvline(known.mean(), color=GREEN, linewidth=1, label=f"mean {known.mean():.3f}")
    axes.set_xlabel("cosine of a token's input and output vector")
    axes.set_ylabel("tokens")
    _set_titles(axes, "Input against output vectors", title)
    axes.legend()
    return figure


def _set_titles(axes: Axes, heading: str, title: str) -> None:
    """What is shown, and below it of which model, in as many characters as the narrowest of these figures holds."""
    axes.set_title(f"{heading}\n{plain_text(shorten(title, 64))}", fontsize=9)


@house_style()
def models(points: Sequence[tuple[str, int, float]]) -> Figure:
    """Dimension against epsilon for several matrices, over the 45 published models; class 2 alone with its capacities.

    Args:
        points: (name, d, epsilon) of each matrix; an epsilon that is not positive is named, and not drawn.

    Source:
        Guha 2026, arXiv 2606.02765, table 1.
    """
    figure = new_figure(9.0, 4.2 + 0.1 * len(points))
    whole, near = figure.subplots(1, 2)
    published = published_models()
    for axes in (whole, near):
        axes.scatter(
            [model.d_model for model in published], [model.epsilon for model in published],
            s=14, color=FAINT, label="published models",
        )  # fmt: skip
        for order, (name, dim, epsilon) in enumerate(points):
            drawn = ([dim], [epsilon]) if epsilon > 0 else ([], [])
            remark = "" if epsilon > 0 else f": epsilon {epsilon:.3g}, not drawn"
            label = f" {plain_text(shorten(name, 60))}{remark}"
            axes.scatter(*drawn, s=36, color=PALETTE[order % len(PALETTE)], label=label, zorder=3)
        axes.set_xlabel("dimension d")
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:.0f}")
    for threshold, words in ((0.2, "class 1 above"), (0.1, "class 2 below")):
        whole.axhline(threshold, color=INK, linewidth=0.8, linestyle="--")
        whole.annotate(
            words, (1, threshold), xycoords=("axes fraction", "data"), xytext=(-4, 3), textcoords="offset points",
            ha="right", fontsize=8,
        )  # fmt: skip
    whole.set_ylabel("epsilon = mean + 2 std of the cosine")
    whole.set_title("All models")
    plain_log(whole.yaxis)
    near.set_title("Class 2, with lines of equal capacity (full law)")
    near.set_ylim(0, 0.11)
    _capacity_lines(near)
    figure.legend(*whole.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _capacity_lines(axes: Axes) -> None:
    """epsilon at which the full law gives 10^5, 10^6, ... directions, over the dimensions shown."""
    low, high = 1024, max(20_000, axes.get_xlim()[1])
    d = np.geomspace(low, high, 80)
    for exponent in range(5, 13):
        epsilon = np.asarray(epsilon_for(10.0**exponent, d, "full"))
        axes.plot(d, epsilon, color=INK, linewidth=0.6, linestyle=":", alpha=0.7)
        axes.annotate(
            rf"$10^{{{exponent}}}$", (high, epsilon[-1]), xytext=(3, -2), textcoords="offset points", fontsize=7
        )
    axes.set_xlim(low, high)


@house_style()
def overlaps_against_dimension(points: Sequence[tuple[str, int, float]]) -> Figure:
    """Mean squared cosine of a model's rows against its dimension, beside 1/d of random directions.

    Args:
        points: (name, d, mean squared cosine) of each matrix.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465: the overlap that strong superposition makes the loss follow.
    """
    figure = new_figure(5.6, 3.8 + 0.1 * len(points))
    axes = figure.subplots()
    dims = [dim for _, dim, _ in points]
    d = np.geomspace(0.8 * min(dims), 1.25 * max(dims), 50)
    axes.plot(d, 1 / d, color=INK, linewidth=1, label="random directions, 1/d")
    for order, (name, dim, overlap) in enumerate(points):
        axes.scatter([dim], [overlap], s=30, color=PALETTE[order % len(PALETTE)],
                     label=plain_text(shorten(name, 60)), zorder=3)  # fmt: skip
    plain_log(axes.xaxis, dims)
    plain_log(axes.yaxis)
    axes.set(xlabel="dimension d", ylabel="mean cos² over pairs of rows")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
