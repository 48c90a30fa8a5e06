"""What is minimised, as reducers of Gram tiles: smooth largest cosine of lines or points, and Riesz energy."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from superjax.core.errors import InputError
from superjax.core.pairwise import Tile

Name = Literal["coherence", "spherical", "riesz"]
OBJECTIVES: tuple[Name, ...] = ("coherence", "spherical", "riesz")

_LARGEST_EXPONENT = 60.0  # e^60 times 2^32 pairs is still a float32
LARGEST_POWER = 100
_CROWDED = 0.1  # of the mean spacing: nearer points repel no more than at this distance

_product = partial(jnp.matmul, precision="highest", preferred_element_type=jnp.float32)


class Pull(NamedTuple):
    """Totals of a pass over all pairs.

    Attributes:
        weight: [] float32, sum of the pairs' weights or energies, which the gradient is divided by.
        largest: [] float32, the largest (absolute) cosine met, -inf when there is no pair.
    """

    weight: jax.Array
    largest: jax.Array


class _Attraction:
    """The part every objective shares: totals are a `Pull`, a row's value is its gradient [V, d]."""

    def empty(self) -> Pull:
        return Pull(jnp.float32(0), jnp.float32(-jnp.inf))

    def merge(self, a: Pull, b: Pull, xp: Any) -> Pull:
        return Pull(a.weight + b.weight, xp.maximum(a.largest, b.largest))

    def empty_rows(self, rows: int, like: jax.Array) -> jax.Array:
        return jnp.zeros((rows, like.shape[1]), jnp.float32)

    def merge_rows(self, a: jax.Array, b: jax.Array) -> jax.Array:
        return a + b


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothMaximum(_Attraction):
    r"""Log-sum-exp of the pairs' (absolute) cosines: :math:`\frac1\beta \log \sum_{i<j} e^{\beta (c_{ij} - m)} + m`.

    Its gradient is the row value divided by the weight: a mean of the other rows, by their softmax weights.

    Attributes:
        sharpness: [] beta; the maximum itself in the limit.
        shift: [] m, about the largest cosine, so that no exponential overflows and the largest does not vanish.
        signed: points (the cosine itself) rather than lines (its absolute value).

    Example:
        >>> from superjax.core.pairwise import reduce_pairs
        >>> rows = jnp.array([[1.0, 0.0], [0.6, 0.8]])
        >>> totals, gradient = reduce_pairs(rows, SmoothMaximum(jnp.float32(9.0), jnp.float32(0.6)), block=2)
        >>> round(float(totals.largest), 6), (gradient / totals.weight).round(6).tolist()[1]
        (0.6, [1.0, 0.0])
    """

    sharpness: jax.Array
    shift: jax.Array
    signed: bool = field(default=False, metadata={"static": True})

    def value(self, totals: Pull) -> jax.Array:
        """[] the largest cosine itself, which the smooth maximum stands for."""
        return totals.largest

    def tile(self, tile: Tile) -> tuple[Pull, jax.Array, jax.Array]:
        slope, totals = self.slope(tile.gram, tile.mask)
        return totals, _product(slope, tile.right), _product(slope.T, tile.left)

    def slope(self, gram: jax.Array, mask: jax.Array) -> tuple[jax.Array, Pull]:
        """Derivatives by the inner products, up to the weight, 0 outside of `mask`; and the totals."""
        cosine = jnp.where(mask, gram if self.signed else jnp.abs(gram), -jnp.inf)
        weight = jnp.exp(jnp.minimum(self.sharpness * (cosine - self.shift), _LARGEST_EXPONENT))
        return weight if self.signed else jnp.copysign(weight, gram), Pull(jnp.sum(weight), jnp.max(cosine))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RieszEnergy(_Attraction):
    r"""Log of the Riesz energy :math:`\sum_{i<j} \|x_i - x_j\|^{-s}` of points; s = 1 is Thomson's problem.

    Energies are in units of :math:`\delta^{-s}`, the energy of a pair at the distance of the nearest, so that no power
    over- or underflows. The gradient of the log is the row value divided by the weight.

    Attributes:
        power: [] s > 0.
        nearest: [] squared distance below which energy and slope grow no further, so that one crowded pair does not
            drown the others.
        unit: [] delta^2, about the least squared distance.

    Source:
        Thomson 1904 (s = 1); Saff and Kuijlaars 1997.

    Example:
        >>> from superjax.core.pairwise import reduce_pairs
        >>> rows, reducer = jnp.array([[1.0, 0.0], [-1.0, 0.0]]), RieszEnergy(jnp.float32(1.0), unit=jnp.float32(2.0))
        >>> totals, _ = reduce_pairs(rows, reducer, block=2)
        >>> round(float(jnp.exp(reducer.value(totals))), 6)
        0.5
    """

    power: jax.Array
    nearest: jax.Array | float = 1e-6
    unit: jax.Array | float = 1.0

    def value(self, totals: Pull) -> jax.Array:
        """[] log of the energy; infinite, so never the least, where all of it is too small for the unit."""
        log_energy = jnp.log(totals.weight) - self.power / 2 * jnp.log(self.unit)
        return jnp.where(totals.weight > 0, log_energy, jnp.inf)

    def tile(self, tile: Tile) -> tuple[Pull, jax.Array, jax.Array]:
        square = jnp.maximum(2 - 2 * jnp.where(tile.mask, tile.gram, -1.0), self.nearest)
        exponent = jnp.minimum(-self.power / 2 * jnp.log(square / self.unit), _LARGEST_EXPONENT)
        energy = jnp.where(tile.mask, jnp.exp(exponent), 0.0)
        slope = self.power * energy / square
        totals = Pull(jnp.sum(energy), jnp.max(jnp.where(tile.mask, tile.gram, -jnp.inf)))
        return totals, _product(slope, tile.right), _product(slope.T, tile.left)


@dataclass(frozen=True)
class Objective:
    """What a packing minimises.

    Attributes:
        name: "coherence" (largest absolute cosine), "spherical" (largest cosine) or "riesz" (energy).
        riesz_s: the power of "riesz", up to 100: from there on the nearest pair is all of the energy ("spherical").

    Raises:
        InputError: another name, or a power out of range.

    Example:
        >>> Objective("spherical").signed
        True
    """

    name: Name = "coherence"
    riesz_s: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in OBJECTIVES:
            raise InputError(f"objective: {self.name} is unknown; give one of {', '.join(OBJECTIVES)}")
        if not 0 < self.riesz_s <= LARGEST_POWER:
            raise InputError(
                f"riesz_s: {self.riesz_s:g} is not in (0, {LARGEST_POWER}]; give 1, or --objective=spherical"
            )

    @property
    def signed(self) -> bool:
        """Whether x and -x are different points, rather than one line."""
        return self.name != "coherence"

    def scale(self, least: jax.Array, count: int, dim: int) -> jax.Array:
        """[] the length on which the landscape changes.

        Args:
            least: [] least largest cosine met so far.
            count: k.
            dim: d.
        """
        if self.name == "coherence":
            return least
        if self.name == "spherical":  # the largest cosine may be 0 or less; 1 / sqrt(d) is then that of all cosines
            return jnp.maximum(least, dim**-0.5)
        return jnp.sqrt(jnp.maximum(2 - 2 * least, _spacing(count, dim) ** 2) / dim)

    def reducer(
        self, sharpness: jax.Array, largest: jax.Array, scale: jax.Array, count: int, dim: int
    ) -> SmoothMaximum | RieszEnergy:
        """The reducer of one step.

        Args:
            sharpness: [] relative to `scale`.
            largest: [] the largest cosine of the step before.
            scale: [] of `scale`.
            count: k.
            dim: d.
        """
        if self.name == "riesz":
            nearest = jnp.float32((_CROWDED * _spacing(count, dim)) ** 2)
            return RieszEnergy(jnp.float32(self.riesz_s), nearest, jnp.maximum(2 - 2 * largest, nearest))
        return SmoothMaximum(sharpness / scale, largest, self.signed)

    def least_slope(self, count: int, dim: int) -> float:
        """A gradient entry, root mean square over a vector, below which a step is Newton's rather than a fixed length.

        The smooth maximum curves by about beta times a vector's share 2 / k of the weights, spread over d directions.
        With few vectors for the dimension all gradients vanish together, and steps of fixed length around that
        equilibrium drive the whole frame out of balance. With k >> d they do not, and fixed lengths are faster.
        """
        return 0.0 if self.name == "riesz" else min(0.5, 1.5 * dim / count) / (count * dim)

    def shown(self, value: np.ndarray) -> np.ndarray:
        """What is told of values that steps gave: energies, of which they compare the logs.

        Args:
            value: of steps, any shape.

        Returns:
            float64; infinite beyond it.
        """
        with np.errstate(over="ignore"):
            wide = np.asarray(value, np.float64)
            return np.exp(wide) if self.name == "riesz" else wide


def _spacing(count: int, dim: int) -> float:
    """About the distance of neighbours among points well spread."""
    return float(count ** (-1 / max(dim - 1, 1)))
