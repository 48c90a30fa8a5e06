"""Levenshtein's hierarchy of lower bounds, for lines and for spherical codes, by a float64 Jacobi matrix.

With nu the law of y (the squared cosine for lines, (1 + cosine)/2 for spherical codes) the bound at level l is the
largest root of the degree-m polynomial orthogonal, up to degree m - 1, under nu - delta_{y=1}/k (l odd), or y times it
(l even). Moment matrices of that measure need about 50 digits. But multiplied by (1 - y) it loses the point mass: the
polynomial is r_m + tau r_{m-1} with r the monic Jacobi polynomials of (1 - y) nu, and its roots are the eigenvalues of
their Jacobi matrix with the last diagonal entry lowered by tau. The values of the reproducing kernel at y = 1 are the
thresholds T of the levels, which gives tau in closed form without cancellation:

    tau = rho (1 - k / T(l+1)) / (k / T(l-1) - 1),    rho = r_m(1) / r_{m-1}(1).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

MAX_LEVEL = 20


def line_threshold(d: int, level: int) -> int:
    """C(d + l - 1, l): the number of lines at which level l of the hierarchy takes over in R^d.

    Example:
        >>> [line_threshold(24, level) for level in (1, 2, 5)]
        [24, 300, 98280]
    """
    return math.comb(d + level - 1, level)


def code_threshold(d: int, level: int) -> int:
    """The number of points at which level l takes over for codes on the sphere of R^d (the design bound).

    Example:
        >>> [code_threshold(24, level) for level in (1, 2, 11)]
        [2, 25, 196560]
    """
    half = level // 2
    if level % 2:
        return 2 * math.comb(d + half - 1, half)
    return math.comb(d + half - 1, half) + (math.comb(d + half - 2, half - 1) if half else 0)


def levenshtein_lines(k: int, d: int) -> tuple[float, int]:
    """Levenshtein's lower bound on the coherence of k lines of R^d, and its level.

    Args:
        k: number of lines, >= d; above the last level's range the bound of its end is returned (valid, weaker).
        d: dimension >= 3.

    Returns:
        ``(mu, level)``; level 0 and mu = 0 for k < d.

    Source:
        Levenshtein 1992, "Designs as maximum codes in polynomial metric spaces"; Levenshtein 1998, section 5.

    Example:
        >>> levenshtein_lines(98280, 24)
        (0.5..., 4)
    """
    squared, level = _bound(k, d, line_threshold, alpha=(d - 1) / 2, beta=-0.5)
    return math.sqrt(max(squared, 0.0)), level


def levenshtein_code(n: int, d: int) -> tuple[float, int]:
    """Levenshtein's lower bound on the largest signed cosine of n points of the sphere in R^d, and its level.

    Args:
        n: number of points, >= 2.
        d: dimension >= 3.

    Returns:
        ``(cosine, level)``; level 1 is the simplex bound -1/(n-1).

    Source:
        Levenshtein 1979; Levenshtein 1998, "Universal bounds for codes and designs", section 5.

    Example:
        >>> round(levenshtein_code(240, 8)[0], 12)
        0.5
    """
    half, level = _bound(n, d, code_threshold, alpha=(d - 1) / 2, beta=(d - 3) / 2)
    return 2 * half - 1, level


def _bound(k: int, d: int, threshold: Callable[[int, int], int], alpha: float, beta: float) -> tuple[float, int]:
    if k < threshold(d, 1):
        return 0.0, 0
    level = next((found for found in range(1, MAX_LEVEL) if k <= threshold(d, found + 1)), MAX_LEVEL)
    above, below = threshold(d, level + 1), threshold(d, level - 1)
    k = min(k, above)
    degree = (level + 1) // 2
    beta += 1 - level % 2
    rho = _value_ratio(degree, alpha, beta)
    # (1 - k/T(l+1)) / (k/T(l-1) - 1) in integers: both differences may be far below the numbers
    tau = rho * ((above - k) * below / ((k - below) * above))
    diagonal, squares = _recurrence(degree, alpha, beta)
    diagonal[-1] -= tau
    off = np.sqrt(squares)
    matrix = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
    return float(np.linalg.eigvalsh(matrix)[-1]), level


def _recurrence(degree: int, alpha: float, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Diagonal and squared off-diagonal of the Jacobi matrix of y^beta (1-y)^alpha on [0, 1]."""
    n, s = np.arange(degree), alpha + beta
    diagonal = (2 * n * (n + s + 1) + s * (1 + beta)) / ((2 * n + s) * (2 * n + s + 2))
    m = n[1:]
    squares = m * (m + alpha) * (m + beta) * (m + s) / ((2 * m + s) ** 2 * (2 * m + s + 1) * (2 * m + s - 1))
    return diagonal, squares


def _value_ratio(n: int, alpha: float, beta: float) -> float:
    """r_n(1) / r_{n-1}(1) of the monic Jacobi polynomials on [0, 1]."""
    s = alpha + beta
    return (n + alpha) * (n + s) / ((2 * n + s) * (2 * n + s - 1))
