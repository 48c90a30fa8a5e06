"""Least-squares fits of the capacity laws to a table of (k, d, coherence), with intervals and out-of-sample error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from superjax.core.errors import InputError
from superjax.laws.forms import JohnsonLindenstrauss, PowerForm
from superjax.laws.published import published_packings
from superjax.laws.quantile import QUANTILE_RATIO, QuantileLaw

LOW_K = ("formula", "zero", "exclude")
PUBLISHED_LOW_K = {"jl": "formula", "ratio": "zero", "full": "zero", "quantile": "exclude"}
_NAMES = {"jl": ("C",), "ratio": ("C",), "full": ("C", "a", "b", "c"), "quantile": ("s",)}
_NEEDED = (
    "give rows with k > d and a positive coherence",
    "give rows with k > d of at least three different d and several k, or fit the ratio law",
)
_RANK_TOLERANCE = 1e-8  # smallest singular value of the Jacobian, its columns of length 1
_DISTINCT = 5  # resamples from which percentiles say something
_START = (1.0, 1.0, 1.0, 1.0)  # the full form starts as the ratio form


@dataclass(frozen=True)
class LawFit:
    """A law fitted to a table.

    Attributes:
        law: jl, ratio, full or quantile.
        low_k: how rows with k <= d were treated.
        constants: fitted constants by name (C; C, a, b, c; or the quantile's factor s).
        covariance: ``[p, p]`` of the constants, residual variance times the inverse normal matrix.
        bootstrap: ``[draws, p]`` constants refitted to resampled dimensions (all rows of a d together); none where
            fewer than five different resamples tell the constants, as three dimensions do for full.
        n: rows used.
        r2: 1 - residual / total sum of squares of epsilon.
        mape: mean absolute percentage error, in percent, over rows of positive coherence.
        median_ape: median absolute percentage error, in percent; rows with k <= d do not dominate it.
        leave_one_d_out: mean absolute percentage error on each d from a fit without it, in percent; a d without which
            the rest does not fix the constants is skipped, and without any other it is NaN.
        aic: n ln(RSS / n) + 2 (p + 1).
        low_rows: the (k, d) with k <= d, in table order.
        k: ``[n]`` of the rows used.
        d: ``[n]``.
        coherence: ``[n]``.
        predicted: ``[n]``.
    """

    law: str
    low_k: str
    constants: dict[str, float]
    covariance: np.ndarray
    bootstrap: np.ndarray
    n: int
    r2: float
    mape: float
    median_ape: float
    leave_one_d_out: float
    aic: float
    low_rows: tuple[tuple[int, int], ...]
    k: np.ndarray = field(repr=False)
    d: np.ndarray = field(repr=False)
    coherence: np.ndarray = field(repr=False)
    predicted: np.ndarray = field(repr=False)

    @property
    def stderr(self) -> dict[str, float]:
        """Standard error of each constant, from the covariance."""
        return dict(zip(self.constants, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    def predict(self, k: np.ndarray, d: np.ndarray) -> np.ndarray:
        """The fitted coherence of k directions in R^d, 0 for k <= d; arrays of one shape."""
        k, d = np.asarray(k, np.float64), np.asarray(d, np.float64)
        rows = _rows(self.law, k, d, np.zeros_like(k), "zero")
        return _predict(self.law, np.array(list(self.constants.values())), rows)

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """The bootstrap percentile interval of a constant; NaN where there are no resamples."""
        draws = self.bootstrap[:, list(self.constants).index(name)]
        if not len(draws):
            return float("nan"), float("nan")
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


def fit_law(
    k: np.ndarray,
    d: np.ndarray,
    coherence: np.ndarray,
    law: str,
    *,
    low_k: str = "exclude",
    draws: int = 200,
    seed: int = 0,
) -> LawFit:
    r"""Fits a law by least squares on epsilon.

    .. math:: \min_\theta \sum_i (\epsilon_i - \epsilon_\theta(k_i, d_i))^2

    Args:
        k: number of directions ``[n]``, >= 1.
        d: dimension ``[n]``, >= 2.
        coherence: measured largest absolute cosine ``[n]``, in [0, 1].
        law: jl (C), ratio (C), full (C, a, b, c) or quantile (a factor s; 1 is the parameter-free law).
        low_k: rows with k <= d, where an orthonormal set has coherence 0: "exclude" them, predict "zero", or use
            the "formula" (0 where its logarithm is not positive). The published constants need "formula" for jl and
            "zero" for full.
        draws: bootstrap refits; 0 for none.
        seed: of the bootstrap.

    Returns:
        The fit; rows with k <= d are named in it.

    Raises:
        InputError: unknown law or treatment, fewer rows than constants + 1, or rows that do not fix the constants:
            full needs three different d (and a Jacobian of full rank), the others a positive coherence with k > d.

    Source:
        Guha 2026, arXiv 2606.02765 (forms); Efron and Tibshirani 1993 (bootstrap of whole groups).

    Example:
        >>> fit = fit_law(*published_packings("optimised"), "ratio", low_k="zero", draws=0)
        >>> round(fit.constants["C"], 4), round(fit.mape, 3)
        (1.2934, 7.949)
    """
    _check_choice(law, low_k)
    k, d, coherence = (np.asarray(column, np.float64) for column in (k, d, coherence))
    low = k <= d
    low_rows = tuple((int(a), int(b)) for a, b in zip(k[low], d[low], strict=True))
    if low_k == "exclude":
        k, d, coherence = k[~low], d[~low], coherence[~low]
    if len(k) <= len(_NAMES[law]):
        raise InputError(
            f"table: {len(k)} rows are left for the {law} law, fewer than its constants + 1; "
            "give more rows or another --low_k"
        )
    rows = _rows(law, k, d, coherence, low_k)
    if not _informative(law, rows):
        raise InputError(f"table: the rows do not fix the {law} law's constants; {_NEEDED[law == 'full']}")
    theta = _minimise(law, rows)
    predicted = _predict(law, theta, rows)
    residual = coherence - predicted
    rss = float(residual @ residual)
    n, p = len(k), len(theta)
    jacobian = _jacobian(law, theta, rows)
    if not np.all(np.isfinite(theta)) or _rank(jacobian) < p:
        raise InputError(f"table: the rows do not fix the {law} law's constants; {_NEEDED[law == 'full']}")
    covariance = rss / max(n - p, 1) * np.linalg.pinv(jacobian.T @ jacobian)
    percentages = _percentages(coherence, predicted)
    spread = coherence - coherence.mean()
    return LawFit(
        law=law,
        low_k=low_k,
        constants=dict(zip(_NAMES[law], theta.tolist(), strict=True)),
        covariance=covariance,
        bootstrap=_bootstrap(law, rows, draws, seed),
        n=n,
        r2=1 - rss / float(spread @ spread) if spread.any() else float("nan"),
        mape=float(percentages.mean()),
        median_ape=float(np.median(percentages)),
        leave_one_d_out=_leave_one_d_out(law, rows),
        aic=n * float(np.log(max(rss, 1e-300) / n)) + 2 * (p + 1),
        low_rows=low_rows,
        k=k,
        d=d,
        coherence=coherence,
        predicted=predicted,
    )


def percentage_errors(
    k: np.ndarray, d: np.ndarray, coherence: np.ndarray, law: str, constants: Sequence[float]
) -> tuple[float, float]:
    """Mean and median absolute percentage error of a law with given constants on rows with k > d.

    Args:
        k: ``[n]``.
        d: ``[n]``.
        coherence: ``[n]``, in [0, 1].
        law: jl, ratio, full or quantile.
        constants: as :func:`fit_law` orders them.

    Returns:
        ``(mean, median)`` in percent.

    Raises:
        InputError: no row has k > d and a positive coherence.

    Example:
        >>> "{:.2f} {:.2f}".format(*percentage_errors(*published_packings("optimised"), "ratio", (1.2934008,)))
        '4.50 3.58'
    """
    above = np.asarray(k) > np.asarray(d)
    k, d, coherence = (np.asarray(column, np.float64)[above] for column in (k, d, coherence))
    rows = _rows(law, k, d, coherence, "exclude")
    found = _percentages(rows.coherence, _predict(law, np.asarray(constants, np.float64), rows))
    if not len(found):
        raise InputError("table: no row has k > d and a positive coherence; give such rows")
    return float(found.mean()), float(np.median(found))


def shipped_records(draws: int = 200) -> dict[str, dict[str, Any]]:
    """What data/fits.json holds: every law fitted to the published packings as published.

    Args:
        draws: bootstrap refits kept with each law.

    Returns:
        JSON-ready records by law name: constants, covariance, bootstrap draws, the range fitted, and the constants
        with k <= d left out; for the quantile law, which has none, the spread of published over quantile.
    """
    records = {
        "jl_random": _record("jl", "random", draws),
        "jl_optimised": _record("jl", "optimised", draws),
        "ratio": _record("ratio", "optimised", draws),
        "full": _record("full", "optimised", draws),
    }
    k, d, coherence = published_packings("optimised")
    inside = k >= QUANTILE_RATIO * d
    ratios = coherence[inside] / QuantileLaw().epsilon(np, np.log(k[inside]), d[inside])
    spread = np.quantile(ratios, [0.025, 0.975]).tolist()
    return {**records, "quantile": {"spread": spread, "cells": len(ratios), "range": records["full"]["range"]}}


def _record(law: str, kind: str, draws: int) -> dict[str, Any]:
    k, d, coherence = published_packings(kind)
    fit = fit_law(k, d, coherence, law, low_k=PUBLISHED_LOW_K[law], draws=draws)
    recommended = fit_law(k, d, coherence, law, low_k="exclude", draws=0)
    return {
        "law": law,
        "low_k": fit.low_k,
        "constants": fit.constants,
        "covariance": fit.covariance.tolist(),
        "bootstrap": [[float(f"{value:.9g}") for value in draw] for draw in fit.bootstrap],
        "recommended": recommended.constants,
        "range": {
            "k": [float(k.min()), float(k.max())],
            "d": [float(d.min()), float(d.max())],
            "source": f"published {kind} packings, arXiv 2606.02765",
        },
    }


@dataclass(frozen=True)
class _Rows:
    """Rows to fit, with the prediction of a one-factor law at factor 1, which resampling then need not repeat."""

    k: np.ndarray
    d: np.ndarray
    coherence: np.ndarray
    low_k: str
    unit: np.ndarray

    def take(self, index: np.ndarray) -> _Rows:
        return _Rows(self.k[index], self.d[index], self.coherence[index], self.low_k, self.unit[index])


def _rows(law: str, k: np.ndarray, d: np.ndarray, coherence: np.ndarray, low_k: str) -> _Rows:
    if law == "full":
        unit = np.full(k.shape, np.nan)
    elif law == "quantile":
        unit = QuantileLaw().epsilon(np, np.log(k), d)
    else:
        unit = _form(law, np.ones(1)).epsilon(np, np.log(k), d)
    return _Rows(k, d, coherence, low_k, np.where(k <= d, 0.0, unit) if low_k == "zero" else unit)


def _form(law: str, theta: np.ndarray) -> PowerForm:
    return JohnsonLindenstrauss(float(theta[0])) if law == "jl" else PowerForm(*map(float, theta))


def _predict(law: str, theta: np.ndarray, rows: _Rows) -> np.ndarray:
    if law == "quantile":
        return theta[0] * rows.unit
    if law != "full":
        return np.sqrt(theta[0]) * rows.unit
    predicted = _form(law, theta).epsilon(np, np.log(rows.k), rows.d)
    return np.where(rows.k <= rows.d, 0.0, predicted) if rows.low_k == "zero" else predicted


def _minimise(law: str, rows: _Rows) -> np.ndarray:
    if law == "full":
        return _minimise_full(rows)
    # One factor on a known shape is linear least squares: sqrt(C) for jl and ratio, s for the quantile.
    factor = float(rows.unit @ rows.coherence) / float(rows.unit @ rows.unit)
    return np.array([factor if law == "quantile" else factor**2])


def _minimise_full(rows: _Rows, start: tuple[float, ...] = _START) -> np.ndarray:
    from scipy.optimize import least_squares

    def residual(logs: np.ndarray) -> np.ndarray:
        return _predict("full", np.exp(logs), rows) - rows.coherence

    def jacobian(logs: np.ndarray) -> np.ndarray:
        theta = np.exp(logs)
        return _jacobian("full", theta, rows) * theta

    tight = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}
    return np.exp(least_squares(residual, np.log(start), jac=jacobian, method="lm", **tight).x)


def _jacobian(law: str, theta: np.ndarray, rows: _Rows) -> np.ndarray:
    """d epsilon / d theta, [n, p]."""
    predicted = _predict(law, theta, rows)
    if law == "quantile":
        return (predicted / theta[0])[:, None]
    columns = [predicted / (2 * theta[0])]
    if law == "full":
        _, a, b, _ = theta
        logarithm = np.where(predicted > 0, a * np.log(rows.k) - np.log(rows.d), 1.0)
        columns += [
            predicted * b * np.log(rows.k) / (2 * logarithm),
            predicted * np.log(np.abs(logarithm)) / 2,
            -predicted * np.log(rows.d) / 2,
        ]
    return np.stack(columns, axis=1)


def _bootstrap(law: str, rows: _Rows, draws: int, seed: int) -> np.ndarray:
    """Refits to dimensions drawn with replacement: rows of one d share an optimiser and its luck."""
    rng = np.random.default_rng(seed)
    dimensions = np.unique(rows.d)
    groups = [np.flatnonzero(rows.d == value) for value in dimensions]
    if len(groups) == 1:
        groups = [np.array([row]) for row in range(len(rows.d))]
    found: list[np.ndarray] = []
    distinct: set[tuple[int, ...]] = set()
    while len(found) < draws:
        chosen = rng.integers(len(groups), size=len(groups))
        sample = rows.take(np.concatenate([groups[group] for group in chosen]))
        if _informative(law, sample):  # all rows together are, so some draw is
            found.append(_minimise(law, sample))
            distinct.add(tuple(sorted(chosen.tolist())))
    kept = found if len(distinct) >= min(_DISTINCT, draws) else []
    return np.array(kept).reshape(len(kept), len(_NAMES[law]))


def _leave_one_d_out(law: str, rows: _Rows) -> float:
    errors: list[np.ndarray] = []
    for value in np.unique(rows.d):
        inside, outside = rows.take(rows.d != value), rows.take(rows.d == value)
        if len(inside.k) > len(_NAMES[law]) and _informative(law, inside):
            errors.append(_percentages(outside.coherence, _predict(law, _minimise(law, inside), outside)))
    return float(np.concatenate(errors).mean()) if any(map(len, errors)) else float("nan")


def _informative(law: str, rows: _Rows) -> bool:
    """Whether these rows can tell the law's constants, judged before any is known."""
    if law != "full":
        return bool(rows.unit @ rows.coherence > 0)
    telling = rows.take((rows.k > rows.d) & (rows.coherence > 0))
    if len(np.unique(telling.d)) < 3:  # a and c cannot be told apart in fewer dimensions
        return False
    return _rank(_jacobian(law, np.array(_START), telling)) == len(_START)


def _rank(jacobian: np.ndarray) -> int:
    """Rank of ``[n, p]``, each column measured by its own length."""
    lengths = np.linalg.norm(jacobian, axis=0)
    if len(jacobian) < jacobian.shape[1] or not np.all(np.isfinite(jacobian)) or not np.all(lengths > 0):
        return 0
    return int(np.linalg.matrix_rank(jacobian / lengths, tol=_RANK_TOLERANCE))


def _percentages(coherence: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Absolute percentage errors; a coherence of exactly 0 has none."""
    positive = coherence > 0
    return 100 * np.abs(predicted - coherence)[positive] / coherence[positive]


def _check_choice(law: str, low_k: str) -> None:
    for name, value, choices in (("law", law, tuple(_NAMES)), ("low_k", low_k, LOW_K)):
        if value not in choices:
            raise InputError(f"{name}: {value!r} is unknown; choose one of {', '.join(choices)}")
