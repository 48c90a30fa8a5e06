"""What an embedding's accepted deviation says: its class, and the published capacity where it has one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from superjax.core.errors import InputError
from superjax.laws.capacity import FitRange, capacity, is_extrapolated, law, log10_capacity

# Guha 2026, arXiv 2606.02765: of 45 models none has an epsilon between the two thresholds, and above the upper one
# the law is vacuous (2e20 directions at d = 2048, epsilon = .25), so capacity is given for class 2 alone.
CLASS_ONE_ABOVE = 0.2
CLASS_TWO_BELOW = 0.1


@dataclass(frozen=True)
class Assessment:
    """The class of an embedding matrix and its capacity by the full law.

    Attributes:
        label: "1" (epsilon > 0.2), "2" (epsilon < 0.1) or "between".
        capacity: directions by the full law; None for class 1, where the law says nothing.
        log10_capacity: its decimal logarithm, None with it.
        extrapolated: whether (d, capacity) lies outside the range of the fit; False for class 1.
        range: the range of the fit.
    """

    label: str
    capacity: float | None
    log10_capacity: float | None
    extrapolated: bool
    range: FitRange


def representational_class(epsilon: float) -> str:
    """The published class of an accepted deviation.

    Args:
        epsilon: mean + 2 standard deviations of the cosine over all pairs of rows.

    Returns:
        "1" above 0.2, "2" below 0.1, else "between", where no published model lies.

    Raises:
        InputError: for NaN.

    Source:
        Guha 2026, arXiv 2606.02765.

    Example:
        >>> [representational_class(epsilon) for epsilon in (0.35, 0.0645, 0.15)]
        ['1', '2', 'between']
    """
    if epsilon != epsilon:
        raise InputError("epsilon: not a number; compute it from at least two usable rows")
    if epsilon > CLASS_ONE_ABOVE:
        return "1"
    return "2" if epsilon < CLASS_TWO_BELOW else "between"


def assess(d: int, epsilon: float) -> Assessment:
    """Class and published capacity of a d-dimensional embedding with accepted deviation epsilon.

    Args:
        d: embedding dimension >= 2.
        epsilon: mean + 2 standard deviations of the cosine over all pairs of rows; may be negative or above 1.

    Returns:
        The assessment. For epsilon <= 0 the capacity is d, the orthonormal set's.

    Raises:
        InputError: for NaN, or d < 2 where the law is asked.

    Source:
        Guha 2026, arXiv 2606.02765.

    Example:
        >>> found = assess(4096, 0.0645)
        >>> found.label, f"{found.capacity:.3g}", found.extrapolated
        ('2', '3.99e+07', True)
    """
    label = representational_class(epsilon)
    fitted = law("full").range
    if label == "1":
        return Assessment(label, None, None, False, fitted)
    if epsilon <= 0:
        return Assessment(label, float(d), math.log10(d), False, fitted)
    return Assessment(label, capacity(d, epsilon), log10_capacity(d, epsilon), is_extrapolated(d, epsilon), fitted)
