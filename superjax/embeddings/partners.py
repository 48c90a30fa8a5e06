"""How a token's input and output vectors relate: the cosine of each pair in an untied model."""

from __future__ import annotations

import numpy as np

from superjax.core.errors import InputError
from superjax.embeddings.rows import directions_of, float64_blocks


def partner_cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Cosine of row i of `x` with row i of `y`.

    Args:
        x: [V, d] input embedding.
        y: [V', d] output (unembedding) matrix; rows beyond the shorter of the two are ignored.

    Returns:
        [min(V, V')] float64 in [-1, 1]; NaN where either row is zero or not finite.

    Raises:
        InputError: when the two have different d.

    Example:
        >>> partner_cosines(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [1.0, 0.0]])).round(4).tolist()
        [0.7071, nan]
    """
    if x.shape[1] != y.shape[1]:
        raise InputError(f"the input rows have {x.shape[1]} elements and the output rows {y.shape[1]}; they must agree")
    vocab = min(len(x), len(y))
    cosines = np.full(vocab, np.nan)
    for (start, left), (_, right) in zip(float64_blocks(x[:vocab]), float64_blocks(y[:vocab]), strict=True):
        _, one, usable = directions_of(left)
        _, other, usable_too = directions_of(right)
        with np.errstate(invalid="ignore"):
            products = np.clip(np.einsum("vd,vd->v", one, other), -1, 1)
        cosines[start : start + len(left)] = np.where(usable & usable_too, products, np.nan)
    return cosines
