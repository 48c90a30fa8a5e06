"""How many directions fit in R^d at coherence epsilon: the published laws, their inverses, their range."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from superjax.core.errors import InputError
from superjax.laws.checks import at_least, inside_unit_interval
from superjax.laws.forms import JohnsonLindenstrauss, PowerForm
from superjax.laws.namespace import Array, broadcast, namespace, plain
from superjax.laws.published import shipped_fits
from superjax.laws.quantile import QUANTILE_RATIO, QuantileLaw
from superjax.laws.roots import monotone_root

LAWS = ("jl_proven", "jl_random", "jl_optimised", "ratio", "full", "quantile")


class Form(Protocol):
    """A law as two formulas: ln k of (d, epsilon), and epsilon of (ln k, d)."""

    def log_k(self, xp: ModuleType, d: Array, epsilon: Array) -> Array: ...

    def epsilon(self, xp: ModuleType, log_k: Array, d: Array) -> Array: ...


@dataclass(frozen=True)
class FitRange:
    """Where a law was fitted; outside it an answer is extrapolated.

    Attributes:
        k: smallest and largest number of directions.
        d: smallest and largest dimension.
        ratio: smallest k/d.
        source: what it was fitted to.
    """

    k: tuple[float, float]
    d: tuple[float, float]
    ratio: float
    source: str

    def holds(self, k: Array, d: Array) -> Array:
        """Whether (k, d) lies inside; bool, elementwise."""
        slack = 1 + 1e-9  # k comes from a formula: its rounding is no extrapolation
        inside = (k * slack >= self.k[0]) & (k <= self.k[1] * slack) & (k * slack >= self.ratio * d)
        return inside & (d >= self.d[0]) & (d <= self.d[1])

    def __str__(self) -> str:
        if self.d[1] == math.inf:
            return self.source
        ratio = f", k/d >= {self.ratio:g}" if self.ratio > 1 else ""
        return f"k {self.k[0]:g} to {self.k[1]:g}, d {self.d[0]:g} to {self.d[1]:g}{ratio}; {self.source}"


@dataclass(frozen=True)
class Law:
    """A named law: its form with constants, and the range of its fit."""

    name: str
    title: str
    form: Form
    range: FitRange


@cache
def law(name: str) -> Law:
    """The law of that name.

    Args:
        name: jl_proven (C = 8), jl_random (C = 3.03, best of 1000 random draws), jl_optimised (C = .707), ratio,
            full, or quantile (no fitted constant).

    Returns:
        The law with the published constants.

    Raises:
        InputError: for any other name.

    Source:
        Guha 2026, arXiv 2606.02765; jl_proven: Johnson and Lindenstrauss 1984 with the best proven constant.

    Example:
        >>> law("full").form.k_power > 1
        True
    """
    if name == "jl_proven":
        everywhere = FitRange((1, math.inf), (1, math.inf), 0.0, "proven for every k and d")
        return Law(name, "Johnson-Lindenstrauss, proven", JohnsonLindenstrauss(8.0), everywhere)
    if name == "quantile":
        seen = _shipped_range(name)
        beyond = FitRange(seen.k, seen.d, QUANTILE_RATIO, "no constant fitted; compared with the published optima")
        return Law(name, "quantile (contacts = degrees of freedom)", QuantileLaw(), beyond)
    if name not in LAWS:
        raise InputError(f"law: {name!r} is unknown; choose one of {', '.join(LAWS)}")
    titles = {
        "jl_random": "Johnson-Lindenstrauss, random draws",
        "jl_optimised": "Johnson-Lindenstrauss, optimised",
        "ratio": "ratio form",
        "full": "full form",
    }
    form = form_of(name, tuple(shipped_fits()[name]["constants"].values()))
    return Law(name, titles[name], form, _shipped_range(name))


def form_of(name: str, constants: Sequence[float]) -> PowerForm:
    """The form of a fitted law with these constants: (C,) or, for the full form, (C, a, b, c).

    Example:
        >>> form_of("full", (0.458, 1.067, 1.447, 0.972)).d_power
        0.972
    """
    return JohnsonLindenstrauss(*constants) if name.startswith("jl") else PowerForm(*constants)


def capacity(d: Array, epsilon: Array, law: str = "full") -> Array:
    r"""The number of directions whose largest \|cosine\| reaches epsilon in R^d, by a law.

    ``full``: :math:`k = [d \exp((d^c \epsilon^2/C)^{1/b})]^{1/a}`; ``ratio``: :math:`k = d \exp(d \epsilon^2 / C)`;
    ``jl_*``: :math:`k = \exp(d \epsilon^2 / C)`; ``quantile``: see :class:`~superjax.laws.quantile.QuantileLaw`.

    Args:
        d: dimension >= 2, scalar or array.
        epsilon: accepted absolute cosine in (0, 1), broadcastable with d.
        law: a name of :data:`LAWS`.

    Returns:
        k: a float or float64 array for Python and NumPy inputs, else a JAX array (differentiable, its own
        dtype: float32 gives about 1e-4 of k). The raw formula: it may lie below d, where d orthonormal directions
        exist anyway, and it is infinite where k overflows; :func:`log10_capacity` does not overflow.

    Raises:
        InputError: for d, epsilon (host values) or law out of range.

    Source:
        Guha 2026, arXiv 2606.02765. Not an upper bound: see :func:`superjax.laws.capacity_bracket`.

    Example:
        >>> f"{capacity(4096, 0.0645):.3g} {capacity(4096, 0.0645, 'ratio'):.2g}"
        '3.99e+07 2.2e+09'
    """
    xp, log_k = _log_k(d, epsilon, law)
    with np.errstate(over="ignore"):
        return plain(xp.exp(log_k))


def log10_capacity(d: Array, epsilon: Array, law: str = "full") -> Array:
    """Decimal logarithm of :func:`capacity`, for answers no float holds.

    Args:
        d: dimension >= 2.
        epsilon: absolute cosine in (0, 1).
        law: a name of :data:`LAWS`.

    Returns:
        log10 k, same conventions as :func:`capacity`.

    Example:
        >>> round(log10_capacity(10**6, 0.5, "ratio"))
        83950
    """
    _, log_k = _log_k(d, epsilon, law)
    return plain(log_k / math.log(10))


def epsilon_for(k: Array, d: Array, law: str = "full") -> Array:
    r"""The coherence k directions reach in R^d, by a law; exactly 0 for k <= d.

    ``full``: :math:`\epsilon = \sqrt{C \ln(k^a/d)^b / d^c}`, and the inverses of the others in :func:`capacity`.

    Args:
        k: number of directions >= 1, scalar or array.
        d: dimension >= 2, broadcastable.
        law: a name of :data:`LAWS`.

    Returns:
        epsilon >= 0; above 1 where the formula leaves its meaning (a formula, not a bound). Float, float64 array or
        JAX array as in :func:`capacity`, whose inverse this is for k > d.

    Raises:
        InputError: for k or d (host values) or law out of range.

    Source:
        Guha 2026, arXiv 2606.02765.

    Example:
        >>> round(epsilon_for(32000, 4096, "ratio"), 5), epsilon_for(4000, 4096)
        (0.02548, 0.0)
    """
    at_least("k", k, 1)
    at_least("d", d, 2)
    _, (k, d) = broadcast(k, d)
    return plain(_evaluate(_epsilon, _law(law).form, k, d))


def dimension_for(k: Array, epsilon: Array, law: str = "full") -> Array:
    """The dimension in which k directions reach coherence epsilon, by a law: the d with capacity(d, epsilon) = k.

    Args:
        k: number of directions >= 1, scalar or array.
        epsilon: absolute cosine in (0, 1), broadcastable.
        law: a name of :data:`LAWS`.

    Returns:
        d, real-valued (round up to use it), between 2 and k, since k orthonormal directions fit in R^k. Float,
        float64 array or JAX array as in :func:`capacity`.

    Raises:
        InputError: for k, epsilon (host values) or law out of range.

    Example:
        >>> round(dimension_for(capacity(4096, 0.0645), 0.0645), 6)
        4096.0
    """
    at_least("k", k, 1)
    inside_unit_interval("epsilon", epsilon)
    _, (k, epsilon) = broadcast(k, epsilon)
    return plain(_evaluate(_dimension, _law(law).form, k, epsilon))


def is_extrapolated(d: Array, epsilon: Array, law: str = "full") -> Array:
    """Whether capacity(d, epsilon, law) lies outside the range the law was fitted on.

    Args:
        d: dimension >= 2.
        epsilon: absolute cosine in (0, 1).
        law: a name of :data:`LAWS`.

    Returns:
        bool or bool array: d, or the k the law answers, lies outside ``law(name).range``.

    Example:
        >>> is_extrapolated(4096, 0.0645), is_extrapolated(1024, 0.05)
        (True, False)
    """
    xp, log_k = _log_k(d, epsilon, law)
    with np.errstate(over="ignore"):
        outside = ~_law(law).range.holds(xp.exp(log_k), xp.asarray(d))
    return bool(outside) if xp is np and outside.ndim == 0 else outside


def _log_k(d: Array, epsilon: Array, name: str) -> tuple[ModuleType, Array]:
    at_least("d", d, 2)
    inside_unit_interval("epsilon", epsilon)
    xp, (d, epsilon) = broadcast(d, epsilon)
    return xp, _evaluate(_log_k_of, _law(name).form, d, epsilon)


def _log_k_of(xp: ModuleType, form: Form, d: Array, epsilon: Array) -> Array:
    return form.log_k(xp, d, epsilon)


def _epsilon(xp: ModuleType, form: Form, k: Array, d: Array) -> Array:
    found = form.epsilon(xp, xp.log(xp.maximum(k, d * (1 + 4 * float(xp.finfo(d.dtype).eps)))), d)
    return xp.where(k > d, xp.maximum(found, 0.0), 0.0)


def _dimension(xp: ModuleType, form: Form, k: Array, epsilon: Array) -> Array:
    def residual(log_d: Array, log_k: Array, epsilon: Array) -> Array:
        return form.log_k(xp, xp.maximum(xp.exp(log_d), 2.0), epsilon) - log_k

    log_k = xp.log(k)
    return xp.exp(monotone_root(residual, xp.minimum(log_k, math.log(2)), log_k, log_k, epsilon))


def _evaluate(formula: Callable[..., Array], form: Form, first: Array, second: Array) -> Array:
    """The formula in NumPy, or compiled for JAX values."""
    if namespace(first, second) is np:
        return formula(np, form, first, second)
    return _compiled(formula, form, first, second)


@partial(jax.jit, static_argnums=(0, 1))
def _compiled(formula: Callable[..., Array], form: Form, first: Array, second: Array) -> Array:
    return formula(jnp, form, first, second)


_law = law  # the public functions take an argument of that name


def _shipped_range(name: str) -> FitRange:
    found = shipped_fits()[name]["range"]
    return FitRange(tuple(found["k"]), tuple(found["d"]), 1.0, found["source"])
