"""`superjax pack`: optimised packings over a grid of sizes, and the coherence of any file of vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from absl import flags
from absl.flags import FlagValues

from superjax.cli.command import Command, Context, Outcome
from superjax.core.errors import InputError
from superjax.core.grid import parse_grid

if TYPE_CHECKING:
    from superjax.cli.pack_cells import Cell
    from superjax.cli.pack_records import Records
    from superjax.packing.objectives import Name
    from superjax.runs import OnProgress

_NAMED_STARTS = ("random", "construction")
_OBJECTIVES = ("coherence", "spherical", "riesz")


@dataclass(frozen=True)
class PackConfig:
    """The cells, and how each is packed; or the file to verify."""

    cells: tuple[tuple[int, int], ...] = ()
    preset: str | None = None
    objective: Name = "coherence"
    riesz_s: float = 1.0
    steps: int | None = None
    restarts: int | None = None
    init: str = "random"
    save_vectors: bool = False
    verify: str | None = None
    orbits: bool = False
    dry_run: bool = field(default=False, compare=False)  # writes no run


def define_flags(values: FlagValues) -> None:
    """What to pack, and how."""
    flags.DEFINE_string("k", None, "numbers of vectors, a `GRID` such as 2000 or 10:30:21", flag_values=values)
    flags.DEFINE_string("d", None, "dimensions, a `GRID` such as 32,64 or 2**5:2**8", flag_values=values)
    flags.DEFINE_enum(
        "preset", None, ["guha"],
        "cells of a published grid; --k and --d then pick from it. guha: 166 cells of arXiv 2606.02765",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_enum(
        "objective", "coherence", _OBJECTIVES,
        "what to minimise: the largest |cosine| of lines, the largest cosine of points, or their Riesz energy",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_float("riesz_s", 1.0, "power `S` of the Riesz energy; 1 is Thomson's problem", flag_values=values)
    flags.DEFINE_integer(
        "steps", None, "steps of a start; by default 1500, and 600 for small packings", lower_bound=1,
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_integer(
        "restarts", None, "independent starts; by default 1, and 512 for small packings", lower_bound=1,
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_string(
        "init", "random", "where to start: random, construction, or a `FILE.npy` of k rows", flag_values=values
    )
    flags.DEFINE_bool(
        "orbits", False,
        "pack orbits of a few vectors under the Pauli group: k up to a million, d a power of 2 up to 256",
        flag_values=values,
    )  # fmt: skip
    flags.DEFINE_bool("save_vectors", False, "write the vectors as .npy into the run folder", flag_values=values)
    flags.DEFINE_string(
        "verify", None, "pack nothing; recompute the coherence of the rows of `FILE.npy` in float64", flag_values=values
    )
    flags.DEFINE_bool("dry_run", False, "say what would be packed and what it takes, and stop", flag_values=values)


def configure(values: FlagValues) -> PackConfig:
    """Flags -> configuration: the cells of the grid or the preset."""
    if values.verify is not None:
        for flag in ("k", "d", "preset"):
            if values[flag].value is not None:
                raise InputError(f"--{flag}: --verify takes everything from its file; leave --{flag} out")
        return PackConfig(verify=values.verify)
    if not 0 < values.riesz_s <= 100:
        raise InputError(f"--riesz_s={values.riesz_s:g}: is not in (0, 100]; give 1, or --objective=spherical")
    config = PackConfig(
        cells=_cells(values),
        preset=values.preset,
        objective=values.objective,
        riesz_s=values.riesz_s,
        steps=values.steps,
        restarts=values.restarts,
        init=values.init,
        save_vectors=values.save_vectors,
        orbits=values.orbits,
        dry_run=values.dry_run,
    )
    if config.orbits and (config.objective, config.init, config.restarts) != ("coherence", "random", None):
        raise InputError("--orbits: minimises the coherence from one random start; leave --objective, --init out")
    if config.init not in _NAMED_STARTS and len(config.cells) > 1:
        raise InputError(f"--init={config.init}: one file cannot start {len(config.cells)} cells; give one --k and --d")
    return config


def _cells(values: FlagValues) -> tuple[tuple[int, int], ...]:
    """(k, d) of every cell, d slowest."""
    wanted = {name: _sizes(values, name) for name in ("k", "d")}
    if values.preset is not None:
        from superjax.cli.pack_cells import preset_cells

        cells = preset_cells(wanted["k"], wanted["d"])
        if not cells:
            raise InputError(f"--preset={values.preset}: has no cell with these --k and --d; leave them out to see all")
        return cells
    for name, sizes in wanted.items():
        if sizes is None:
            raise InputError(f"--{name}: missing; give superjax pack --k=GRID --d=GRID, or --preset, or --verify=FILE")
    return tuple((k, d) for d in wanted["d"] or () for k in wanted["k"] or ())


def _sizes(values: FlagValues, name: str) -> tuple[int, ...] | None:
    text: str | None = values[name].value
    if text is None:
        return None
    sizes = tuple(dict.fromkeys(parse_grid(text, f"--{name}", whole=True)))
    if min(sizes) < 1:
        raise InputError(f"--{name}={text}: {min(sizes)} is not positive; give whole numbers from 1 on")
    return sizes


def run(config: PackConfig, context: Context) -> Outcome:
    """Pack cell by cell, taking up what an interrupted run has finished; or verify a file; or say what it takes."""
    from superjax.cli import pack_outcome
    from superjax.cli.endings import out_of_memory
    from superjax.cli.pack_records import Records
    from superjax.core import processes

    if config.verify is not None:
        return pack_outcome.verification(config.verify)
    if config.dry_run:
        return pack_outcome.forecast(config, context.devices)
    if config.orbits and not processes.alone():
        raise InputError("--orbits: they are packed on one device; leave --distributed out")
    context.together(lambda: _given(config, context), lambda contents: contents)
    with (
        context.checkpoints() as kept,
        context.progress(f"{len(config.cells)} cell{'s' * (len(config.cells) != 1)}") as on_progress,
    ):
        records = Records(config, context, kept)
        failures: list[str] = []
        for k, d in records.longest_first():
            follow = _follow(config, k, d, records.progress_of(k, d, on_progress))
            try:
                cell = _pack_cell(config, context, records, k, d, follow)
            except (MemoryError, RuntimeError) as error:  # the other cells are smaller
                cause = out_of_memory(error)
                if cause is None or len(config.cells) == 1 or not processes.alone():
                    raise
                failures.append(f"k={k}, d={d}: {cause}; give it more, or leave the cell out")
            else:
                records.add(cell)
    return pack_outcome.outcome(config, records.cells, failures)


def _given(config: PackConfig, context: Context) -> list[bytes]:
    """Check that every cell can be packed here; what a file gives to start from, the same in every process.

    Raises:
        InputError: a cell is too large, or the start of one cannot be had.
    """
    from superjax.cli.pack_cells import require_memory, require_start
    from superjax.packing.starts import load_vectors

    for k, d in config.cells:
        require_memory(k, d, context.devices, orbits=config.orbits)
        require_start(config, k, d)
    return [] if config.init in _NAMED_STARTS else [load_vectors(config.init).tobytes()]


def _pack_cell(
    config: PackConfig, context: Context, records: Records, k: int, d: int, follow: Callable[[int, int, float], None]
) -> Cell:
    """Pack one cell, from where it stands."""
    from superjax import packing
    from superjax.cli.pack_cells import cell_of
    from superjax.core.mesh import row_mesh

    started, mesh = time.monotonic(), row_mesh(context.devices)
    on_checkpoint, resume = records.keeper_of(k, d), records.state_of(k, d)
    if config.orbits:
        found = packing.pack_orbits(
            k, d, steps=config.steps, seed=context.seed, on_value=follow, on_checkpoint=on_checkpoint, resume=resume
        )
    else:
        found = packing.pack(
            k, d, objective=config.objective, riesz_s=config.riesz_s, steps=config.steps,
            restarts=config.restarts, init=config.init, seed=context.seed, mesh=mesh,
            precision=context.precision, on_value=follow, on_checkpoint=on_checkpoint, resume=resume,
        )  # fmt: skip
    return cell_of(found, time.monotonic() - started, mesh)


def _follow(config: PackConfig, k: int, d: int, on_progress: OnProgress) -> Callable[[int, int, float], None]:
    """The `on_value` of one cell: moves the bar, and says how far the cell is from what is proven."""
    from superjax import packing

    bound = packing.proven_bound(config.objective, k, d)
    against = "" if bound is None else f", bound {bound.value:.6g}"

    def on_value(done: int, steps: int, value: float) -> None:
        on_progress(done, steps, f"k={k} d={d} {config.objective} {value:.6g}{against}")

    return on_value


COMMAND = Command(
    summary="k directions in R^d as far apart as can be found, over a grid of (k, d)",
    details=(
        "Minimises the coherence of k lines in R^d (the largest |cosine| of two), the largest cosine of k points, or "
        "their Riesz energy, and sets it beside a proven lower bound, random vectors, the best explicit construction "
        "and what was published. Up to k d = 600 it searches with many restarts and polishes to 13 digits. Rows are "
        "spread over all devices. A grid of several cells goes on where it was interrupted. "
        "Grids: 10,15,25 or 10:30:21 (evenly spaced) or 2**5:2**8."
    ),
    examples=(
        "superjax pack --k=16 --d=6",
        "superjax pack --k=2000 --d=32,64,128 --save_vectors --out=runs/packings",
        "superjax pack --k=2:32:31 --d=3 --objective=riesz",
        "superjax pack --k=1000000 --d=64 --orbits",
        "superjax pack --preset=guha --k=2000,4000 --d=32,64,128,256 --out=runs/guha",
        "superjax pack --verify=runs/packings/vectors/coherence_2000_32.npy",
    ),
    define_flags=define_flags,
    configure=configure,
    run=run,
    on_hosts=True,
    keeps_checkpoints=True,
    inputs=lambda config: [path for path in (config.verify, config.init) if path and path not in _NAMED_STARTS],
)
