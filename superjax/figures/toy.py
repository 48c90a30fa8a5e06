"""Figures of toy ensembles' losses: against m and density, exponents against alpha, and maps over alpha and gamma."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from superjax.core.grid import group_by
from superjax.figures.style import FAINT, INK, PALETTE, evenly, house_style, new_figure, plain_log
from superjax.toy import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from superjax.toy.exponents import ExponentFit

MOST_PANELS, MOST_CURVES = 6, 7

_ALPHA = "exponent α of the features' frequencies"


@house_style()
def loss_against_m(curves: Sequence[Curve]) -> Figure:
    """Test loss against hidden dimension, a panel for each kind of data, beside the lines of theory.

    Args:
        curves: of an ensemble; those with a single m are points.
    """
    panels = list(group_by(curves, _data_name).items())
    panels = [panels[i] for i in evenly(len(panels), MOST_PANELS)]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(max(5.6, 3.4 * columns), 4.3 * rows)
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
    shown = [ordered[i] for i in evenly(len(ordered), MOST_CURVES)]
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
    plain_log(axes.xaxis, first.m)
    plain_log(axes.yaxis)
    axes.set_xlabel("hidden dimension m")
    axes.legend(fontsize=6.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))  # below: on the lines otherwise


@house_style()
def loss_against_density(curves: Sequence[Curve]) -> Figure:
    """Test loss against activation density, a panel for each decay and a line for each m.

    Args:
        curves: of an ensemble with several densities; the means over everything else that varies are drawn.
    """
    decays = sorted({curve.settings["decay"] for curve in curves})
    decays = [decays[i] for i in evenly(len(decays), 3)]
    sizes = sorted({int(m) for curve in curves for m in curve.m})
    sizes = [sizes[i] for i in evenly(len(sizes), MOST_CURVES)]
    figure = new_figure(max(5.0, 3.2 * len(decays)), 3.4)
    panels = figure.subplots(1, len(decays), squeeze=False, sharey=True)[0]
    for axes, decay in zip(panels, decays, strict=True):
        own = [curve for curve in curves if curve.settings["decay"] == decay]
        densities = sorted({curve.settings["density"] for curve in own})
        for colour, m in zip(PALETTE, sizes, strict=False):
            axes.plot(densities, [_mean_loss(own, density, m) for density in densities], "o-", color=colour,
                      markersize=3, label=f"m = {m}")  # fmt: skip
        axes.set_xlabel("activation density E, active features a sample")
        axes.set_title(f"γ {decay:+.2g}")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("test loss (sum over features)")
    panels[0].legend()
    return figure


def _mean_loss(curves: Sequence[Curve], density: float, m: int) -> float:
    """Mean over what else varies; NaN where no model of that size was trained, or one failed."""
    found = [curve.loss[:, curve.m == m] for curve in curves if curve.settings["density"] == density]
    losses = np.concatenate([loss.ravel() for loss in found])
    return float(losses.mean()) if losses.size else float("nan")


@house_style()
def exponent_curves(curves: Sequence[Curve]) -> Figure:
    """The exponent alpha_m of loss against m over the features' exponent alpha, beside what theory says of each regime.

    Args:
        curves: of an ensemble with several alphas; those without a fit are left out.
    """
    fitted = [curve for curve in curves if curve.fit is not None and curve.settings["alpha"] is not None]
    decays = sorted({curve.settings["decay"] for curve in fitted})
    figure = new_figure(5.6, 4.0)
    axes = figure.subplots()
    for colour, decay in zip(PALETTE, [decays[i] for i in evenly(len(decays), 6)], strict=False):
        own = sorted((c for c in fitted if c.settings["decay"] == decay), key=lambda c: c.settings["alpha"])
        fits = [(curve.settings["alpha"], curve.fit) for curve in own if curve.fit is not None]
        axes.errorbar(
            [alpha for alpha, _ in fits], [fit.exponent for _, fit in fits], [_stderr(fit) for _, fit in fits],
            fmt="o-", color=colour, markersize=3, capsize=2, elinewidth=0.8, label=f"γ {decay:+.2g}",
        )  # fmt: skip
    theory = sorted(
        {(c.settings["alpha"], c.ideal_weak_exponent, c.strong_exponent) for c in fitted}, key=lambda t: t[0]
    )
    alphas = [alpha for alpha, _, _ in theory]
    axes.plot(alphas, [_or_nan(weak) for _, weak, _ in theory], color=INK, linestyle="--", linewidth=1,
              label="first m features kept (same m, n)")  # fmt: skip
    axes.plot(alphas, [_or_nan(strong) for _, _, strong in theory], color=INK, linestyle=":", linewidth=1,
              label="strong: max(1, 2(α - 1))")  # fmt: skip
    axes.set_xlabel("exponent α of the features' frequencies, p ~ i^-α")
    axes.set_ylabel(r"exponent $\alpha_m$ of loss against m")
    axes.legend(fontsize=7)
    return figure


def _stderr(fit: ExponentFit) -> float:
    """The standard error; two points have none."""
    return fit.stderr if np.isfinite(fit.stderr) else 0.0


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


@house_style()
def exponent_map(curves: Sequence[Curve]) -> Figure:
    """The exponent alpha_m over the features' exponent alpha and the decay gamma.

    Args:
        curves: of an ensemble, one with a fit at least; curves without stay blank.
    """
    cells = [
        (curve.settings["alpha"], curve.settings["decay"], np.nan if curve.fit is None else curve.fit.exponent)
        for curve in curves
    ]
    return _map(cells, _ALPHA, r"exponent $\alpha_m$ of loss against m")


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
    upwards = {"alpha": _ALPHA, "density": "activation density", "m": "hidden dimension m"}
    return _map(cells, upwards[name], r"$\varphi_{1/2}$: share with norm > 1/2", span=(0.0, 1.0))


def _map(
    cells: Sequence[tuple[float | None, float, float]],
    upwards: str,
    meaning: str,
    span: tuple[float, float] | None = None,
) -> Figure:
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
    figure = new_figure(max(4.6, 0.55 * len(across) + 2), max(3.0, 0.3 * len(rows) + 1.4))
    axes = figure.subplots()
    low, high = span or (np.nanmin(values), np.nanmax(values))
    image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high)
    axes.set_xticks(range(len(across)), [f"{x:.2g}" for x in across])
    axes.set_yticks(range(len(rows)), [f"{y:.3g}" for y in rows])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    for (i, j), number in np.ndenumerate(values):
        if np.isfinite(number) and values.size <= 200:
            dark = number < low + 0.6 * (high - low)
            axes.text(j, i, f"{number:.2f}", ha="center", va="center", color="white" if dark else INK, fontsize=6.5)
    axes.set_xlabel("γ: growth below 0, weight decay above")
    axes.set_ylabel(upwards)
    figure.colorbar(image, label=meaning)
    return figure
