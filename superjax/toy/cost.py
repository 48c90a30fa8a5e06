"""What training costs, from the sizes alone."""

from __future__ import annotations

import numpy as np

from superjax.toy.members import Member


def step_flops(member: Member) -> float:
    """Operations of the matrix products in one training step of one member: three of B' x n x m.

    B' are the samples that are not empty; the products of dense data are five, over all samples.

    Args:
        member: its settings.

    Example:
        >>> round(step_flops(Member(n=1000, m=100, batch=2048)) / 1e9, 2)
        0.79
    """
    empty = float(np.exp(np.log1p(-np.minimum(member.probabilities, 1 - 1e-9), dtype=np.float64).sum()))
    sparse = member.program.sparse
    filled = member.batch * (1 - empty) if sparse else member.batch
    return (6 if sparse else 10) * filled * member.n * (member.m + 1)
