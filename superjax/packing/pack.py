"""`pack`: k directions in R^d, as far apart as the objective asks, by whatever suits the size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from superjax.core import mesh as meshes
from superjax.core import processes
from superjax.core.errors import InputError
from superjax.core.pairwise import Precision
from superjax.laws import Bound, lower_bound, lower_bound_code
from superjax.packing.anneal import AnnealHparams
from superjax.packing.batch import anneal_batch
from superjax.packing.closed_forms import exact_packing
from superjax.packing.measure import coherence, quick_on_host
from superjax.packing.neighbours import most_listed
from superjax.packing.objectives import Name, Objective
from superjax.packing.polish import value_of
from superjax.packing.rows import anneal_rows
from superjax.packing.search import SearchConfig, search
from superjax.packing.starts import given_start, nudged, random_start
from superjax.packing.watch import OnCheckpoint, OnValue, Watch, both

SMALL = 600
"""Up to this k d a packing is searched for with many restarts and polished in float64."""

_ONE_TILE = 512
"""Up to this k several restarts run at once, each in one tile."""

_ONE_DEVICE = 1024
"""Up to this k one device takes milliseconds a step, and then any number of devices takes the same path to the bit."""

_STEPS = 1500
_OPTIMAL = 1e-9  # nearer to a proven bound there is nothing to gain
_COPIES = 16  # of [k, d] float32 that exist at once: state, gradients, travelling shards, and the float64 recheck


@dataclass(frozen=True)
class Packing:
    """k unit vectors in R^d, and what they reach.

    Attributes:
        vectors: [k, d] unit rows; float64 where exact, polished or given, else float32.
        objective: "coherence", "spherical" or "riesz".
        value: what was minimised, recomputed over all pairs from `vectors`.
        coherence: largest absolute cosine, recomputed over all pairs; float64 up to k = 65,536
            (and k^2 d = 2^43), then float32.
        bound: a proven lower bound on `value`; None for energies.
        bound_name: whose bound it is; None for energies.
        steps: steps that one restart took, full passes over all pairs but for neighbour lists; on the average over
            them in a search for a small packing; 0 for a closed form.
        restarts: how many there were.
        history: [steps] the value before every step of the best restart, float64 (of the listed pairs where
            lists serve); empty for small packings.
        start: [k, d] the random vectors it began with; None where there were none or many.
    """

    vectors: np.ndarray
    objective: Name
    value: float
    coherence: float
    bound: float | None
    bound_name: str | None
    steps: int
    restarts: int
    history: np.ndarray
    start: np.ndarray | None = None


def pack(
    k: int,
    d: int,
    *,
    objective: Name = "coherence",
    riesz_s: float = 1.0,
    steps: int | None = None,
    restarts: int | None = None,
    init: str | Path | np.ndarray = "random",
    seed: int = 0,
    mesh: Mesh | None = None,
    block: int | None = None,
    precision: Precision = "highest",
    hparams: AnnealHparams | None = None,
    neighbour_lists: bool = True,
    on_value: OnValue | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_checkpoint: OnCheckpoint | None = None,
    resume: Mapping[str, Any] | None = None,
) -> Packing:
    r"""k unit vectors in R^d with the least coherence, largest cosine or energy that can be found.

    Coherence is :math:`\mu = \max_{i<j} |\langle v_i, v_j \rangle|`. k <= d gives an orthonormal set and k = d + 1 the
    simplex, exactly. Up to k d = 600 many vmapped restarts are polished to about 1e-13; beyond, a start is annealed
    on all devices, at 1.5 k^2 d multiply-adds a step or less, and O(k d) memory.

    Args:
        k: number of vectors >= 1.
        d: dimension >= 1.
        objective: "coherence" (lines), "spherical" (points: the signed cosine) or "riesz" (energy of points).
        riesz_s: the energy's power s > 0; 1 is Thomson's problem.
        steps: steps of every restart; 600 for small packings, of which the best of a round take twice as many more,
            else 1500.
        restarts: independent starts; 512 at once for small packings, else 1.
        init: "random", "construction" (`laws.best_construction`), a `.npy` file, or [k, d] numbers. The result is never
            worse than what was given; half of the restarts of a small packing begin anywhere all the same.
        seed: of the starts, which are bitwise the same on any devices.
        mesh: the devices; the first local one by default.
        block: rows in a tile; chosen for the platform by default.
        precision: of the Gram products on the devices.
        hparams: the schedule of sharpness and rate for large packings.
        neighbour_lists: in the sharper half of the schedule most steps look at pairs with large cosines only, where
            that is faster: from k = 4000 and k / d = 100 (or d, if larger) on. False: never.
        on_value: called with (steps done, steps, least value so far).
        on_progress: called with (steps done, steps), as often.
        on_checkpoint: called once a second or so, where neighbour lists serve every forty steps at most, with arrays
            by name from which the search can go on exactly; to be read before it returns, for instance by
            `np.savez(path, **arrays)`.
        resume: such arrays, of a call with the same arguments, on any devices.

    Returns:
        The packing.

    Raises:
        InputError: sizes that are not positive, an unknown objective, a start or a checkpoint that does not fit.

    Source:
        Log-sum-exp continuation on the product of spheres with a decaying step; packing small sets follows
        Sloane's and Cohn's tables to their digits.

    Example:
        >>> found = pack(4, 3)
        >>> round(found.coherence, 12), found.bound_name
        (0.333333333333, 'welch')

        Stopped, and gone on:

        >>> kept = {}
        >>> whole = pack(70, 9, steps=40, on_checkpoint=lambda arrays: kept or kept.update(jax.device_get(arrays)))
        >>> int(kept["step"]) < 40, pack(70, 9, steps=40, resume=kept).value == whole.value
        (True, True)
    """
    goal = Objective(objective, riesz_s)
    for name, number in (("k", k), ("d", d)):
        if number < 1:
            raise InputError(f"{name}: {number} is not positive; give a whole number from 1 on")
    for name, chosen in (("steps", steps), ("restarts", restarts)):
        if chosen is not None and chosen < 1:
            raise InputError(f"{name}: {chosen} is not positive; give a whole number from 1 on")
    mesh = meshes.single_device_mesh() if mesh is None else mesh
    given = None if isinstance(init, str) and init == "random" else given_start(init, k, d, seed)
    exact = exact_packing(goal, k, d)
    if exact is not None:
        return _packing(goal, exact, steps=0, restarts=0)
    watch = Watch(both(on_value, on_progress), on_checkpoint, resume)
    schedule = hparams or AnnealHparams()
    job = _Job(goal, k, d, given, steps, restarts, seed, mesh, block, precision, schedule, neighbour_lists, watch)
    return job.search() if k * d <= SMALL else job.anneal()


@dataclass(frozen=True)
class _Job:
    """The arguments of `pack`, checked and filled in, and the two ways to go about them."""

    goal: Objective
    k: int
    d: int
    given: np.ndarray | None
    steps: int | None
    restarts: int | None
    seed: int
    mesh: Mesh
    block: int | None
    precision: Precision
    hparams: AnnealHparams
    neighbour_lists: bool
    watch: Watch

    def search(self) -> Packing:
        """Many restarts, polished and perturbed: for small packings."""
        config = SearchConfig.of(self.goal.name, self.steps, self.restarts)
        bound = proven_bound(self.goal.name, self.k, self.d)
        found = search(
            self.goal, self.k, self.d, config, given=self.given, bound=-np.inf if bound is None else bound.value,
            seed=self.seed, mesh=self.mesh, precision=self.precision, watch=self.watch,
        )  # fmt: skip
        return _packing(self.goal, found.best.x, steps=found.steps, restarts=config.restarts)

    def anneal(self) -> Packing:
        """A start or a few, annealed once: for large packings. What was given competes."""
        if self.given is not None:
            given = _packing(self.goal, self.given, steps=0, restarts=0)
            if given.bound is not None and given.value <= given.bound + _OPTIMAL:
                return given
        together = (self.restarts or 1) > 1 and self.k <= _ONE_TILE
        found = self._anneal_together() if together else self._anneal_in_turn()
        return found if self.given is None else min(found, given, key=lambda one: one.value)

    def _start(self, restart: int) -> np.ndarray:
        if self.given is None:
            return random_start(self.k, self.d, self.seed, restart)
        return nudged(self.given, self.seed + restart)

    def _anneal_in_turn(self) -> Packing:
        """One restart after the other, the best of them kept."""
        saved = self.watch.saved or {}
        first, best = int(saved.get("restart", 0)), None
        if "best/x" in saved:
            best = self._annealed(int(saved["best/restart"]), saved["best/x"], saved["best/history"])
            best_restart = int(saved["best/restart"])
        for restart in range(first, self.restarts or 1):
            watch = self.watch if restart == first else self.watch.begun()
            around: dict[str, Any] = {"restart": restart}
            if best is not None:
                around |= {"best/restart": best_restart, "best/x": best.vectors, "best/history": best.history}
            found = self._anneal_one(restart, watch.within(**around))
            if best is None or found.value < best.value:
                best, best_restart = found, restart
        assert best is not None
        return best

    def _anneal_one(self, restart: int, watch: Watch) -> Packing:
        steps, restarts = self.steps or _STEPS, self.restarts or 1
        found = anneal_rows(
            self.goal, self._start(restart), self.hparams, steps, mesh=self._place(), block=self.block,
            precision=self.precision, watch=replace(watch, on_value=_over_restarts(watch.on_value, restart, restarts)),
            lists=self.neighbour_lists,
        )  # fmt: skip
        return self._annealed(restart, found.x, found.history)

    def _place(self) -> Mesh:
        """The devices of one packing. Those of several hosts go together: one of them alone would be of one host."""
        alone = self.k <= _ONE_DEVICE and not processes.shared(self.mesh.devices.flat)
        return meshes.row_mesh(list(self.mesh.devices.flat[:1])) if alone else self.mesh

    def _annealed(self, restart: int, x: np.ndarray, history: np.ndarray) -> Packing:
        return _packing(
            self.goal, x, steps=self.steps or _STEPS, restarts=self.restarts or 1, history=history,
            start=self._start(restart), mesh=self.mesh,
        )  # fmt: skip

    def _anneal_together(self) -> Packing:
        number, steps = self.restarts or 1, self.steps or _STEPS
        starts = np.stack([self._start(restart) for restart in range(number)])
        schedules = jax.tree.map(lambda value: np.full(number, value, np.float32), self.hparams)
        batch = anneal_batch(
            self.goal, starts, schedules, steps, mesh=self.mesh, precision=self.precision, watch=self.watch
        )
        best = int(np.argmin(batch.value))
        return self._annealed(best, batch.x[best], batch.history[:, best])


def _over_restarts(on_value: OnValue | None, restart: int, restarts: int) -> OnValue | None:
    if on_value is None:
        return None
    return lambda done, steps, value: on_value(restart * steps + done, restarts * steps, value)


def proven_bound(objective: Name, k: int, d: int) -> Bound | None:
    """The best proven lower bound on the value; None for energies, and for a single point.

    Example:
        >>> proven_bound("coherence", 6, 3).name, proven_bound("riesz", 6, 3)
        ('welch', None)
    """
    if objective == "coherence":
        return lower_bound(k, d)
    return lower_bound_code(k, d) if objective == "spherical" and k > 1 else None


def memory_needed(k: int, d: int, devices: int = 1) -> int:
    """Bytes that packing k vectors in R^d takes on all devices together: copies of the rows, tiles, neighbour lists.

    Example:
        >>> memory_needed(100_000, 64) < 2**30
        True
    """
    tile = 256
    return 4 * (_COPIES * k * d + most_listed(k, d, devices) + 6 * tile * tile * devices)


def _packing(
    goal: Objective,
    x: np.ndarray,
    *,
    steps: int,
    restarts: int,
    history: np.ndarray | None = None,
    start: np.ndarray | None = None,
    mesh: Mesh | None = None,
) -> Packing:
    """The result for these rows, everything about them recomputed from the rows themselves."""
    k, d = x.shape
    on_devices = None if quick_on_host(k, d) else mesh or meshes.single_device_mesh()
    largest = coherence(x, mesh=on_devices)
    value = largest if goal.name == "coherence" else value_of(goal, x, on_devices)
    bound = proven_bound(goal.name, k, d)
    return Packing(
        vectors=x, objective=goal.name, value=value, coherence=largest,
        bound=None if bound is None else bound.value, bound_name=None if bound is None else bound.name,
        steps=steps, restarts=restarts, history=np.zeros(0) if history is None else history, start=start,
    )  # fmt: skip
