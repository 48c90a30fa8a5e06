"""Loss against width with an irreducible part per model class and data set: loss = A / m^alpha + B."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from superjax.core.errors import InputError

_ALPHAS = np.geomspace(0.02, 8.0, 121)
_NEAR_END = 1.001
_WIDEST = 1e30  # widths between its inverse and it: the largest alpha keeps m^alpha a float


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
        InputError: rows that do not fix the constants, an alpha at an end of the range, or values out of range.

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
    _check(m, loss, member)
    unit = float(np.exp(np.log(m).mean()))  # widths in units of their mean keep the two columns comparable
    alpha = _best_alpha(m / unit, loss, member)
    if not _ALPHAS[0] * _NEAR_END < alpha < _ALPHAS[-1] / _NEAR_END:
        raise InputError(
            f"table: the best alpha lies at an end of the range searched, {_ALPHAS[0]:g} to {_ALPHAS[-1]:g}, so the "
            "losses show no such law; fit a power law, or other rows"
        )
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


def _check(m: np.ndarray, loss: np.ndarray, member: np.ndarray) -> None:
    if not (np.all(m >= 1 / _WIDEST) and np.all(m <= _WIDEST) and np.all(np.isfinite(loss))):
        raise InputError(
            f"table: widths must be positive, from {1 / _WIDEST:g} to {_WIDEST:g}, and losses finite; "
            "drop the other rows"
        )
    widths, groups = len(np.unique(m)), member.shape[1]
    if len(m) < groups + 3 or widths < 3 or _independent_shapes(m, member) < 2:
        raise InputError(
            f"table: {len(m)} rows, {widths} widths do not fix A, alpha and {groups} offsets; add rows of more widths "
            "to a group"
        )
    varying = np.abs(_within(loss, member)).max()
    if varying <= 1e-12 * np.abs(loss).max():
        raise InputError("table: the losses do not vary within any group, so no exponent fits; add other losses")


def _independent_shapes(m: np.ndarray, member: np.ndarray) -> int:
    """How many of a slope and a curvature in ln m the offsets leave to fit: A and alpha need both."""
    log_m = np.log(m) - np.log(m).mean()
    shapes = np.stack([_within(log_m, member), _within(log_m**2, member)], axis=1)
    lengths = np.linalg.norm(shapes, axis=0)
    scale = np.abs(log_m).max()
    if np.any(lengths <= 1e-9 * np.array([scale, scale**2])):
        return 0
    return int(np.linalg.matrix_rank(shapes / lengths, tol=1e-9))


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
