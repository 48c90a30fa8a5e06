"""How many directions fit, as a bracket: what can be built, what optimisation reaches, what no one can exceed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from superjax.laws.bounds import largest_count, lower_bound
from superjax.laws.capacity import (
    LAWS,
    Form,
    capacity,
    dimension_for,
    epsilon_for,
    is_extrapolated,
    law,
    log10_capacity,
)
from superjax.laws.checks import at_least, attained, whole
from superjax.laws.constructions import Construction, best_construction, largest_construction
from superjax.laws.random_vectors import max_coherence_mean
from superjax.laws.roots import monotone_root
from superjax.laws.uncertainty import Interval, carry

_STEP = 1e-5


@dataclass(frozen=True)
class Reached:
    """One law's answer.

    Attributes:
        formula: what the formula says: log10 k, epsilon, or d.
        interval: its 95 % intervals, in the same unit; None for a law without fitted constants.
        extrapolated: whether it lies outside the range the law was fitted on.
    """

    formula: float
    interval: Interval | None
    extrapolated: bool


@dataclass(frozen=True)
class Bracket:
    r"""How many lines of largest \|cosine\| epsilon fit in R^d.

    What is expected may lie below what can be built: optimisation from random starts does not find the algebraic sets.

    Attributes:
        d: dimension.
        epsilon: accepted absolute cosine.
        constructed: lines of the largest known construction (exact).
        construction: it.
        expected: directions by each law, never below d nor above the bound; infinite where a float cannot hold it.
        bound: the largest count no bound forbids; infinite where a float cannot hold it.
        bound_name: that bound.
        log10_constructed: decimal logarithm.
        log10_expected: decimal logarithms.
        log10_bound: decimal logarithm.
        laws: each law's raw formula (log10 k), its intervals and whether it is extrapolated.
    """

    d: int
    epsilon: float
    constructed: int
    construction: Construction
    expected: dict[str, float]
    bound: float
    bound_name: str
    log10_constructed: float
    log10_expected: dict[str, float]
    log10_bound: float
    laws: dict[str, Reached]


@dataclass(frozen=True)
class EpsilonBracket:
    """The coherence of k lines in R^d.

    Attributes:
        k: number of lines.
        d: dimension.
        constructed: coherence of the best construction that holds k lines.
        construction: it.
        expected: coherence by each law, 0 for k <= d, never below the bound nor above 1.
        random: mean coherence of k random directions.
        bound: proven lower bound.
        bound_name: that bound.
        laws: each law's raw formula, its intervals and whether it is extrapolated.
    """

    k: int
    d: int
    constructed: float
    construction: Construction
    expected: dict[str, float]
    random: float
    bound: float
    bound_name: str
    laws: dict[str, Reached]


@dataclass(frozen=True)
class DimensionBracket:
    """The dimension that k lines of coherence epsilon need.

    Attributes:
        k: number of lines.
        epsilon: accepted absolute cosine.
        constructed: the smallest d in which a known construction serves.
        construction: it.
        expected: the d each law asks for, real-valued, never below the bound nor above k.
        bound: below this d it is impossible.
        bound_name: the bound that forbids one dimension less.
        laws: each law's d, its intervals and whether it is extrapolated.
    """

    k: int
    epsilon: float
    constructed: int
    construction: Construction
    expected: dict[str, float]
    bound: int
    bound_name: str
    laws: dict[str, Reached]


def capacity_bracket(d: int, epsilon: float) -> Bracket:
    """At least, expected, at most: how many lines of coherence epsilon fit in R^d.

    Args:
        d: dimension >= 2.
        epsilon: accepted absolute cosine in (0, 1).

    Returns:
        The bracket; float64 on the host, no device used.

    Raises:
        InputError: d < 2 or not whole, epsilon outside (0, 1).

    Source:
        :func:`largest_construction`, :func:`log10_capacity`, :func:`largest_count`.

    Example:
        >>> found = capacity_bracket(4096, 1 / 64)
        >>> found.constructed, f"{found.log10_expected['full']:.2f}", found.bound
        (8392704, '3.98', 8392704.0)
    """
    d = whole("d", d, 2)
    laws = {
        name: Reached(
            log10_capacity(d, epsilon, name),
            carry(name, partial(_log10_k, d=np.float64(d), epsilon=np.float64(epsilon))),
            is_extrapolated(d, epsilon, name),
        )
        for name in LAWS
    }
    built, most = largest_construction(d, epsilon), largest_count(d, epsilon)
    bound = float(most.k) if most.k is not None else _power_of_ten(most.log10_k)
    logs = {name: min(max(reached.formula, math.log10(d)), most.log10_k) for name, reached in laws.items()}
    return Bracket(
        d=d,
        epsilon=float(epsilon),
        constructed=built.k,
        construction=built,
        expected={name: min(max(capacity(d, epsilon, name), float(d)), bound) for name in LAWS},
        bound=bound,
        bound_name=most.name,
        log10_constructed=math.log10(built.k),
        log10_expected=logs,
        log10_bound=most.log10_k,
        laws=laws,
    )


def epsilon_bracket(k: int, d: int) -> EpsilonBracket:
    """At most, expected, at least: the coherence of k lines in R^d.

    Args:
        k: number of lines >= 1.
        d: dimension >= 2.

    Returns:
        The bracket.

    Raises:
        InputError: k or d out of range or not whole.

    Example:
        >>> found = epsilon_bracket(32000, 4096)
        >>> found.constructed, round(found.expected["ratio"], 4), round(found.bound, 4)
        (0.015625, 0.0255, 0.0146)
    """
    k, d = whole("k", k, 1), whole("d", d, 2)
    at_least("k", k, 1)  # the laws want one a float holds
    laws = {}
    for name in LAWS:
        interval = carry(name, partial(_epsilon, log_k=np.float64(math.log(k)), d=np.float64(d))) if k > d else None
        inside = bool(law(name).range.holds(np.float64(k), np.float64(d)))
        laws[name] = Reached(epsilon_for(k, d, name), interval, k > d and not inside)
    built, least = best_construction(k, d), lower_bound(k, d)
    return EpsilonBracket(
        k=k,
        d=d,
        constructed=built.value,
        construction=built.construction,
        expected={name: min(max(reached.formula, least.value), 1.0) for name, reached in laws.items()},
        random=min(max(max_coherence_mean(k, d), least.value), 1.0) if k > 1 else 0.0,
        bound=least.value,
        bound_name=least.name,
        laws=laws,
    )


def dimension_bracket(k: int, epsilon: float) -> DimensionBracket:
    """The d that k lines of coherence epsilon need: if built, if reached by optimisation, and by necessity.

    Args:
        k: number of lines >= 1.
        epsilon: accepted absolute cosine in (0, 1).

    Returns:
        The bracket.

    Raises:
        InputError: k < 1 or not whole, epsilon outside (0, 1).

    Example:
        >>> found = dimension_bracket(32000, 0.0645)
        >>> found.bound <= found.constructed < found.expected["full"]
        True
    """
    k = whole("k", k, 1)
    at_least("k", k, 1)  # the laws want one a float holds
    laws = {}
    for name in LAWS:
        d = dimension_for(k, epsilon, name)
        interval = carry(name, partial(_dimension, k=k, epsilon=epsilon))
        inside = bool(law(name).range.holds(np.float64(k), np.float64(d)))
        laws[name] = Reached(d, interval, not inside)
    allowed = attained(epsilon)
    built = _smallest_dimension(k, lambda d: best_construction(k, d).value <= allowed)
    least = _smallest_dimension(k, lambda d: lower_bound(k, d).value <= allowed)
    return DimensionBracket(
        k=k,
        epsilon=float(epsilon),
        constructed=built,
        construction=best_construction(k, built).construction,
        expected={name: max(reached.formula, float(least)) for name, reached in laws.items()},
        bound=least,
        bound_name=lower_bound(k, least - 1).name if least > 1 else "orthonormal",
        laws=laws,
    )


def sensitivity(d: float, epsilon: float, law: str = "full") -> tuple[float, float]:
    r"""Decades of k per unit of ln epsilon and per unit of ln d: a 1 % larger epsilon adds a hundredth of the first.

    .. math:: \left(\partial \log_{10} k / \partial \ln \epsilon, \; \partial \log_{10} k / \partial \ln d\right)

    Args:
        d: dimension >= 2.
        epsilon: absolute cosine in (0, 1).
        law: a name of :data:`LAWS`.

    Returns:
        Both slopes, central differences in float64, about 1e-8; one-sided at d = 2.

    Raises:
        InputError: as :func:`capacity`.

    Example:
        >>> [round(slope, 2) for slope in sensitivity(4096, 0.0645, "ratio")]
        [11.44, 6.16]
    """
    low, high = epsilon * (1 - _STEP), min(epsilon * (1 + _STEP), 0.5 * (1 + epsilon), math.nextafter(1.0, 0.0))
    in_epsilon = (log10_capacity(d, high, law) - log10_capacity(d, low, law)) / math.log(high / low)
    low, high = max(d * (1 - _STEP), 2.0), d * (1 + _STEP)
    in_d = (log10_capacity(high, epsilon, law) - log10_capacity(low, epsilon, law)) / math.log(high / low)
    return in_epsilon, in_d


def _smallest_dimension(k: int, holds: Callable[[int], bool]) -> int:
    """The smallest d in [1, k] from which on it holds: doubling, then bisection. It holds at d = k."""
    low, high = 1, 2
    if k == 1:
        return 1
    while high < k and not holds(high):
        low, high = high, 2 * high
    high = min(high, k)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _log10_k(form: Form, d: np.float64, epsilon: np.float64) -> float:
    return float(form.log_k(np, d, epsilon)) / math.log(10)


def _epsilon(form: Form, log_k: np.float64, d: np.float64) -> float:
    return float(form.epsilon(np, log_k, d))


def _dimension(form: Form, k: int, epsilon: float) -> float:
    log_k = np.float64(math.log(k))
    low = min(log_k, np.float64(math.log(2)))

    def residual(log_d: np.float64) -> np.float64:
        return form.log_k(np, np.maximum(np.exp(log_d), 2.0), np.float64(epsilon)) - log_k

    return float(np.exp(monotone_root(residual, low, log_k)))


def _power_of_ten(exponent: float) -> float:
    return 10.0**exponent if exponent < 308 else math.inf
