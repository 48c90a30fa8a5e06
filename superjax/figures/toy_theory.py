"""Figures of toy ensembles beside theory: the loss of what is not represented, and how many features are strong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from superjax.figures.style import INK, PALETTE, evenly, house_style, new_figure, plain_log
from superjax.toy import EnsembleResult, Geometry, ideal_weak_loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DECAYS = 6


@house_style()
def loss_against_theory(result: EnsembleResult, geometries: Sequence[Geometry]) -> Figure:
    r"""Measured loss against the loss of ignoring exactly the features that the model does not represent.

    .. math:: L = \sum_{i > \varphi_{1/2} n} \left(\tfrac43 p_i - p_i^2\right)

    Models on the diagonal represent the most frequent features and ignore the rest, without superposition; those above
    pay for overlaps.

    Args:
        result: the ensemble; members under growth are left out where there are others.
        geometries: of its members.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465, fig. 4a; here the exact sum for finite n.
    """
    shown = [place for place, member in enumerate(result.members) if member.decay >= 0] or range(len(result.members))
    figure = new_figure(4.8, 4.4)
    axes = figure.subplots()
    decays = sorted({result.members[place].decay for place in shown})
    for colour, decay in zip(PALETTE, [decays[i] for i in evenly(len(decays), MOST_DECAYS)], strict=False):
        places = [place for place in shown if result.members[place].decay == decay]
        theory = [_ignored(result, geometries, place) for place in places]
        axes.plot(theory, result.loss[places], ".", color=colour, alpha=0.7, label=f"γ {decay:+.2g}")
    low, high = axes.get_xlim()
    axes.plot([max(low, 0), high], [max(low, 0), high], color=INK, linewidth=1, linestyle="--", label="equal")
    axes.set(xlim=(low, high), ylim=(0, None))
    axes.set(xlabel="loss of the features not represented", ylabel="test loss (sum over features)")
    axes.legend(fontsize=7)
    return figure


def _ignored(result: EnsembleResult, geometries: Sequence[Geometry], place: int) -> float:
    member = result.members[place]
    kept = round(geometries[place].phi_half * member.n)
    return float(ideal_weak_loss(member.probabilities, kept, member.high))


@house_style()
def strongly_represented(result: EnsembleResult, geometries: Sequence[Geometry]) -> Figure:
    """The share of features with norm above 1 against m under growth, beside the guide min(1, m^2 / 2n).

    Args:
        result: an ensemble with some decay below 0.
        geometries: of its members.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465: m^2 / 2 directions can nearly be an equiangular frame. A guide only:
        measured shares lie on either side of it.
    """
    figure = new_figure(5.2, 3.6)
    axes = figure.subplots()
    decays = sorted({member.decay for member in result.members if member.decay < 0})
    for colour, decay in zip(PALETTE, [decays[i] for i in evenly(len(decays), MOST_DECAYS)], strict=False):
        places = [place for place, member in enumerate(result.members) if member.decay == decay]
        sizes = np.array([result.members[place].m for place in places])
        shares = np.array([geometries[place].phi_one for place in places])
        m = np.unique(sizes)
        axes.plot(sizes, shares, ".", color=colour, alpha=0.3, markersize=4)
        axes.plot(
            m, [shares[sizes == size].mean() for size in m], "o-", color=colour, markersize=3, label=f"γ {decay:+.2g}"
        )
    sizes = np.array([member.m for member in result.members])
    guide = np.geomspace(sizes.min(), sizes.max(), 60)
    n = max(member.n for member in result.members)
    axes.plot(guide, np.minimum(1, guide**2 / (2 * n)), color=INK, linewidth=1, linestyle=":", label="min(1, m² / 2n)")
    plain_log(axes.xaxis, sizes.tolist())
    axes.set(ylim=(0, 1.03), xlabel="hidden dimension m", ylabel=r"$\varphi_1$: share with norm > 1")
    axes.legend(fontsize=7)
    return figure
