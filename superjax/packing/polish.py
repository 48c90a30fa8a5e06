"""The last digits of a small packing, in float64: linear programs for maxima, conjugate gradients for energies."""

from __future__ import annotations

import threading
import warnings
from typing import NamedTuple

import numpy as np
from jax.sharding import Mesh

from superjax.packing.measure import coherence, largest_cosine, riesz_energy
from superjax.packing.objectives import Objective

_MOST_PROGRAMS = 80


class Polished(NamedTuple):
    """A polished packing: float64 rows [k, d], and the value in float64."""

    x: np.ndarray
    value: float


def value_of(objective: Objective, x: np.ndarray, mesh: Mesh | None = None) -> float:
    """What the objective says of the rows, in float64 on the host, or in float32 on the devices of a mesh."""
    if objective.name == "riesz":
        return riesz_energy(x, objective.riesz_s, mesh=mesh)
    return largest_cosine(x, mesh=mesh) if objective.signed else coherence(x, mesh=mesh)


def polish(
    objective: Objective, x: np.ndarray, tolerance: float = 1e-13, given_up: threading.Event | None = None
) -> Polished:
    """The local optimum next to `x`, to about 1e-14.

    Args:
        objective: what is minimised.
        x: [k, d] unit rows, k >= 2, d >= 2, k d up to a few thousand.
        tolerance: of a maximum, > 0: a further program that promises less is not followed.
        given_up: once set, the program under way is the last.

    Returns:
        The rows and their value, never worse than those of `x`.

    Source:
        Sequential linear programming on the active pairs in a trust region, as for minimax problems
        (Madsen 1975); the programs are solved by HiGHS. Energies: Polak and Ribiere 1969, in SciPy's form.

    Example:
        >>> found = polish(Objective(), np.array([[1.0, 0.0], [-0.4, 0.9], [-0.5, -0.8]]))
        >>> round(found.value, 12)
        0.5
    """
    unit = np.asarray(x, np.float64) / np.linalg.norm(np.asarray(x, np.float64), axis=1, keepdims=True)
    if objective.name == "riesz":
        return _descend_energy(unit, objective)
    return _descend_maximum(unit, objective, tolerance, given_up or threading.Event())


def _descend_maximum(x: np.ndarray, objective: Objective, tolerance: float, given_up: threading.Event) -> Polished:
    value = value_of(objective, x)
    radius = _first_radius(value)
    for _ in range(_MOST_PROGRAMS):
        move, promised = _linear_step(x, value, radius, objective.signed)
        if move is None or value - promised < tolerance:
            break
        trial = x + move
        trial /= np.linalg.norm(trial, axis=1, keepdims=True)
        reached = value_of(objective, trial)
        gain = (value - reached) / (value - promised)
        if reached < value:
            x, value = trial, reached
        if gain < 0.25:
            radius = min(radius, np.max(np.abs(move))) / 4
        elif gain > 0.75:
            radius *= 2
        if radius < tolerance or given_up.is_set():
            break
    return Polished(x, value)


def _first_radius(value: float) -> float:
    return 0.002 * max(np.sqrt(max(1 - value**2, 0.0)), 1e-3)


def _linear_step(x: np.ndarray, value: float, radius: float, signed: bool) -> tuple[np.ndarray | None, float]:
    """The tangent move within `radius` that minimises the linearised maximum, and the value it promises.

    Unknowns are each row's coordinates in a basis of its tangent space and the new bound on all near-active cosines,
    counted from `value`; all are in units of `radius`, so that the solver's absolute tolerances are relative.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    k, d = x.shape
    basis = _tangent_bases(x)
    first, second, cosine = _near_active(x, value, radius, signed)
    sign = np.ones_like(cosine) if signed else np.where(cosine < 0, -1.0, 1.0)
    own, axes = np.arange(len(first)), np.arange(d - 1)
    slopes = np.concatenate(
        [
            sign[:, None] * np.einsum("pad,pd->pa", basis[first], x[second]),
            sign[:, None] * np.einsum("pad,pd->pa", basis[second], x[first]),
            -np.ones((len(own), 1)),
        ],
        axis=1,
    )
    unknowns = np.concatenate(
        [
            first[:, None] * (d - 1) + axes,
            second[:, None] * (d - 1) + axes,
            np.full((len(own), 1), k * (d - 1)),
        ],
        axis=1,
    )
    number = k * (d - 1) + 1
    constraints = csr_array((slopes.ravel(), (np.repeat(own, 2 * d - 1), unknowns.ravel())), shape=(len(own), number))
    cost, limits = np.zeros(number), np.tile([-1.0, 1.0], (number, 1))
    cost[-1], limits[-1] = 1, (-2 * d, 2 * d)
    found = linprog(cost, constraints, (value - sign * cosine) / radius, bounds=limits, method="highs")
    if found.x is None:
        return None, value
    move = radius * np.einsum("ka,kad->kd", found.x[:-1].reshape(k, d - 1), basis)
    return move, value + radius * found.x[-1]


def _near_active(x: np.ndarray, value: float, radius: float, signed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs that can become the largest within the trust region: their rows and their cosines."""
    first, second = np.triu_indices(len(x), 1)
    cosine = np.sum(x[first] * x[second], axis=1)
    reach = 4 * radius * np.sqrt(x.shape[1])
    near = (cosine if signed else np.abs(cosine)) > value - reach
    return first[near], second[near], cosine[near]


def _tangent_bases(x: np.ndarray) -> np.ndarray:
    """[k, d - 1, d] orthonormal bases of the tangent spaces, by Householder reflections that take e_0 to each row."""
    d = x.shape[1]
    sign = np.where(x[:, :1] < 0, -1.0, 1.0)
    mirror = x.copy()
    mirror[:, :1] += sign
    mirror /= np.linalg.norm(mirror, axis=1, keepdims=True)
    reflected = np.eye(d)[None] - 2 * mirror[:, :, None] * mirror[:, None, :]
    return reflected[:, 1:, :]


def _descend_energy(x: np.ndarray, objective: Objective) -> Polished:
    """Down to rounding. Not by SciPy's L-BFGS, which factors tiny matrices in threads: seconds on busy cores."""
    from scipy.optimize import minimize

    shape, s = x.shape, objective.riesz_s

    def energy_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        free = flat.reshape(shape)
        norm = np.linalg.norm(free, axis=1, keepdims=True)
        unit = free / norm
        square = np.maximum(2 - 2 * unit @ unit.T, 1e-300)
        np.fill_diagonal(square, np.inf)
        slope = s * square ** (-s / 2 - 1) @ unit
        return float(np.sum(square ** (-s / 2)) / 2), ((slope - np.sum(slope * unit, 1)[:, None] * unit) / norm).ravel()

    before = value_of(objective, x)
    # A trial step may bring points together, and next to the minimum rounding ends the line search.
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*line search", RuntimeWarning)
        found = minimize(
            energy_and_gradient, x.ravel(), jac=True, method="CG", options={"maxiter": 5000, "gtol": 1e-10}
        )
    polished = found.x.reshape(shape) / np.linalg.norm(found.x.reshape(shape), axis=1, keepdims=True)
    after = value_of(objective, polished)
    return Polished(polished, after) if after < before else Polished(x, before)
