"""How often each feature is active: power, exponential, linear and uniform laws, or given probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from superjax.core.errors import InputError

DISTRIBUTIONS = ("power", "exponential", "linear", "uniform")

EXPONENTIAL_SCALE = 400.0
"""Features over which the published exponential law falls by a factor e."""


def activation_probabilities(
    distribution: str | Sequence[float] | np.ndarray,
    n: int,
    *,
    alpha: float = 1.0,
    density: float | None = 1.0,
    scale: float = EXPONENTIAL_SCALE,
) -> np.ndarray:
    r"""The probability p_i that feature i is active, scaled so that the activation density is :math:`E = \sum_i p_i`.

    .. math:: p_i \propto i^{-\alpha}, \quad e^{-(i-1)/s}, \quad (n - i + 1)/n \quad\text{or}\quad 1, \qquad i = 1 .. n

    Args:
        distribution: "power", "exponential", "linear", "uniform", or [n] non-negative weights.
        n: number of features, >= 1.
        alpha: exponent of the power law.
        density: E > 0, mean number of active features in a sample; None takes given weights as the probabilities.
        scale: s > 0 of the exponential law.

    Returns:
        [n] float32 in [0, 1].

    Raises:
        InputError: unknown distribution, wrong number of weights, or a density that makes a probability exceed 1.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465, section 2 and code of exp-10 and exp-17.

    Example:
        >>> activation_probabilities("power", 4, alpha=1.0).round(3).tolist()
        [0.47999998927116394, 0.23999999463558197, 0.1599999964237213, 0.11999999731779099]
        >>> activation_probabilities([1.0, 0.05], 2, density=None).tolist()
        [1.0, 0.05000000074505806]
    """
    weights = _weights(distribution, n, alpha, scale)
    total = weights.sum()
    if not total > 0:
        raise InputError("distribution: every probability is zero; give at least one above zero")
    factor = 1.0 if density is None else density / total
    probabilities = weights * factor
    largest = probabilities.max()
    if largest > 1 + 1e-6:
        most = total / weights.max()
        remedy = f"at most {most:.6g} here" if density is not None else "probabilities of at most 1, or a density"
        raise InputError(f"density: the most frequent feature would be active with probability {largest:.4g}; "
                         f"give {remedy}")  # fmt: skip
    return np.minimum(probabilities, 1.0).astype(np.float32)


def _weights(distribution: str | Sequence[float] | np.ndarray, n: int, alpha: float, scale: float) -> np.ndarray:
    rank = np.arange(n, dtype=np.float64)
    if not isinstance(distribution, str):
        given = np.asarray(distribution, np.float64)
        if given.shape != (n,) or not np.all(given >= 0) or not np.all(np.isfinite(given)):
            raise InputError(f"distribution: {given.shape} weights for n = {n}; give n finite numbers, none below 0")
        return given
    if distribution == "power":
        return (rank + 1) ** -alpha
    if distribution == "exponential":
        return np.exp(-rank / scale)
    if distribution == "linear":
        return (n - rank) / n
    if distribution == "uniform":
        return np.ones(n)
    raise InputError(f"distribution: {distribution!r} is unknown; choose one of {', '.join(DISTRIBUTIONS)}")
