"""Power laws by least squares in logarithms, and the exponent of width from that of parameter count."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from superjax.core.errors import InputError


@dataclass(frozen=True)
class PowerFit:
    """y = scale x^exponent.

    Attributes:
        exponent: slope in log-log; a loss that falls as 1/m has -1.
        exponent_stderr: standard error of the slope from the residuals.
        interval: bootstrap 95 % interval of the slope.
        scale: exp(intercept).
        r2: of the logarithms.
        n: points used.
        window: smallest and largest x used.
        x: ``[n]`` used.
        y: ``[n]`` used.
    """

    exponent: float
    exponent_stderr: float
    interval: tuple[float, float]
    scale: float
    r2: float
    n: int
    window: tuple[float, float]
    x: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """scale x^exponent, the shape of x."""
        return self.scale * np.asarray(x, np.float64) ** self.exponent


def fit_power(
    x: np.ndarray,
    y: np.ndarray,
    *,
    window: tuple[float, float] | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> PowerFit:
    r"""Fits :math:`\ln y = \ln A + s \ln x` by ordinary least squares.

    Args:
        x: ``[n]``, > 0.
        y: ``[n]``, > 0.
        window: smallest and largest x to use, both included; default all.
        draws: bootstrap refits of resampled points.
        seed: of the bootstrap.

    Returns:
        The fit; the standard error has n - 2 degrees of freedom (0 for n = 2).

    Raises:
        InputError: fewer than two different x in the window, or a value that is not positive.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465 (windows and standard errors of loss against width).

    Example:
        >>> fit = fit_power([1, 2, 4, 8], [3, 1.5, 0.75, 0.375])
        >>> round(fit.exponent, 12), round(fit.scale, 12)
        (-1.0, 3.0)
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not (np.all(x > 0) and np.all(y > 0) and np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        raise InputError("table: a power law needs positive finite values; drop the other rows")
    if window is not None:
        inside = (x >= window[0]) & (x <= window[1])
        x, y = x[inside], y[inside]
    if len(np.unique(x)) < 2:
        raise InputError("table: fewer than two different x are left for a power law; widen --window or add rows")
    log_x, log_y = np.log(x), np.log(y)
    slope, intercept = _line(log_x, log_y)
    residual = log_y - intercept - slope * log_x
    centred = log_x - log_x.mean()
    variance = float(residual @ residual) / max(len(x) - 2, 1)
    spread = float(np.sum((log_y - log_y.mean()) ** 2))
    return PowerFit(
        exponent=slope,
        exponent_stderr=float(np.sqrt(variance / (centred @ centred))),
        interval=_bootstrap_interval(log_x, log_y, draws, seed),
        scale=float(np.exp(intercept)),
        r2=1 - float(residual @ residual) / spread if spread else 1.0,
        n=len(x),
        window=(float(x.min()), float(x.max())),
        x=x,
        y=y,
    )


def width_exponent(
    alpha_parameters: float,
    stderr: float = 0.0,
    *,
    growth: float = 2.52,
    growth_stderr: float = 0.03,
) -> tuple[float, float]:
    r"""The exponent of loss in width from that in parameters: :math:`\alpha_m = g\,\alpha_N` where N grows as m^g.

    Args:
        alpha_parameters: exponent alpha_N of loss against parameter count.
        stderr: its standard error.
        growth: g, 2.52 over the Chinchilla models.
        growth_stderr: its standard error.

    Returns:
        ``(alpha_m, standard error)``, errors combined as independent.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465 (g = 2.52 +- .03); Besiroglu et al. 2024 (alpha_N = .35 +- .02).

    Example:
        >>> "{:.2f} +- {:.2f}".format(*width_exponent(0.35, 0.02))
        '0.88 +- 0.05'
    """
    error = float(np.hypot(growth * stderr, alpha_parameters * growth_stderr))
    return growth * alpha_parameters, error


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    centred = x - x.mean()
    slope = float(centred @ (y - y.mean())) / float(centred @ centred)
    return slope, float(y.mean() - slope * x.mean())


def _bootstrap_interval(x: np.ndarray, y: np.ndarray, draws: int, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    slopes: list[float] = []
    while len(slopes) < draws:
        chosen = rng.integers(len(x), size=len(x))
        if len(np.unique(x[chosen])) > 1:
            slopes.append(_line(x[chosen], y[chosen])[0])
    low, high = np.quantile(slopes, [0.025, 0.975]) if slopes else (np.nan, np.nan)
    return float(low), float(high)
