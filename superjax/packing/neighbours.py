"""Neighbour lists: when they serve, the rows that are near to each row, and passes over those pairs alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh

from superjax.core import mesh as meshes
from superjax.core.pairwise import Precision
from superjax.laws.tail import inverse_log_tail
from superjax.packing.anneal import AnnealHparams
from superjax.packing.objectives import Objective, Pull, SmoothMaximum

ROUND = 40
"""Steps between full passes."""

_LEAST_K, _LEAST_RATIO = 4000, 100
"""k, and k / d for d up to 100 (from there it grows as d), from which to gather listed rows beats multiplying tiles."""

_ROOM, _FILLED = 8, 0.65
"""Listed rows there is room for, in d, of which a rigid packing touches 2; and how much of it uniform rows fill."""

REACH = 6.0
"""Listed at least to here, in 1 / beta below the largest cosine: pairs beyond weigh less than .5 % together."""

_BEYOND = 2.9
"""Of k uniform rows, how many lie beyond the coherence that is reached, in d: 1.8 at (2000, 8), 2.9 at (4000, 32)."""

_AT_ONCE = 2**24
"""Numbers in the rows of the Gram matrix, and in the listed rows, that are held at once."""

_COUNTED = 16
"""Columns whose near rows one product counts."""


class ListPlan(NamedTuple):
    """When lists serve, and what they hold.

    Attributes:
        first: step of the first round; the rounds end with the last step.
        width: rows of one device that a list has room for.
        threshold: (absolute) cosine above which a row is listed, >= 0.
        together: rows whose lists are made, or gathered, at once.
    """

    first: int
    width: int
    threshold: float
    together: int


def list_plan(objective: Objective, k: int, d: int, hparams: AnnealHparams, steps: int, mesh: Mesh) -> ListPlan | None:
    """The plan of one packing; None where full passes serve better.

    A list has room for 8 d rows: a rigid packing touches 2 d. What k uniform rows say of that many sets the threshold,
    and lists serve once the smooth maximum, at its sharpness beta, forgets pairs below it.

    Args:
        objective: what is minimised; energies have no lists, since far pairs count.
        k: number of vectors.
        d: dimension.
        hparams: the schedule, scalars.
        steps: how many steps there will be.
        mesh: the devices.

    Example:
        >>> mesh = meshes.single_device_mesh()
        >>> list_plan(Objective(), 4000, 32, AnnealHparams(), 1500, mesh)
        ListPlan(first=820, width=256, threshold=0.356..., together=32)
        >>> list_plan(Objective(), 4000, 64, AnnealHparams(), 1500, mesh) is None
        True
    """
    first, last = float(hparams.first_sharpness), float(hparams.last_sharpness)
    if objective.name == "riesz" or not lists_pay(k, d) or not 0 < first < last:
        return None
    sides = 2 if objective.signed else 1
    threshold = float(inverse_log_tail(math.log(sides * _FILLED * _ROOM * d / k), d))
    reached = float(inverse_log_tail(math.log(sides * _BEYOND * d / k), d))
    sharpness = REACH * reached / (reached - threshold)
    after = max(0.0, math.log(sharpness / first) / math.log(last / first)) * (steps - 1)
    rounds = int(steps - after) // ROUND
    if rounds < 1:
        return None
    platform = mesh.devices.flat[0].platform
    most = 32 if platform == "cpu" else 512  # few stay in a core's cache; many fill an accelerator
    together = max(8, min(most, _AT_ONCE // max(-(-k // mesh.size), _ROOM * d * d)))
    return ListPlan(steps - rounds * ROUND, _width(d, mesh.size), threshold, together)


def lists_pay(k: int, d: int) -> bool:
    """Whether k is large enough for lists to be faster than full passes.

    Args:
        k: number of vectors.
        d: dimension.

    Example:
        >>> lists_pay(4000, 32), lists_pay(4000, 64)
        (True, False)
    """
    return k >= max(_LEAST_K, d * max(_LEAST_RATIO, d))


def most_listed(k: int, d: int, devices: int) -> int:
    """Numbers in the lists of all devices together, and in what is held to make and to gather them.

    Args:
        k: number of vectors.
        d: dimension.
        devices: there are.

    Example:
        >>> most_listed(4000, 64, 1)
        0
    """
    if not lists_pay(k, d):
        return 0
    held = min(_AT_ONCE, 512 * max(-(-k // devices), _ROOM * d * d))
    return devices * (k * _width(d, devices) + 4 * held)


def _width(d: int, devices: int) -> int:
    """Room for the near rows of one shard: a share of all, which varies as a binomial number does; 5 sigma more."""
    share = _ROOM * d / devices
    return math.ceil(share + 5 * math.sqrt(share * (1 - 1 / devices)))


def near_rows_in_ring(
    x: jax.Array, plan: ListPlan, devices: int, signed: bool, precision: Precision
) -> tuple[jax.Array, jax.Array]:
    """For a body under `mesh.over_rows`: lists of this device's rows, among those of all devices.

    Args:
        x: [V / N, d] this device's unit rows, or zero rows, which are near to none.
        plan: room and threshold.
        devices: N, the size of the mesh.
        signed: points (the cosine itself) rather than lines (its absolute value).
        precision: of the Gram product.

    Returns:
        [N, V / N, width] lists by `near_rows`, one for every shard as it comes round the ring; and [] bool, the same
        everywhere, whether all listed rows had room.
    """
    visitor, lists, most = x, [], []
    for step in range(devices):
        if step:
            visitor = meshes.shift(visitor, 1, devices)
        found, listed = near_rows(x, visitor, plan, itself=step == 0, signed=signed, precision=precision)
        lists.append(found)
        most.append(jnp.max(listed))
    return jnp.stack(lists), lax.pmax(jnp.max(jnp.stack(most)), meshes.ROWS) <= plan.width


def near_rows(
    x: jax.Array, others: jax.Array, plan: ListPlan, *, itself: bool, signed: bool, precision: Precision
) -> tuple[jax.Array, jax.Array]:
    """Of every row the others with a cosine above the plan's threshold, found strip by strip of the Gram matrix.

    Args:
        x: [A, d] unit rows, or zero rows, which are near to none.
        others: [B, d] such rows.
        plan: room and threshold.
        itself: `others` are `x`, and no row is its own neighbour.
        signed: points (the cosine itself) rather than lines (its absolute value).
        precision: of the Gram product.

    Returns:
        [A, width] int32 indices into `others`, ascending, then B; and [A] float32, how many there were to list.

    Example:
        >>> rows = jnp.array([[1.0, 0.0], [0.8, -0.6], [0.0, 1.0]])
        >>> plan = ListPlan(0, 2, 0.7, 3)
        >>> lists, listed = near_rows(rows, rows, plan, itself=True, signed=False, precision="highest")
        >>> lists.tolist(), listed.tolist()
        ([[1, 3], [0, 3], [3, 3]], [1.0, 1.0, 0.0])
    """
    count = len(others)
    columns = _COUNTED * -(-count // _COUNTED)
    others = jnp.pad(others, ((0, columns - count), (0, 0)))
    upto = jnp.triu(jnp.ones((_COUNTED, _COUNTED), jnp.float32))  # sums of small whole numbers: exact at any precision
    places = jnp.arange(1, plan.width + 1, dtype=jnp.float32)

    def of_row(index: jax.Array) -> tuple[jax.Array, jax.Array]:
        cosine = jnp.matmul(others, x[index], precision=precision, preferred_element_type=jnp.float32)
        near = (cosine if signed else jnp.abs(cosine)) > plan.threshold
        if itself:
            near &= jnp.arange(columns) != index
        within = near.astype(jnp.float32).reshape(-1, _COUNTED) @ upto
        before = jnp.cumsum(within[:, -1]) - within[:, -1]
        met = (within + before[:, None]).reshape(columns)
        return jnp.minimum(jnp.searchsorted(met, places), count).astype(jnp.int32), met[-1]

    return lax.map(of_row, jnp.arange(len(x)), batch_size=plan.together)


def reduce_listed_in_ring(
    x: jax.Array, lists: jax.Array, reducer: SmoothMaximum, together: int, precision: Precision
) -> tuple[Pull, jax.Array]:
    """`core.pairwise.reduce_pairs_in_ring` over the listed pairs alone, for a body under `mesh.over_rows`.

    Args:
        x: [V / N, d] this device's unit rows.
        lists: [N, V / N, width] of `near_rows_in_ring`, of these rows or of where they were.
        reducer: what to compute.
        together: rows whose lists are gathered at once.
        precision: of the products.

    Returns:
        The totals over all devices, every pair once, and [V / N, d] the gradient of this device's rows.
    """
    visitor, found = x, []
    for step, listed in enumerate(lists):
        if step:
            visitor = meshes.shift(visitor, 1, len(lists))
        found.append(reduce_listed(x, visitor, listed, reducer, together, precision))
    totals, pulls = zip(*found, strict=True)
    weight, largest = (jnp.stack(part) for part in zip(*totals, strict=True))
    here = Pull(jnp.sum(weight) / 2, jnp.max(largest))
    everyone = lax.all_gather(here, meshes.ROWS)  # added up in the same order everywhere, which a psum does not promise
    return Pull(jnp.sum(everyone.weight), jnp.max(everyone.largest)), sum(pulls, jnp.zeros_like(x))


def reduce_listed(
    x: jax.Array, others: jax.Array, lists: jax.Array, reducer: SmoothMaximum, together: int, precision: Precision
) -> tuple[Pull, jax.Array]:
    """What listed rows contribute.

    Args:
        x: [A, d] unit rows.
        others: [B, d] unit rows.
        lists: [A, width] int32 indices into `others`; B where there is none.
        reducer: what to compute.
        together: rows whose lists are gathered at once.
        precision: of the products.

    Returns:
        The totals of all entries of the lists, and [A, d] the gradient of `x`.

    Example:
        >>> rows = jnp.array([[1.0, 0.0], [0.6, 0.8]])
        >>> reducer = SmoothMaximum(jnp.float32(9.0), jnp.float32(0.6))
        >>> totals, gradient = reduce_listed(rows, rows, jnp.array([[1], [0]]), reducer, 2, "highest")
        >>> round(float(totals.weight), 6), gradient.round(6).tolist()[1]
        (2.0, [1.0, 0.0])
    """

    def of_row(index: jax.Array) -> tuple[Pull, jax.Array]:
        listed = lists[index]
        near = others[jnp.minimum(listed, len(others) - 1)]
        cosine = jnp.einsum("d,bd->b", x[index], near, precision=precision, preferred_element_type=jnp.float32)
        slope, totals = reducer.slope(cosine, listed < len(others))
        return totals, jnp.einsum("b,bd->d", slope, near, precision="highest", preferred_element_type=jnp.float32)

    totals, pull = lax.map(of_row, jnp.arange(len(x)), batch_size=together)
    return Pull(jnp.sum(totals.weight), jnp.max(totals.largest)), pull
