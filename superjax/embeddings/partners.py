"""How a token's input and output vectors relate: the cosine of each pair in an untied model."""

from __future__ import annotations

import numpy as np

from superjax.core.errors import InputError
from superjax.embeddings.rows import unit_rows


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
    left, right = unit_rows(x[:vocab]), unit_rows(y[:vocab])
    both, in_left, in_right = np.intersect1d(left.kept, right.kept, return_indices=True)
    products = np.einsum("vd,vd->v", left.unit[in_left], right.unit[in_right], dtype=np.float64)
    cosines[both] = np.clip(products, -1, 1)
    return cosines
