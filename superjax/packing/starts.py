"""Where an optimisation starts: random vectors, an explicit construction, or given ones, repaired."""

from __future__ import annotations

import warnings
from pathlib import Path

import jax
import numpy as np

from superjax.core import keys, sphere
from superjax.core.errors import InputError, InputWarning
from superjax.laws import best_construction
from superjax.packing.measure import unit_rows

_NUDGE = 1e-4
"""Relative noise on given starts: coincident and antipodal rows attract each other along no direction."""


def random_start(k: int, d: int, seed: int, restart: int = 0) -> np.ndarray:
    """Uniform random unit rows, a function of the arguments alone and never of devices.

    Args:
        k: how many.
        d: dimension.
        seed: `--seed`.
        restart: which of several starts.

    Returns:
        [k, d] float32.

    Example:
        >>> random_start(4, 3, seed=0).shape
        (4, 3)
    """
    return np.asarray(sphere.uniform(keys.stream(seed, keys.VECTORS, k, d, restart), k, d))


def given_start(init: str | Path | np.ndarray, k: int, d: int, seed: int) -> np.ndarray:
    """The rows to start from, as given: a construction, a `.npy` file, or an array.

    Args:
        init: "construction", a path, or [k, d] numbers. Zero rows of an array are drawn anew, with a warning;
            a file with one is refused.
        k: how many rows are wanted.
        d: their dimension.
        seed: of the rows drawn anew.

    Returns:
        [k, d] float64 unit rows.

    Raises:
        InputError: no such file, another shape, or rows that cannot be used.

    Example:
        >>> given_start("construction", 4, 3, seed=0).shape
        (4, 3)
    """
    if isinstance(init, str) and init == "construction":
        return best_construction(k, d).construction.vectors(k, d)
    if isinstance(init, str | Path):
        rows, name = load_vectors(init), str(init)
    else:
        rows, name = _redraw_zeros(np.asarray(init), seed), "init"
    if rows.shape != (k, d):
        raise InputError(f"{name}: holds an array of shape {list(rows.shape)}; give [{k}, {d}], one row a vector")
    return unit_rows(rows, name)


def load_vectors(path: str | Path) -> np.ndarray:
    """The array of a `.npy` file, usable as rows of vectors.

    Args:
        path: the file.

    Returns:
        [k, d] as saved.

    Raises:
        InputError: it cannot be read, is no matrix, or has a row that is zero or not finite.
    """
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)  # a map: a header may promise more than there is
    except (OSError, ValueError, EOFError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else "is no whole .npy file of numbers"
        raise InputError(f"{path}: {cause}; give a file written by numpy.save or --save_vectors") from None
    if not isinstance(rows, np.ndarray):
        raise InputError(f"{path}: holds several arrays; give one array in a .npy file")
    rows = np.array(rows)
    if not len(unit_rows(rows, str(path))):
        raise InputError(f"{path}: holds no rows; give one row a vector")
    return rows


def nudged(rows: np.ndarray, seed: int) -> np.ndarray:
    """Unit rows with a little noise, so that equal and opposite ones part.

    Args:
        rows: [k, d] unit rows.
        seed: of the noise.

    Returns:
        [k, d] float32 unit rows within about 1e-4 of `rows`.
    """
    k, d = rows.shape
    noise = np.asarray(jax.random.normal(keys.stream(seed, keys.VECTORS, k, d, 2**32 - 1), (k, d)))
    moved = rows + _NUDGE / np.sqrt(d) * noise
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)


def _redraw_zeros(rows: np.ndarray, seed: int) -> np.ndarray:
    """The rows with the zero ones replaced by random directions."""
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        return rows
    zero = ~np.any(rows, axis=1)
    if not np.any(zero):
        return rows
    warnings.warn(f"init: {np.count_nonzero(zero)} rows are zero and were drawn at random", InputWarning, stacklevel=4)
    return np.where(zero[:, None], random_start(len(rows), rows.shape[1], seed), rows)
