"""Loss against hidden dimension: the members of an ensemble gathered into curves, with fits and theory beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from superjax.core.grid import group_by
from superjax.toy.ensemble import EnsembleResult
from superjax.toy.exponents import ExponentFit, fit_exponent
from superjax.toy.members import Member
from superjax.toy.metrics import Geometry
from superjax.toy.theory import ideal_weak_loss, strong_exponent, trivial_loss


@dataclass(frozen=True)
class Curve:
    """Members that differ in m and seed alone.

    Attributes:
        settings: what they have in common, plain values.
        m: [M] hidden dimensions, ascending.
        loss: [S, M] test losses; NaN where a member failed.
        phi_half: [S, M] shares of represented features.
        fit: alpha_m; None when fewer than two m have finite losses.
        trivial: loss of the model that represents nothing.
        ideal_weak: [M] loss with the m most frequent features kept exactly.
        ideal_weak_exponent: exponent of `ideal_weak` over the same m; None where it cannot be fitted.
        strong_exponent: the conjectured exponent of strong superposition; None for laws other than the power law.
    """

    settings: dict[str, Any]
    m: np.ndarray
    loss: np.ndarray
    phi_half: np.ndarray
    fit: ExponentFit | None
    trivial: float
    ideal_weak: np.ndarray
    ideal_weak_exponent: float | None
    strong_exponent: float | None


def settings_of(member: Member) -> dict[str, Any]:
    """A member's settings but m and seed, as plain values; arrays are named by their kind."""
    given = isinstance(member.distribution, str)
    return {
        "n": member.n,
        "distribution": member.distribution if given else "given",
        "alpha": float(member.alpha) if member.distribution == "power" else None,
        "density": float(member.probabilities.sum()) if member.density is None else float(member.density),
        "decay": float(member.decay),
        "importance": float(np.asarray(member.importance)) if np.ndim(member.importance) == 0 else "given",
        "activation": member.activation,
        "batch": member.batch,
    }


def gather_curves(
    result: EnsembleResult, geometries: Sequence[Geometry], window: tuple[float, float] | None = None
) -> list[Curve]:
    """The curves of an ensemble, in the order of their first members.

    Args:
        result: the ensemble.
        geometries: of its members.
        window: smallest and largest m of the fits; all by default.

    Example:
        >>> from superjax.toy import Training, geometry, grid, train_ensemble
        >>> result = train_ensemble(grid(n=20, m=[2, 4], batch=64), Training(steps=20, test_batches=4))
        >>> [curve] = gather_curves(result, [geometry(params.W) for params in result.params])
        >>> curve.m.tolist(), curve.loss.shape, round(curve.trivial, 3)
        ([2, 4], (1, 2), 1.21)
    """

    shared = _rates_are_shared(result.members)

    def identity(place: int) -> tuple[Any, ...]:
        member = result.members[place]
        rates = (member.learning_rate, member.bias_rate) if shared else ()
        return (*settings_of(member).values(), *rates, member.data[1:], member.importances.tobytes())

    groups = group_by(range(len(result.members)), identity)
    return [_curve(result, geometries, places, window) for places in groups.values()]


def _rates_are_shared(members: Sequence[Member]) -> bool:
    """Whether every learning rate appears at every m, so that it is a setting of a curve and no function of m."""
    rates: dict[int, set[float]] = {}
    for member in members:
        rates.setdefault(member.m, set()).add(member.learning_rate)
    return len({frozenset(values) for values in rates.values()}) == 1


def _curve(
    result: EnsembleResult,
    geometries: Sequence[Geometry],
    places: Sequence[int],
    window: tuple[float, float] | None,
) -> Curve:
    members = [result.members[place] for place in places]
    m = np.array(sorted({member.m for member in members}))
    seeds = sorted({member.seed for member in members})
    loss, phi = np.full((2, len(seeds), len(m)), np.nan)
    for place, member in zip(places, members, strict=True):
        at = seeds.index(member.seed), int(np.searchsorted(m, member.m))
        loss[at], phi[at] = result.loss[place], geometries[place].phi_half
    first = members[0]
    ideal = ideal_weak_loss(first.probabilities, m, first.high)
    ideal_fit = _fit(m, ideal, window)
    return Curve(
        settings=settings_of(first),
        m=m,
        loss=loss,
        phi_half=phi,
        fit=_fit(m, loss, window),
        trivial=trivial_loss(first.probabilities, first.high),
        ideal_weak=ideal,
        ideal_weak_exponent=None if ideal_fit is None else ideal_fit.exponent,
        strong_exponent=strong_exponent(first.alpha) if first.distribution == "power" else None,
    )


def _fit(m: np.ndarray, loss: np.ndarray, window: tuple[float, float] | None) -> ExponentFit | None:
    inside = np.full(m.shape, True) if window is None else (m >= window[0]) & (m <= window[1])
    usable = inside & np.all(np.atleast_2d(loss) > 0, axis=0)
    return fit_exponent(m, loss, window=window) if usable.sum() > 1 else None
