"""Packings whose optimum has a closed form."""

from __future__ import annotations

import numpy as np

from superjax.laws.constructions import simplex
from superjax.packing.objectives import Objective


def has_closed_form(k: int, d: int) -> bool:
    """Whether `exact_packing` knows the optimum, for every objective; nothing is built.

    Args:
        k: number of vectors.
        d: dimension.

    Example:
        >>> has_closed_form(4, 3), has_closed_form(5, 3)
        (True, False)
    """
    return d <= 2 or k <= d + 1


def exact_packing(objective: Objective, k: int, d: int) -> np.ndarray | None:
    """The optimum where it has a closed form: an orthonormal set, a simplex, equally spaced lines or points.

    Args:
        objective: what is minimised.
        k: number of vectors.
        d: dimension.

    Returns:
        [k, d] float64, or None.

    Example:
        >>> exact_packing(Objective(), 2, 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if not has_closed_form(k, d):
        return None
    if d == 1:
        return np.where(np.arange(k)[:, None] % 2, -1.0, 1.0)
    if objective.name == "coherence" and k <= d:
        return np.eye(k, d)
    if k <= d + 1:  # for points too: the simplex is best for the largest cosine and for every energy
        return _padded_simplex(k, d)
    angle = (np.pi if objective.name == "coherence" else 2 * np.pi) * np.arange(k) / k
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _padded_simplex(k: int, d: int) -> np.ndarray:
    rows = simplex(k - 1).vectors() if k > 1 else np.ones((1, 1))
    return np.pad(rows, ((0, 0), (0, d - rows.shape[1])))
