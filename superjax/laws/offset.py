"""Loss against width with an irreducible part per model class and data set: loss = A / m^alpha + B."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from superjax.core.errors import InputError

_ALPHAS = np.geomspace(0.02, 8.0, 121)


@dataclass(frozen=True)
class OffsetFit:
    """loss = scale / m^alpha + offsets[group].

    Attributes:
        scale: A, common to all groups.
        alpha: the exponent, common to all groups.
        offsets: B of each group.
        alpha_stderr: from the covariance of all constants, n - (groups + 2) degrees of freedom.
        scale_stderr: of A.
        interval: bootstrap 95 % interval of alpha, residuals resampled.
        mse: mean squared residual.
        r2: 1 - residual / total sum of squares.
        n: rows.
        predicted: ``[n]``.
    """

    scale: float
    alpha: float
    offsets: dict[Hashable, float]
    alpha_stderr: float
    scale_stderr: float
    interval: tuple[float, float]
    mse: float
    r2: float
    n: int
    predicted: np.ndarray = field(repr=False)


def fit_offset(
    m: np.ndarray, loss: np.ndarray, groups: Sequence[Hashable], *, draws: int = 200, seed: int = 0
) -> OffsetFit:
    r"""Fits one A and one alpha to all groups and a B to each, by least squares on the loss.

    .. math:: L = A / m^{\alpha} + B_{group}

    For a given alpha the rest is linear, so only alpha is searched (variable projection): a grid over [0.02, 8], then
    Brent's method in the best cell, without starting values.

    Args:
        m: width ``[n]``, > 0.
        loss: ``[n]``, finite.
        groups: ``[n]`` labels, such as (model class, data set).
        draws: bootstrap refits for the interval; 0 for none.
        seed: of the bootstrap.

    Returns:
        The fit.

    Raises:
        InputError: fewer rows than constants + 1, one width only, or values out of range.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465: over 16 class and data-set pairs alpha = .9098, A = 476.08, standard
        error .036. Golub and Pereyra 1973 (variable projection).

    Example:
        >>> m = np.array([64.0, 128, 256, 512] * 2)
        >>> fit = fit_offset(m, 30 / m**0.9 + np.repeat([1.0, 2.0], 4), ["a"] * 4 + ["b"] * 4, draws=0)
        >>> round(fit.alpha, 6), round(fit.scale, 4), round(fit.offsets["b"], 6)
        (0.9, 30.0, 2.0)
    """
    m, loss = np.asarray(m, np.float64), np.asarray(loss, np.float64)
    labels = list(dict.fromkeys(groups))
    member = np.array([[label == group for label in labels] for group in groups], np.float64).reshape(len(m), -1)
    if not (np.all(m > 0) and np.all(np.isfinite(m)) and np.all(np.isfinite(loss))):
        raise InputError("table: widths must be positive and losses finite; drop the other rows")
    if len(m) < len(labels) + 3 or len(np.unique(m)) < 3:
        raise InputError(
            f"table: {len(m)} rows, {len(np.unique(m))} widths do not fix A, alpha and {len(labels)} offsets; add rows"
        )
    unit = float(np.exp(np.log(m).mean()))  # widths in units of their mean keep the two columns comparable
    alpha = _best_alpha(m / unit, loss, member)
    scale = _scale_of(m / unit, loss, member, alpha) * unit**alpha
    offsets = member.T @ (loss - scale * m**-alpha) / member.sum(axis=0)
    predicted = scale * m**-alpha + member @ offsets
    residual = loss - predicted
    stderr = _standard_errors(m, alpha, scale, member, residual)
    return OffsetFit(
        scale=scale,
        alpha=alpha,
        offsets=dict(zip(labels, offsets.tolist(), strict=True)),
        alpha_stderr=stderr[1],
        scale_stderr=stderr[0],
        interval=_residual_bootstrap(m / unit, predicted, residual, member, alpha, draws, seed),
        mse=float(residual @ residual) / len(m),
        r2=1 - float(residual @ residual) / float(np.sum((loss - loss.mean()) ** 2)),
        n=len(m),
        predicted=predicted,
    )


def _within(values: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Values less their group's mean, which is what a free offset per group leaves to fit."""
    return values - member @ (member.T @ values / member.sum(axis=0))


def _scale_of(m: np.ndarray, loss: np.ndarray, member: np.ndarray, alpha: float) -> float:
    x = _within(m**-alpha, member)
    return float(x @ loss) / float(x @ x)


def _best_alpha(m: np.ndarray, loss: np.ndarray, member: np.ndarray, near: float | None = None) -> float:
    from scipy.optimize import minimize_scalar

    inside = _within(loss, member)

    def squares(log_alpha: float) -> float:
        x = _within(m ** -np.exp(log_alpha), member)
        return -(float(x @ inside) ** 2) / float(x @ x)  # the residual sum of squares less that of ``inside``

    if near is not None:
        ends = np.log(near) - 1.0, np.log(near) + 1.0
    else:
        grid = np.log(_ALPHAS)
        best = int(np.argmin([squares(value) for value in grid]))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(np.exp(minimize_scalar(squares, bounds=ends, method="bounded", options={"xatol": 1e-10}).x))


def _standard_errors(
    m: np.ndarray, alpha: float, scale: float, member: np.ndarray, residual: np.ndarray
) -> tuple[float, float]:
    power = m**-alpha
    jacobian = np.concatenate([power[:, None], (-scale * power * np.log(m))[:, None], member], axis=1)
    freedom = max(len(m) - jacobian.shape[1], 1)
    lengths = np.linalg.norm(jacobian, axis=0)
    inverse = np.linalg.pinv((jacobian / lengths).T @ (jacobian / lengths)) / np.outer(lengths, lengths)
    errors = np.sqrt(np.diag(inverse) * float(residual @ residual) / freedom)
    return float(errors[0]), float(errors[1])


def _residual_bootstrap(
    m: np.ndarray,
    predicted: np.ndarray,
    residual: np.ndarray,
    member: np.ndarray,
    alpha: float,
    draws: int,
    seed: int,
) -> tuple[float, float]:
    if draws == 0:
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    drawn = (predicted + rng.choice(residual, len(residual)) for _ in range(draws))
    found = [_best_alpha(m, loss, member, near=alpha) for loss in drawn]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)
