"""Coherence of random directions: the law of one cosine, of the largest of all pairs, and of the best of many draws."""

from __future__ import annotations

import math

import numpy as np

from superjax.laws.checks import at_least, whole
from superjax.laws.namespace import Array, broadcast, plain
from superjax.laws.tail import inverse_log_tail, log_density_constant, log_tail

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_SMALL = -40.0  # natural log of a probability p for which 1 - exp(-p) is p to rounding
_MASS = 1e-12  # probability left out at either end of the mean's integral
GUMBEL_RANGE = 0.02  # ln k / d up to which the Gumbel mean is within about 2 %


def cosine_tail(x: Array, d: Array) -> Array:
    r"""P(\|<u, v>\| > x) for two independent uniform unit vectors: :math:`I_{1-x^2}((d-1)/2, 1/2)`.

    Args:
        x: absolute cosine in [0, 1).
        d: dimension >= 2, broadcastable.

    Returns:
        Probability, float64 (or the JAX dtype); :func:`superjax.laws.tail.log_tail` does not underflow.

    Source:
        <u, v>^2 follows Beta(1/2, (d-1)/2).

    Example:
        >>> round(cosine_tail(0.25, 3), 12)
        0.75
    """
    xp, (x, d) = broadcast(x, d)
    return plain(xp.exp(xp.asarray(log_tail(x, d))))


def cosine_density(x: Array, d: Array) -> Array:
    r"""Density of the signed cosine of two independent uniform unit vectors, :math:`c_d (1 - x^2)^{(d-3)/2}`.

    Args:
        x: cosine in (-1, 1).
        d: dimension >= 2, broadcastable.

    Returns:
        Density over [-1, 1], float64 (or the JAX dtype); it integrates to 1.

    Source:
        (1 + <u, v>) / 2 follows Beta((d-1)/2, (d-1)/2).

    Example:
        >>> round(cosine_density(0.3, 3), 12)
        0.5
    """
    xp, (x, d) = broadcast(x, d)
    return plain(xp.exp(log_density_constant(xp, d) + 0.5 * (d - 3) * xp.log1p(-(x**2))))


def max_coherence_cdf(x: Array, k: Array, d: Array, draws: int = 1) -> Array:
    r"""P(coherence of k random directions <= x), or of the best of several draws.

    :math:`F = (1 - P(|\cos| > x))^{k(k-1)/2}`, and :math:`1 - (1 - F)^T` for the smallest of T coherences. Cosines of
    different pairs are pairwise independent; taking them all as independent is exact for k = 2 and errs by less than
    sampling shows elsewhere.

    Args:
        x: absolute cosine in [0, 1).
        k: number of directions >= 2.
        d: dimension >= 2.
        draws: T >= 1.

    Returns:
        Probability, float64.

    Raises:
        InputError: k, d or draws out of range.

    Source:
        Cai, Fan and Jiang 2013.

    Example:
        >>> round(max_coherence_cdf(0.25, 2, 3), 12)
        0.25
    """
    draws = _check(k, d, draws)
    _, (x, k, d) = broadcast(x, k, d)
    with np.errstate(divide="ignore", over="ignore"):  # a logarithm of 0 is a probability of 0 or 1
        log_p = np.asarray(log_tail(x, d))
        # ln(-ln(1 - p)), which is ln p to rounding where p is small
        log_rate = np.where(log_p < _SMALL, log_p, np.log(-np.log1p(-np.exp(log_p))))
        log_f = -np.exp(_log_pairs(k) + log_rate)
        return plain(-np.expm1(draws * np.log1p(-np.exp(log_f))) if draws > 1 else np.exp(log_f))


def max_coherence_quantile(probability: Array, k: Array, d: Array, draws: int = 1) -> Array:
    """The coherence that k random directions (or the best of several draws) stay under with this probability.

    Args:
        probability: in (0, 1).
        k: number of directions >= 2.
        d: dimension >= 2.
        draws: T >= 1.

    Returns:
        x in [0, 1), float64; the inverse of :func:`max_coherence_cdf`.

    Example:
        >>> round(max_coherence_quantile(0.5, 32000, 4096), 4)
        0.0945
    """
    draws = _check(k, d, draws)
    _, (probability, k, d) = broadcast(probability, k, d)
    log_one_draw = np.log(-np.expm1(np.log1p(-probability) / draws))
    log_rate = np.log(-log_one_draw) - _log_pairs(k)  # each pair stays under x equally likely
    small = log_rate < _SMALL
    log_p = np.where(small, log_rate, np.log(-np.expm1(-np.exp(np.where(small, 0.0, log_rate)))))
    return plain(inverse_log_tail(log_p, d))


def max_coherence_mean(k: Array, d: Array, draws: int = 1) -> Array:
    r"""The mean coherence of k random directions, or of the best of several draws: :math:`\int_0^1 (1 - F(x)) dx`.

    Args:
        k: number of directions >= 2, scalar or array.
        d: dimension >= 2, broadcastable.
        draws: T >= 1.

    Returns:
        The mean, float64, within about 1e-9 of the law's.

    Source:
        The law of :func:`max_coherence_cdf`.

    Example:
        >>> round(max_coherence_mean(2000, 32), 4), round(max_coherence_mean(2, 3), 6)
        (0.7594, 0.5)
    """
    draws = _check(k, d, draws)
    _, (k, d) = broadcast(k, d)
    low = np.asarray(max_coherence_quantile(_MASS, k, d, draws))
    high = np.asarray(max_coherence_quantile(1 - _MASS, k, d, draws))
    half = 0.5 * (high - low)
    x = low[..., None] + half[..., None] * (1 + _NODES)
    above = 1 - np.asarray(max_coherence_cdf(x, k[..., None], d[..., None], draws))
    return plain(low + half * (above @ _WEIGHTS))


def gumbel_cdf(x: Array, k: Array, d: Array) -> Array:
    r"""Limit law of the coherence: :math:`\exp(-e^{-y/2} / \sqrt{8\pi})`, y = -d ln(1 - x^2) - 4 ln k + ln ln k.

    Args:
        x: absolute cosine in [0, 1).
        k: number of directions >= 3.
        d: dimension >= 2, ln k << d: see :func:`gumbel_holds`.

    Returns:
        Probability, float64.

    Source:
        Cai and Jiang 2012; Cai, Fan and Jiang 2013.

    Example:
        >>> round(gumbel_cdf(0.0945, 32000, 4096), 1)
        0.5
    """
    _, (x, k, d) = broadcast(x, k, d)
    y = -d * np.log1p(-(x**2)) - 4 * np.log(k) + np.log(np.log(k))
    return plain(np.exp(-np.exp(-y / 2) / math.sqrt(8 * math.pi)))


def gumbel_mean(k: Array, d: Array) -> Array:
    r"""Leading-order mean coherence: :math:`\sqrt{(4 \ln k - \ln\ln k - \ln 8\pi + 2\gamma) / d}`.

    Args:
        k: number of directions >= 3.
        d: dimension, ln k << d: too high by a relative ln k / d.

    Returns:
        The approximation, float64.

    Source:
        Cai and Jiang 2012; Cai, Fan and Jiang 2013.

    Example:
        >>> round(gumbel_mean(32000, 4096), 5)
        0.09515
    """
    _, (k, d) = broadcast(k, d)
    return plain(np.sqrt((4 * np.log(k) - np.log(np.log(k)) - math.log(8 * math.pi) + 2 * np.euler_gamma) / d))


def gumbel_holds(k: Array, d: Array) -> Array:
    """Whether ln k <= 0.02 d, where :func:`gumbel_mean` is within about 2 % of :func:`max_coherence_mean`.

    Example:
        >>> bool(gumbel_holds(32000, 4096)), bool(gumbel_holds(2000, 32))
        (True, False)
    """
    _, (k, d) = broadcast(k, d)
    return np.log(k) <= GUMBEL_RANGE * d


def _check(k: Array, d: Array, draws: int) -> int:
    at_least("k", k, 2)
    at_least("d", d, 2)
    return whole("draws", draws, 1)


def _log_pairs(k: np.ndarray) -> np.ndarray:
    """ln(k (k - 1) / 2), for k whose square no float holds."""
    return np.log(k) + np.log(k - 1) - math.log(2)
