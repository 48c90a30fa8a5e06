"""The parameter-free quantile law: the coherence at which contacts equal degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from superjax.laws.namespace import Array
from superjax.laws.roots import monotone_root
from superjax.laws.tail import below_one, log_tail_kernel

QUANTILE_RATIO = 16.0  # smallest k/d at which the law was compared and holds; far below, it falls under Welch


@dataclass(frozen=True)
class QuantileLaw:
    r"""Coherence of a random-start optimum, from a count of contacts and no fitted constant.

    The part of the cosine law beyond epsilon is pushed onto \|cosine\| = epsilon, and a rigid packing has as many
    contacts as degrees of freedom:

    .. math:: P(|\langle u, v\rangle| > \epsilon) = f, \qquad
              f = \frac{k(d-1) - d(d-1)/2}{k(k-1)/2} \approx \frac{2d}{k}

    f is 1 at k = d, so the law gives 0 there; solved for k it is a quadratic. With a factor s the law reads
    epsilon = s times the quantile.

    Attributes:
        factor: s, 1 for the parameter-free law.

    Source:
        Isostatic counting, a heuristic of this project (packing.md 4.4): optima by gradient descent from random
        starts lie within 15 % for k/d >= 16, and below k/d of about 8 the quantile falls under Welch's bound.

    Example:
        >>> import numpy as np
        >>> round(float(QuantileLaw().epsilon(np, np.log(32000.0), np.float64(256.0))), 4)
        0.1503
    """

    factor: float = 1.0

    def log_k(self, xp: ModuleType, d: Array, epsilon: Array) -> Array:
        """Natural log of the k whose contact fraction is the tail beyond epsilon."""
        quantile = epsilon / self.factor
        # A factor under 1 can ask for a cosine above 1.
        return log_k_of_tail(xp, log_tail_kernel(xp, below_one(xp, quantile), d), d)

    def epsilon(self, xp: ModuleType, log_k: Array, d: Array) -> Array:
        """The coherence of exp(log_k) directions; 0 for k <= d."""

        def residual(x: Array, log_k: Array, d: Array) -> Array:
            return log_k_of_tail(xp, log_tail_kernel(xp, x, d), d) - log_k

        beyond = log_k > xp.log(d)
        target = xp.where(beyond, log_k, xp.log(d) + 1.0)
        # P <= (1 - x^2)^((d-1)/2) and P >= 1/k put the root at or left of this point.
        high = below_one(xp, xp.sqrt(-xp.expm1(-2 * target / (d - 1))))
        x = monotone_root(residual, xp.zeros_like(high), high, target, d)
        return xp.where(beyond, self.factor * x, 0.0)


def log_k_of_tail(xp: ModuleType, log_p: Array, d: Array) -> Array:
    """Natural log of the larger root k of P k^2 - (P + 2(d-1)) k + d(d-1) = 0."""
    p = xp.exp(log_p)
    double = 2 * (d - 1)
    root = 0.5 * (p / double + 1 + xp.sqrt((p / double) ** 2 + (1 - p)))
    return xp.log(double) + xp.log(root) - log_p
