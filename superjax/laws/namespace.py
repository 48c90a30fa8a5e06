"""One formula for both worlds: NumPy float64 on the host, jnp under jit, vmap and grad."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = Any  # float, np.ndarray or jax.Array: every law takes all three


def namespace(*values: Array) -> ModuleType:
    """``jnp`` if any value is a JAX array or tracer, else ``numpy``.

    Args:
        *values: scalars or arrays of any shape.

    Returns:
        The module whose functions the formula should call. NumPy formulas run in float64, so a public
        scalar is exact to rounding whatever JAX's precision setting; jnp formulas keep the dtype they get.

    Example:
        >>> namespace(1.0, np.ones(3)).__name__
        'numpy'
    """
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def broadcast(*values: Array) -> tuple[ModuleType, list[Array]]:
    """The namespace and the values, floating and of one shape.

    Args:
        *values: scalars or arrays that broadcast together.

    Returns:
        ``(xp, arrays)``: float64 NumPy arrays, or JAX arrays of the widest floating dtype among the inputs.

    Example:
        >>> broadcast(2, [1, 2])[1][0].tolist()
        [2.0, 2.0]
    """
    xp = namespace(*values)
    if xp is np:
        return np, list(np.broadcast_arrays(*(np.asarray(value, np.float64) for value in values)))
    dtype = jnp.result_type(float, *(value for value in values if isinstance(value, jax.Array)))
    return jnp, list(jnp.broadcast_arrays(*(jnp.asarray(value, dtype) for value in values)))


def plain(value: Array) -> Array:
    """A Python float for a NumPy scalar; arrays and JAX values as they are.

    Example:
        >>> plain(np.float64(2.0))
        2.0
    """
    return float(value) if isinstance(value, (np.ndarray, np.generic)) and np.ndim(value) == 0 else value
