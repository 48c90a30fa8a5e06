"""Exponents of loss against hidden dimension, with their uncertainty over seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superjax.core.errors import InputError
from superjax.laws.powerlaw import fit_power


@dataclass(frozen=True)
class ExponentFit:
    """L = scale m^-exponent fitted to losses.

    Attributes:
        exponent: alpha_m, positive where loss falls with m.
        stderr: standard error of the slope; 0 for two points.
        r2: share of the variance of log L explained.
        scale: A.
        interval: 95 % bootstrap interval over seeds; NaN for one seed.
        points: number of m in the window.
        seeds: number of seeds.
    """

    exponent: float
    stderr: float
    r2: float
    scale: float
    interval: tuple[float, float]
    points: int
    seeds: int


def fit_exponent(
    m: np.ndarray,
    loss: np.ndarray,
    *,
    window: tuple[float, float] | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> ExponentFit:
    r"""Fit alpha_m in L = A m^-alpha_m by ordinary least squares of log L on log m, losses averaged over seeds.

    Args:
        m: [M] hidden dimensions, at least two different ones inside the window.
        loss: [M] or [S, M] losses of S seeds, > 0; an m where one of them is NaN is left out.
        window: smallest and largest m to use; all by default.
        draws: bootstrap resamplings of the seeds.
        seed: of the bootstrap.

    Returns:
        The fit.

    Raises:
        InputError: fewer than two usable m.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465 (the slope and its standard error); Efron and Tibshirani 1993.

    Example:
        >>> fit = fit_exponent(np.array([10, 20, 40]), np.array([0.8, 0.4, 0.2]))
        >>> round(fit.exponent, 6), round(fit.scale, 6), round(fit.r2, 6)
        (1.0, 8.0, 1.0)
    """
    m, losses = np.asarray(m, np.float64), np.atleast_2d(np.asarray(loss, np.float64))
    usable = np.all(losses > 0, axis=0)
    m, losses = m[usable], losses[:, usable]
    if len(np.unique(m)) < 2:
        raise InputError("m: an exponent needs finite losses at two sizes or more; give more values of m")
    fit = fit_power(m, losses.mean(axis=0), window=window, draws=0)
    rng = np.random.default_rng(seed)
    resampled = (losses[rng.integers(len(losses), size=len(losses))].mean(axis=0) for _ in range(draws))
    exponents = [-fit_power(m, mean, window=window, draws=0).exponent for mean in resampled if len(losses) > 1]
    low, high = np.quantile(exponents, [0.025, 0.975]) if exponents else (np.nan, np.nan)
    return ExponentFit(
        exponent=-fit.exponent,
        stderr=fit.exponent_stderr,
        r2=fit.r2,
        scale=fit.scale,
        interval=(float(low), float(high)),
        points=fit.n,
        seeds=len(losses),
    )
