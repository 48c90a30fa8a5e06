"""The tail of a cosine: how likely two random directions are closer than a given coherence, in logarithms."""

from __future__ import annotations

import math
from types import ModuleType

import jax.numpy as jnp
import numpy as np

from superjax.laws.namespace import Array, broadcast, plain
from superjax.laws.roots import monotone_root

_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(96)
# From the far end of the cap, angles = end - t^4 (end - start): between d = 2 and 4 the integrand has a root of
# any order in the pole, which the fourth power makes smooth enough for the rule.
_SHARES = ((1 + _GAUSS_NODES) / 2) ** 4
_WEIGHTS = 2 * ((1 + _GAUSS_NODES) / 2) ** 3 * _GAUSS_WEIGHTS
_DROP = 45.0  # the integrand is followed down to exp(-45), below float64 rounding of the sum
_NEAR = 0.7
_SHIFT = 10
_GAMMA_RATIO = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432)


def log_tail(x: Array, d: Array) -> Array:
    r"""Natural log of P(\|<u, v>\| > x) for two independent uniform unit vectors of R^d.

    .. math:: P = I_{1-x^2}\left(\frac{d-1}{2}, \frac12\right) = 2 c_d \int_{\arcsin x}^{\pi/2} \cos^{d-2} a \, da

    Args:
        x: absolute cosine in [0, 1), any shape.
        d: dimension >= 2, broadcastable.

    Returns:
        log P <= 0, never underflowing: float64 for host inputs (relative error of P about 1e-13 at moderate
        d x^2, growing as the size of log P), the JAX dtype otherwise. Differentiable in x and d.

    Source:
        The Beta(1/2, (d-1)/2) law of a squared cosine; 96-point Gauss-Legendre quadrature of the cap integral.

    Example:
        >>> round(math.exp(log_tail(0.5, 3)), 12)
        0.5
    """
    xp, (x, d) = broadcast(x, d)
    return plain(log_tail_kernel(xp, x, d))


def log_tail_kernel(xp: ModuleType, x: Array, d: Array) -> Array:
    """:func:`log_tail` for arrays of one shape in the namespace ``xp``."""
    start, power = xp.arcsin(x), d - 2
    log_cos_start = _log_cos(xp, start, xp.arccos(x))
    lowest = xp.exp(log_cos_start - _DROP / xp.maximum(power, 1e-3))
    stop, from_pole = xp.arccos(lowest), xp.arcsin(lowest)
    # Small angles are known best from the equator, large ones from the pole.
    width = xp.where(start < _NEAR, stop - start, xp.arccos(x) - from_pole)
    width = width if xp is jnp else np.maximum(width, 0.0)
    shape = (1,) * width.ndim + (-1,)
    shares = xp.asarray(_SHARES, width.dtype).reshape(shape)
    weights = xp.asarray(_WEIGHTS, width.dtype).reshape(shape)
    angles, complements = (
        start[..., None] + width[..., None] * (1 - shares),
        from_pole[..., None] + width[..., None] * shares,
    )
    fall = _log_cos(xp, angles, complements) - log_cos_start[..., None]
    if xp is np:
        fall = np.minimum(fall, 0.0)  # a rounding above 0, times a dimension of 1e100, is no cosine above the start's
    integral = width * xp.sum(weights * xp.exp(power[..., None] * fall), axis=-1)
    with np.errstate(divide="ignore"):  # the cap of x = 1, or one thinner than an angle's rounding, has probability 0
        log_integral = xp.log(integral)
    return xp.minimum(math.log(2) + log_density_constant(xp, d) + power * log_cos_start + log_integral, 0.0)


def below_one(xp: ModuleType, x: Array) -> Array:
    """x, at most a few roundings under 1, where the logarithm of the tail and its derivatives are still finite."""
    return xp.minimum(x, 1 - 4 * float(xp.finfo(x.dtype).eps))


def inverse_log_tail(log_p: Array, d: Array) -> Array:
    """The absolute cosine exceeded with probability exp(log_p).

    Args:
        log_p: natural log of a probability, <= 0, any shape.
        d: dimension >= 2, broadcastable.

    Returns:
        x in [0, 1) with ``log_tail(x, d) == log_p``, float64 or the JAX dtype; differentiable.

    Example:
        >>> round(inverse_log_tail(math.log(0.5), 3), 12)
        0.5
    """
    xp, (log_p, d) = broadcast(log_p, d)

    def residual(x: Array, log_p: Array, d: Array) -> Array:
        return log_p - log_tail_kernel(xp, x, d)

    # P <= (1 - x^2)^((d-1)/2), so the root lies at or left of the point where that bound equals exp(log_p).
    high = below_one(xp, xp.sqrt(-xp.expm1(2 * log_p / (d - 1))))
    return plain(monotone_root(residual, xp.zeros_like(high), high, log_p, d))


def log_density_constant(xp: ModuleType, d: Array) -> Array:
    """log c_d, c_d = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)), without the cancellation of two large log-gammas."""
    z = 0.5 * (d - 1)
    ratio = xp.zeros_like(z)
    for step in range(_SHIFT):  # Gamma(z+1/2)/Gamma(z) = z/(z+1/2) Gamma(z+3/2)/Gamma(z+1)
        ratio = ratio + xp.log((z + step) / (z + step + 0.5))
    z = z + _SHIFT
    series = sum(coefficient * (1 / z) ** (2 * order + 1) for order, coefficient in enumerate(_GAMMA_RATIO))
    return ratio + 0.5 * xp.log(z) + series - 0.5 * math.log(math.pi)


def _log_cos(xp: ModuleType, angle: Array, complement: Array) -> Array:
    """log cos, accurate in relative terms at both ends of [0, pi/2]; the complement is pi/2 - angle."""
    near = angle < _NEAR
    sine = xp.sin(xp.where(near, angle, 0.0))
    apart = xp.maximum(complement, float(xp.finfo(complement.dtype).tiny))
    return xp.where(near, 0.5 * xp.log1p(-(sine**2)), xp.log(xp.sin(xp.where(near, 1.0, apart))))
