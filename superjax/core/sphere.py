"""The unit sphere: rows of length one, their tangent spaces, steps along it, uniform points."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def normalise(x: jax.Array) -> jax.Array:
    r"""Rows scaled to length one, :math:`x_i / \|x_i\|`; a zero row stays zero and has a zero derivative.

    Args:
        x: [..., d] float.

    Returns:
        [..., d] of the same dtype, norms 1 within a few units in the last place, or 0.

    Note:
        Rows are first divided by their largest entry, so that squares neither overflow nor vanish.

    Example:
        >>> normalise(jnp.array([[3.0, 4.0], [0.0, 0.0], [1e-30, 0.0]])).round(3).tolist()
        [[0.6000000238418579, 0.800000011920929], [0.0, 0.0], [1.0, 0.0]]
    """
    largest = jnp.max(jnp.abs(x), axis=-1, keepdims=True)
    real = largest > 0
    scaled = x / jnp.where(real, largest, 1)
    # The double where: without the inner one the derivative of a zero row would be 0 * inf.
    squares = jnp.sum(jnp.square(jnp.where(real, scaled, 1)), axis=-1, keepdims=True)
    return jnp.where(real, scaled / jnp.sqrt(squares), 0)


def tangent(x: jax.Array, g: jax.Array) -> jax.Array:
    r"""The part of `g` that is tangent to the sphere at unit rows `x`: :math:`g_i - \langle g_i, x_i \rangle x_i`.

    Args:
        x: [..., d] unit rows.
        g: [..., d].

    Returns:
        [..., d], orthogonal to `x` row by row.

    Example:
        >>> tangent(jnp.array([[1.0, 0.0]]), jnp.array([[5.0, 2.0]])).tolist()
        [[0.0, 2.0]]
    """
    return g - jnp.sum(g * x, axis=-1, keepdims=True) * x


def retract(x: jax.Array, step: jax.Array) -> jax.Array:
    r"""A step on the sphere: :math:`(x_i + s_i) / \|x_i + s_i\|`, which agrees with the geodesic to second order.

    Args:
        x: [..., d] unit rows.
        step: [..., d] tangent rows.

    Returns:
        [..., d] unit rows.

    Example:
        >>> retract(jnp.array([[1.0, 0.0]]), jnp.array([[0.0, 0.75]])).round(3)[0]
        Array([0.8, 0.6], dtype=float32)
    """
    return normalise(x + step)


def uniform(key: jax.Array, rows: int, dim: int) -> jax.Array:
    """Independent uniform points of the unit sphere, from normalised Gaussian rows (Muller 1959).

    Args:
        key: typed key, [].
        rows: how many.
        dim: d >= 1.

    Returns:
        [rows, d] float32 unit rows, bitwise the same wherever they are drawn.

    Example:
        >>> uniform(jax.random.key(0), 4, 3).shape
        (4, 3)
    """
    return normalise(jax.random.normal(key, (rows, dim), jnp.float32))
