"""Independent answers for the tests of superjax.laws: mpmath, scipy and plain NumPy; imports nothing of ours."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np


def log_tail(x: float, d: int) -> float:
    """log P(|<u,v>| > x) at 50 digits."""
    with mpmath.workdps(50):
        x2 = mpmath.mpf(x) ** 2
        return float(mpmath.log(mpmath.betainc(mpmath.mpf(d - 1) / 2, 0.5, 0, 1 - x2, regularized=True)))


def even_moment(j: int, d: int) -> mpmath.mpf:
    """E <u,v>^{2j} = (2j-1)!! / (d(d+2)...(d+2j-2))."""
    return mpmath.fprod(mpmath.mpf(2 * i + 1) / (d + 2 * i) for i in range(j))


def levenshtein_lines(k: int, d: int, level: int) -> float:
    """Largest root of the orthogonal polynomial of the squared cosine's law less a point mass 1/k, from its moments."""
    with mpmath.workdps(80):
        shift, degree = (level + 1) % 2, (level + 1) // 2
        moments = [even_moment(j + shift, d) - mpmath.mpf(1) / k for j in range(2 * degree)]
        return float(mpmath.sqrt(_largest_root(moments, degree)))


def levenshtein_code(n: int, d: int, level: int) -> float:
    """The same for the signed cosine; even levels carry the weight 1 + t."""
    with mpmath.workdps(80):
        degree = (level + 1) // 2
        moments = [(even_moment(j // 2, d) if j % 2 == 0 else 0) - mpmath.mpf(1) / n for j in range(2 * degree + 1)]
        if level % 2 == 0:
            moments = [low + high for low, high in itertools.pairwise(moments)]
        return float(_largest_root(moments, degree))


def _largest_root(moments: list, degree: int) -> mpmath.mpf:
    hankel = mpmath.matrix(degree, degree)
    right = mpmath.matrix(degree, 1)
    for i in range(degree):
        right[i] = -moments[i + degree]
        for j in range(degree):
            hankel[i, j] = moments[i + j]
    tail = mpmath.lu_solve(hankel, right)
    roots = mpmath.polyroots([1, *[tail[j] for j in reversed(range(degree))]], maxsteps=500, extraprec=400)
    return max(mpmath.re(root) for root in roots)


def coherence(vectors: np.ndarray, block: int = 2048) -> float:
    """Largest |cosine| over all pairs, float64."""
    unit = vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    largest = 0.0
    for start in range(0, len(unit), block):
        gram = np.abs(unit[start : start + block] @ unit[start:].T)
        np.fill_diagonal(gram, 0.0)
        largest = max(largest, float(gram.max()))
    return largest


def gf2_rank(matrices: np.ndarray) -> np.ndarray:
    """Ranks over GF(2) of uint8 ``[N, m, m]``, by elimination on all at once."""
    work = matrices.copy()
    count, rows, columns = work.shape
    rank = np.zeros(count, np.int64)
    each = np.arange(count)
    for column in range(columns):
        candidates = (work[:, :, column] == 1) & (np.arange(rows) >= rank[:, None])
        found = candidates.any(axis=1)
        pivot = np.where(found, candidates.argmax(axis=1), 0)
        target = np.minimum(rank, rows - 1)
        pivot_row, target_row = work[each, pivot].copy(), work[each, target].copy()
        work[each[found], pivot[found]] = target_row[found]
        work[each[found], target[found]] = pivot_row[found]
        eliminate = (work[:, :, column] == 1) & (np.arange(rows) != target[:, None]) & found[:, None]
        work ^= eliminate[:, :, None] * work[each, target][:, None, :]
        rank += found
    return rank
