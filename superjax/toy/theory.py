"""What theory says of the loss and the overlaps of toy models: without superposition, and with strong superposition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from superjax.laws.bounds import welch

CROSS_OVER_ALPHA = 1.5
"""Exponent of the features' power law at which 2 (alpha - 1) passes 1."""


def ignored_loss(probabilities: np.ndarray, high: float = 2.0) -> np.ndarray:
    r"""Loss of features the model ignores, each with its best bias, the feature's mean.

    .. math:: \langle x^2 \rangle - \langle x \rangle^2 = \tfrac{h^2}{3} p - \tfrac{h^2}{4} p^2,
              \quad \tfrac43 p - p^2 \text{ for } h = 2

    Args:
        probabilities: [...] p in [0, 1].
        high: h, values are uniform on (0, h).

    Returns:
        [...] float64.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465.

    Example:
        >>> ignored_loss(np.array([0.0, 0.3, 1.0])).round(4).tolist()
        [0.0, 0.31, 0.3333]
    """
    p = np.asarray(probabilities, np.float64)
    return high**2 * (p / 3 - p**2 / 4)


def trivial_loss(probabilities: np.ndarray, high: float = 2.0) -> float:
    """Loss of the model that represents nothing, W = 0 and b = <x>.

    Example:
        >>> round(trivial_loss(np.full(1000, 1e-3)), 4)
        1.3323
    """
    return float(ignored_loss(probabilities, high).sum())


def ideal_weak_loss(probabilities: np.ndarray, m: int | Sequence[int] | np.ndarray, high: float = 2.0) -> np.ndarray:
    r"""Loss without superposition: the m most frequent features kept exactly, the others ignored.

    .. math:: L(m) = \sum_{i > m} \left(\tfrac43 p_i - p_i^2\right)

    Args:
        probabilities: [n] p in any order.
        m: hidden dimensions, each in [0, n].
        high: values are uniform on (0, high).

    Returns:
        Loss for every m, float64 of the shape of m.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465; the sum is exact for finite n.

    Example:
        >>> ideal_weak_loss(np.array([0.1, 0.3, 0.2]), [0, 1, 3]).round(4).tolist()
        [0.66, 0.35, 0.0]
    """
    losses = ignored_loss(np.sort(np.asarray(probabilities, np.float64))[::-1], high)
    tail = np.append(np.cumsum(losses[::-1])[::-1], 0.0)
    return tail[np.asarray(m)]


def strong_exponent(alpha: float) -> float:
    r"""Conjectured exponent alpha_m of L ~ m^-alpha_m in strong superposition: 1, or 2 (alpha - 1) where larger.

    Args:
        alpha: exponent of the features' power law, >= 0.

    Source:
        Liu, Liu and Gore 2025, arXiv 2505.10465: 1 / m from overlaps, 2 (alpha - 1) from the features beyond m^2 / 2.

    Example:
        >>> [strong_exponent(alpha) for alpha in (0.0, 1.0, 2.0)]
        [1.0, 1.0, 2.0]
    """
    return max(1.0, 2 * (alpha - 1))


def random_overlap_moments(m: float) -> tuple[float, float]:
    r"""Mean and variance of the squared cosine of random directions, which is Beta(1/2, (m - 1)/2).

    .. math:: \frac1m, \qquad \frac{2 (m - 1)}{m^2 (m + 2)}

    Args:
        m: dimension >= 1.

    Example:
        >>> random_overlap_moments(10)
        (0.1, 0.015)
    """
    return 1 / m, 2 * (m - 1) / (m**2 * (m + 2))


def welch_overlap(number: int, m: int) -> float:
    r"""Least possible mean squared cosine of `number` directions in m dimensions, kappa^2; reached by tight frames.

    .. math:: \kappa^2 = \frac{\nu - m}{m (\nu - 1)}, \quad 0 \text{ for } \nu \le m

    Args:
        number: nu >= 2.
        m: dimension >= 1.

    Source:
        Welch 1974; Benedetto and Fickus 2003 (the mean, by the frame potential).

    Example:
        >>> round(welch_overlap(1000, 100), 6), welch_overlap(5, 10)
        (0.009009, 0.0)
    """
    return welch(number, m) ** 2 if number > m else 0.0
