"""Refusals of arguments no formula can answer, one line each; JAX values are left to the formulas."""

from __future__ import annotations

import jax
import numpy as np

from superjax.core.errors import InputError
from superjax.laws.namespace import Array

ATTAINED = 1e-12  # a coherence this close, relatively, attains a bound
BELOW_ONE = 1 - 2.0**-51  # its half-angle's cosine is still a float below 1


def whole(name: str, value: float, low: int) -> int:
    """The value as an int of any size.

    Raises:
        InputError: not a whole number >= low.

    Example:
        >>> whole("k", 32000.0, 1)
        32000
    """
    try:
        found = int(value)
        good = found == value and found >= low
    except (TypeError, ValueError, OverflowError):  # text, None, NaN, infinity
        good = False
    if not good:
        raise InputError(f"{name}: {_shown(value)} is not a whole number >= {low}; give one")
    return found


def at_least(name: str, value: Array, low: float) -> None:
    """Refuses host values below low, or not finite.

    Raises:
        InputError: names the first such value.
    """
    if not isinstance(value, jax.Array):
        found = _float64(name, value)
        _refuse(name, found, np.isfinite(found) & (found >= low), f"a number >= {low}", "give a finite one")


def inside_unit_interval(name: str, value: Array) -> None:
    """Refuses host values outside the open interval (0, 1).

    Raises:
        InputError: names the first such value.
    """
    if not isinstance(value, jax.Array):
        found = _float64(name, value)
        _refuse(name, found, (found > 0) & (found < 1), "inside (0, 1)", "give an absolute cosine such as 0.05")


def attained(epsilon: float) -> float:
    """The epsilon up to which a bound or a construction counts as attaining this one: 1e-12 more, and below 1.

    Example:
        >>> attained(0.5) > 0.5, attained(1 - 1e-14) < 1
        (True, True)
    """
    return min(epsilon * (1 + ATTAINED), 0.5 * (1 + epsilon), BELOW_ONE)


def _float64(name: str, value: Array) -> np.ndarray:
    try:
        return np.asarray(value, np.float64)
    except OverflowError:
        raise InputError(f"{name}: is beyond what a float holds; give at most 1e300") from None
    except (TypeError, ValueError):
        raise InputError(f"{name}: {_shown(value)} is not a number; give one") from None


def _shown(value: object) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"{text[:36]}..."


def _refuse(name: str, found: np.ndarray, good: np.ndarray, wanted: str, remedy: str) -> None:
    if not np.all(good):
        raise InputError(f"{name}: {float(found[~good].flat[0]):g} is not {wanted}; {remedy}")
