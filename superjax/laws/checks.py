"""Refusals of arguments no formula can answer, one line each; JAX values are left to the formulas."""

from __future__ import annotations

import math

import jax
import numpy as np

from superjax.core.errors import InputError
from superjax.laws.namespace import Array


def whole(name: str, value: float, low: int) -> int:
    """The value as an int of any size.

    Raises:
        InputError: not a whole number >= low.

    Example:
        >>> whole("k", 32000.0, 1)
        32000
    """
    if (isinstance(value, float) and not math.isfinite(value)) or int(value) != value or value < low:
        raise InputError(f"{name}: {value!r} is not a whole number >= {low}; give one")
    return int(value)


def at_least(name: str, value: Array, low: float) -> None:
    """Refuses host values below low, or not finite.

    Raises:
        InputError: names the first such value.
    """
    if not isinstance(value, jax.Array):
        found = np.asarray(value, np.float64)
        _refuse(name, found, np.isfinite(found) & (found >= low), f"a number >= {low}", "give a finite one")


def inside_unit_interval(name: str, value: Array) -> None:
    """Refuses host values outside the open interval (0, 1).

    Raises:
        InputError: names the first such value.
    """
    if not isinstance(value, jax.Array):
        found = np.asarray(value, np.float64)
        _refuse(name, found, (found > 0) & (found < 1), "inside (0, 1)", "give an absolute cosine such as 0.05")


def _refuse(name: str, found: np.ndarray, good: np.ndarray, wanted: str, remedy: str) -> None:
    if not np.all(good):
        raise InputError(f"{name}: {float(found[~good].flat[0]):g} is not {wanted}; {remedy}")
