"""Roots of monotone functions, on the host or differentiable under JAX."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from superjax.laws.namespace import Array, namespace

_HALVINGS = {np: 100, jnp: 64}


def monotone_root(residual: Callable[..., Array], low: Array, high: Array, *arguments: Array) -> Array:
    """The ``x`` in ``[low, high]`` at which an increasing residual is zero, elementwise.

    Bisection, then for JAX values one Newton step from the stopped root, ``x - r(x, theta) / r'(x)``, whose
    derivative in theta is the implicit function theorem's.

    Args:
        residual: ``residual(x, *arguments)``, increasing in x.
        low: lower end, the shape of the answer. Returned where the residual is positive there already.
        high: upper end, same shape. Returned where the residual is negative everywhere; then the answer has the
            derivative of that end.
        *arguments: what the root may be differentiated by.

    Returns:
        The root, float64 (NumPy) or the dtype of the JAX inputs.

    Source:
        Blondel et al. 2022, "Efficient and modular implicit differentiation".

    Example:
        >>> root = monotone_root(lambda x, c: x * x - c, np.float64(0), np.float64(2), np.float64(2))
        >>> round(float(root) ** 2, 12)
        2.0
    """
    xp = namespace(low, high, *arguments)
    if xp is np:
        return _bisect(np, residual, low, high, arguments)
    stopped = jax.tree.map(jax.lax.stop_gradient, (low, high, arguments))
    root = _bisect(jnp, residual, *stopped)
    value = residual(root, *arguments)
    _, slope = jax.jvp(lambda x: residual(x, *stopped[2]), (root,), (jnp.ones_like(root),))
    # A root within rounding of an end looks inside by its place, so the signs at the ends decide.
    at_low, at_high = residual(stopped[0], *stopped[2]) >= 0, residual(stopped[1], *stopped[2]) <= 0
    at_end = at_low | at_high
    inside = ~at_end & (slope > 0)
    step = jnp.where(inside, value / jnp.where(inside, slope, 1.0), 0.0)
    return jnp.where(at_end, jnp.where(at_low, low, high), root - step)


def _bisect(xp, residual, low: Array, high: Array, arguments: tuple) -> Array:  # type: ignore[no-untyped-def]
    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = 0.5 * (ends[0] + ends[1])
        below = residual(middle, *arguments) < 0
        return xp.where(below, middle, ends[0]), xp.where(below, ends[1], middle)

    if xp is jnp:
        low, high = jax.lax.fori_loop(0, _HALVINGS[jnp], halve, (low, high))
    else:
        for step in range(_HALVINGS[np]):
            low, high = halve(step, (low, high))
            if np.all(np.nextafter(low, high) >= high):
                break
    return 0.5 * (low + high)
