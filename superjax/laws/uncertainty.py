"""The uncertainty of a fit carried to what is computed from it: by its covariance, and by its bootstrap draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from superjax.laws.capacity import Form, form_of
from superjax.laws.published import shipped_fits
from superjax.laws.quantile import QuantileLaw

_NORMAL = 1.959963984540054  # the 97.5 % point
_STEP = 1e-5


@dataclass(frozen=True)
class Interval:
    """A 95 % interval, twice.

    Attributes:
        covariance: from the covariance of the constants, first order; None where the law has no covariance.
        bootstrap: percentiles over refits to resampled dimensions; for the quantile law, which has no constants, over
            the ratios of published coherence to quantile.
    """

    covariance: tuple[float, float] | None
    bootstrap: tuple[float, float]


def carry(name: str, answer: Callable[[Form], float]) -> Interval | None:
    r"""The interval of an answer computed from a law.

    First order: :math:`\sigma^2 = g^T \Sigma g`, g the derivative of the answer in the constants (central
    differences in float64).

    Args:
        name: a law of :data:`superjax.laws.LAWS`.
        answer: computes a number from a form with its constants.

    Returns:
        The interval; None for jl_proven, whose constant is a theorem's and no fit's.

    Source:
        Efron and Tibshirani 1993, chapters 5 and 13.

    Example:
        >>> from superjax.laws.namespace import np
        >>> found = carry("ratio", lambda form: float(form.log_k(np, np.float64(256.0), np.float64(0.15))))
        >>> found.bootstrap[0] < 10.0 < found.bootstrap[1]
        True
    """
    if name == "jl_proven":
        return None
    record = shipped_fits()[name]
    if name == "quantile":
        ends = sorted(answer(QuantileLaw(factor)) for factor in record["spread"])
        return Interval(None, (ends[0], ends[1]))
    constants = np.array(list(record["constants"].values()))
    gradient = np.zeros(len(constants))
    for place in range(len(constants)):
        step = np.zeros(len(constants))
        step[place] = _STEP * constants[place]
        up, down = (answer(form_of(name, tuple(constants + sign * step))) for sign in (1, -1))
        gradient[place] = (up - down) / (2 * step[place])
    centre, spread = (
        answer(form_of(name, tuple(constants))),
        _NORMAL * np.sqrt(gradient @ np.array(record["covariance"]) @ gradient),
    )
    low, high = np.quantile([answer(form_of(name, tuple(draw))) for draw in record["bootstrap"]], [0.025, 0.975])
    return Interval((centre - float(spread), centre + float(spread)), (float(low), float(high)))
