"""One (k, d) of `superjax pack`: what is kept of it, and what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from superjax.core.errors import InputError
from superjax.laws import best_construction, max_coherence_mean, published_packings
from superjax.packing import Packing, given_start, gram_histogram, has_closed_form, memory_needed
from superjax.packing.measure import quick_on_host
from superjax.packing.orbits import require_group
from superjax.packing.pack import SMALL
from superjax.packing.search import SearchConfig
from superjax.runs import device_memory, host_memory

if TYPE_CHECKING:
    import jax
    from jax.sharding import Mesh

    from superjax.cli.pack import PackConfig

_BINS = 400
_FEW = 2000  # vectors up to which the host counts their cosines at once
_LARGEST_PICTURE = 400  # points in a 3-D picture


@dataclass(frozen=True)
class Cell:
    """What the table, the figures and a later run need of a packing; the vectors only until they are saved.

    Attributes:
        row: of `table.csv`.
        arrays: history [steps], counts [K] and start_counts [K] of the cosines, and small 3-D packings' points.
        vectors: [k, d], None when the cell was read back.
    """

    row: dict[str, Any]
    arrays: dict[str, np.ndarray]
    vectors: np.ndarray | None = None

    @property
    def name(self) -> str:
        """A file's name for the cell."""
        return cell_name(self.row["objective"], self.row["k"], self.row["d"])


def cell_name(objective: str, k: int, d: int) -> str:
    """A file's name for a cell."""
    return f"{objective}_{k}_{d}"


def cell_of(packing: Packing, seconds: float, mesh: Mesh) -> Cell:
    """Set a packing beside what is proven, expected of random vectors, built and published."""
    k, d = packing.vectors.shape
    lines = packing.objective == "coherence"
    built = best_construction(k, d) if lines and (d > 1 or k == 1) else None
    row = {
        "objective": packing.objective,
        "k": k,
        "d": d,
        "value": packing.value,
        "coherence": packing.coherence,
        "lower_bound": packing.bound,
        "bound_name": packing.bound_name,
        "random_mean": max_coherence_mean(k, d) if lines and k > 1 and d > 1 else None,
        "construction": None if built is None else built.value,
        "construction_name": None if built is None else built.name,
        "steps": packing.steps,
        "seconds": round(seconds, 3),
        "restarts": packing.restarts,
        "published": published_value(k, d) if lines else None,
    }
    arrays = {"history": packing.history}
    on_devices = None if k <= _FEW else mesh
    if quick_on_host(k, d):
        arrays["counts"] = gram_histogram(packing.vectors, _BINS, mesh=on_devices)[0]
    if packing.start is not None and "counts" in arrays:
        arrays["start_counts"] = gram_histogram(packing.start, _BINS, mesh=on_devices)[0]
    if d == 3 and k <= _LARGEST_PICTURE:
        arrays["points"] = packing.vectors
    return Cell(row, arrays, packing.vectors)


def published_value(k: int, d: int) -> float | None:
    """The published optimum of this very cell, if there is one."""
    ks, ds, values = published_packings("optimised")
    same = np.flatnonzero((ks == k) & (ds == d))
    return float(values[same[0]]) if len(same) else None


def preset_cells(ks: Sequence[int] | None, ds: Sequence[int] | None) -> tuple[tuple[int, int], ...]:
    """The published cells, those of the given sizes, cheapest first."""
    all_k, all_d, _ = published_packings("optimised")
    cells = [(int(k), int(d)) for k, d in zip(all_k, all_d, strict=True)]
    chosen = [(k, d) for k, d in cells if (ks is None or k in ks) and (ds is None or d in ds)]
    return tuple(sorted(chosen, key=lambda cell: cell[0] ** 2 * cell[1]))


class Work(NamedTuple):
    """Steps of all restarts of a cell together, and the floating-point operations of them all."""

    steps: int
    flops: float


def cell_work(config: PackConfig, k: int, d: int) -> Work:
    """What a cell takes; no steps where a closed form serves."""
    if has_closed_form(k, d):
        return Work(0, 0.0)
    if config.orbits:
        generators = -(-k // d**2)
        return _work(config.steps or 1000, 3.0 * generators * (generators + 1) * d**3)
    if k * d <= SMALL:
        search = SearchConfig.of(config.objective, config.steps, config.restarts)
        return _work((1 + search.patience(k, d)) * search.steps_of_all, 3.0 * k**2 * d)
    return _work((config.steps or 1500) * (config.restarts or 1), 3.0 * k**2 * d)


def _work(steps: int, flops: float) -> Work:
    return Work(steps, steps * flops)


def cell_memory(k: int, d: int, devices: int, *, orbits: bool) -> int:
    """Bytes that a cell needs; of orbits only the lines themselves count, made, copied and checked."""
    return 16 * k * d if orbits else memory_needed(k, d, devices)


def require_memory(k: int, d: int, devices: Sequence[jax.Device], *, orbits: bool) -> None:
    """Check that a cell fits, before anything is allocated.

    Raises:
        InputError: it needs more than the devices have.
    """
    needed = cell_memory(k, d, len(devices), orbits=orbits)
    on_host = devices[0].platform == "cpu"
    own = next(device for device in devices if device.process_index == device.client.process_index())
    memory = host_memory() if on_host else device_memory(own)
    if memory is None:
        return
    room = memory.available if memory.available is not None else memory.total
    share = needed if on_host else needed // len(devices)
    if share > room:
        where = "the host" if on_host else "a device"
        remedy = "give a smaller --k or --d" + ("" if on_host else ", or more devices")
        raise InputError(
            f"k={k}, d={d}: needs about {share / 2**30:.1f} GiB and {where} has {room / 2**30:.1f} GiB free; {remedy}"
        )


def require_start(config: PackConfig, k: int, d: int) -> None:
    """Check that the vectors to start from can be had, before anything is written.

    Raises:
        InputError: no such file, another shape, or a dimension without orbits.
    """
    if config.orbits:
        require_group(d)
    if config.init != "random":
        given_start(config.init, k, d, seed=0)
