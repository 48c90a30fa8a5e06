"""Where the restarts of a search begin: anywhere, or near the best so far; each with a schedule of its own."""

from __future__ import annotations

import jax
import numpy as np

from superjax.core import keys, sphere
from superjax.packing.anneal import AnnealHparams
from superjax.packing.polish import Polished

_COLD, _WARM = (1.5, 60.0), (10.0, 3000.0)
"""First sharpness from anywhere (wide: 28 lines in R^5 need 5 to 60, others less) and from perturbed packings."""

_FRESH = 2
"""One restart in so many begins anywhere in every round: 28 lines in R^5, 16 and 19 in R^8 need it."""


def anywhere(rng: np.random.Generator, k: int, d: int, number: int, seed: int) -> tuple[np.ndarray, AnnealHparams]:
    """Random packings, a function of the seed alone.

    Args:
        rng: draws the schedules.
        k: vectors of each.
        d: their dimension.
        number: R.
        seed: of the packings.

    Returns:
        [R, k, d] float32 unit rows, and schedules, [R] each.

    Example:
        >>> anywhere(np.random.default_rng(0), 4, 3, 2, seed=0)[0].shape
        (2, 4, 3)
    """
    each = jax.random.split(keys.stream(seed, keys.VECTORS, k, d), number)
    drawn = jax.vmap(lambda key: sphere.uniform(key, k, d))(each)
    return np.asarray(drawn), _draw_schedules(rng, number, *_COLD)


def near_and_anywhere(rng: np.random.Generator, elite: list[Polished], number: int) -> tuple[np.ndarray, AnnealHparams]:
    """Packings near the best, all rows moved a little or a few of them moved anywhere; half begin anywhere.

    A single one is near the best.

    Args:
        rng: draws them.
        elite: the best so far, least first.
        number: R.

    Returns:
        [R, k, d] float32 unit rows, and schedules, [R] each.
    """
    fresh = number // _FRESH
    drawn = rng.normal(size=(fresh, *elite[0].x.shape))
    drawn /= np.linalg.norm(drawn, axis=2, keepdims=True)
    starts = np.concatenate([_perturb(rng, elite, number - fresh), drawn.astype(np.float32)])
    warm, cold = _draw_schedules(rng, number - fresh, *_WARM), _draw_schedules(rng, fresh, *_COLD)
    return starts, jax.tree.map(lambda *parts: np.concatenate(parts), warm, cold)


def _draw_schedules(rng: np.random.Generator, number: int, low: float, high: float) -> AnnealHparams:
    """Sharpness and rate for every restart: equal ones all fall into the same basin, often a wrong one."""

    def between(low: float, high: float) -> np.ndarray:
        return np.exp(rng.uniform(np.log(low), np.log(high), number)).astype(np.float32)

    return AnnealHparams(between(low, high), between(3e3, 1e4), between(0.3, 1.5), between(0.3, 0.7))


def _perturb(rng: np.random.Generator, elite: list[Polished], number: int) -> np.ndarray:
    made = []
    for place in range(number):
        x = elite[min(int(rng.exponential(1.0)), len(elite) - 1)].x.copy()
        k, d = x.shape
        if place % 2:
            moved = rng.choice(k, size=int(rng.integers(1, max(2, k // 4) + 1)), replace=False)
            x[moved] = rng.normal(size=(len(moved), d))
        else:
            x += np.exp(rng.uniform(np.log(0.003), np.log(1.0))) / np.sqrt(d) * rng.normal(size=(k, d))
        made.append(x / np.linalg.norm(x, axis=1, keepdims=True))
    return np.asarray(made, np.float32)
