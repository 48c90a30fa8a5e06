"""The fitted forms of coherence against number of directions, and their inverses, as pure formulas."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from superjax.laws.namespace import Array


@dataclass(frozen=True)
class PowerForm:
    r"""One formula that holds the Johnson-Lindenstrauss, the ratio and the full form.

    .. math:: \epsilon = \sqrt{C \, \ln(k^a / d^g)^b / d^c}, \qquad
              k = \left[d^g \exp\left((d^c \epsilon^2 / C)^{1/b}\right)\right]^{1/a}

    Attributes:
        scale: C > 0.
        k_power: a > 0.
        log_power: b > 0.
        d_power: c > 0.
        divisor_power: g, 0 for the Johnson-Lindenstrauss form and 1 for the ratio and full forms.

    Source:
        Guha 2026, arXiv 2606.02765; Johnson and Lindenstrauss 1984.

    Example:
        >>> import numpy as np
        >>> ratio = PowerForm(1.2934008)
        >>> round(float(ratio.log_k(np, np.float64(4096.0), np.float64(0.0645))), 3)
        21.493
    """

    scale: float
    k_power: float = 1.0
    log_power: float = 1.0
    d_power: float = 1.0
    divisor_power: float = 1.0

    def log_k(self, xp: ModuleType, d: Array, epsilon: Array) -> Array:
        """Natural log of the k that reaches coherence epsilon in (0, 1) in dimension d."""
        exponent = (d**self.d_power * epsilon**2 / self.scale) ** (1 / self.log_power)
        return (self.divisor_power * xp.log(d) + exponent) / self.k_power

    def epsilon(self, xp: ModuleType, log_k: Array, d: Array) -> Array:
        """The coherence of exp(log_k) directions; 0 where the logarithm is not positive."""
        logarithm = self.k_power * log_k - self.divisor_power * xp.log(d)
        positive = xp.where(logarithm > 0, logarithm, 1.0)  # keeps the gradient finite where the answer is 0
        return xp.where(logarithm > 0, xp.sqrt(self.scale * positive**self.log_power / d**self.d_power), 0.0)


@dataclass(frozen=True)
class JohnsonLindenstrauss(PowerForm):
    """``epsilon = sqrt(C ln k / d)``: the ratio form without the division by d."""

    divisor_power: float = 0.0
