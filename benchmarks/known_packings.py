"""Known optima and best-known tables, found again from random starts: python -m benchmarks.known_packings."""

from __future__ import annotations

import argparse
import csv
import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jax.sharding import Mesh

from benchmarks import _harness
from superjax.core import mesh as meshes
from superjax.laws import best_construction
from superjax.packing import coherence, pack
from superjax.packing.objectives import Name

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "tests" / "laws" / "data" / "best_known.json"
RESULTS = ROOT / "benchmarks" / "results" / "packings_known.csv"
COLUMNS = ("objective", "k", "d", "value", "known", "difference", "restarts", "seconds", "gradients")

FRAMES = (
    (6, 3), (10, 5), (16, 6), (14, 7), (28, 7), (18, 9), (16, 10), (28, 21),
)  # fmt: skip
"""(k, d) of equiangular tight frames of at most 36 lines that random starts find."""

BUILT_FRAMES = ((26, 13), (30, 15), (36, 15), (36, 21))
"""Those that they were not seen to find in thousands of tries: from the constructions."""

_BETTER = 1e-9


class Cell(NamedTuple):
    """A packing whose best value is known, and whether it is built rather than searched for."""

    objective: Name
    k: int
    d: int
    known: float
    built: bool = False


def frames() -> Iterator[Cell]:
    """Equiangular tight frames, at Welch's bound."""
    for k, d in (*FRAMES, *BUILT_FRAMES):
        yield Cell("coherence", k, d, math.sqrt((k - d) / (d * (k - 1))), (k, d) in BUILT_FRAMES)


def codes() -> Iterator[Cell]:
    """Spherical codes: simplices, cross-polytopes, square antiprism, icosahedron, 24-cell."""
    for d in range(2, 17):
        yield Cell("spherical", d + 1, d, -1 / d)
    for d in range(2, 17):
        yield Cell("spherical", 2 * d, d, 0.0)
    yield Cell("spherical", 8, 3, (2 * math.sqrt(2) - 1) / 7)
    yield Cell("spherical", 12, 3, 1 / math.sqrt(5))
    yield Cell("spherical", 24, 4, 1 / 2)


def thomson() -> Iterator[Cell]:
    """Thomson's problem for 2 to 32 points."""
    for k, energy in _tables()["thomson"]:
        yield Cell("riesz", int(k), 3, energy)


def lines() -> Iterator[Cell]:
    """Best-known packings of at most 30 lines in 2 to 8 dimensions."""
    for d, k, value in _tables()["lines"]:
        if d <= 8 and k <= 30 and (k, d) not in FRAMES:
            yield Cell("coherence", int(k), int(d), value)


GROUPS = {"frames": frames, "codes": codes, "thomson": thomson, "lines": lines}


def _tables() -> dict[str, list[list[float]]]:
    return json.loads(TABLES.read_text())


def measure(cell: Cell, vectors: Path, mesh: Mesh) -> dict[str, object]:
    """One row of the table; rows that beat what is known are saved as `.npy`."""
    began = time.perf_counter()
    if cell.built:
        rows = best_construction(cell.k, cell.d).construction.vectors(cell.k, cell.d)
        value, restarts, gradients = coherence(rows), 0, 0
    else:
        found = pack(cell.k, cell.d, objective=cell.objective, mesh=mesh)
        rows, value, restarts, gradients = found.vectors, found.value, found.restarts, found.restarts * found.steps
    seconds = time.perf_counter() - began
    difference = value - cell.known
    if difference < -_BETTER * max(1.0, abs(cell.known)):
        vectors.mkdir(parents=True, exist_ok=True)
        np.save(vectors / f"{cell.objective}_{cell.k}_{cell.d}.npy", rows)
    measured = (*cell[:3], value, cell.known, difference, restarts, round(seconds, 1), gradients)
    return dict(zip(COLUMNS, measured, strict=True))


def run(cells: Sequence[Cell], path: Path) -> list[dict[str, str]]:
    """Measure the cells that `path` lacks, appending each as it is done; returns all of its rows."""
    mesh, rows = meshes.row_mesh(_harness.start_devices(None)), _read(path)
    done = {(row["objective"], int(row["k"]), int(row["d"])) for row in rows}
    for cell in cells:
        if cell[:3] not in done:
            row = measure(cell, path.with_suffix(""), mesh)
            _append(path, row)
            print(f"{cell.objective} k={cell.k} d={cell.d}: {row['value']:.15g}, {row['difference']:+.1e}", flush=True)
    return _read(path)


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _append(path: Path, row: dict[str, object]) -> None:
    fresh = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            table.writeheader()
        table.writerow(row)


def summary(rows: Sequence[dict[str, str]]) -> str:
    """How many cells were met to 1e-6 (energies to 1e-8, relatively), how many of these needed no search, which were
    missed, and which were beaten."""
    met = [row for row in rows if float(row["difference"]) <= _tolerance(row)]
    built = sum(row["restarts"] == "0" for row in met)
    missed = [f"missed: {_named(row)}" for row in rows if row not in met]
    beaten = [f"beaten: {_named(row)}" for row in met if float(row["difference"]) < -_BETTER * _size(row)]
    counted = f"{len(met)} of {len(rows)} cells met, {built} of them by closed forms and constructions"
    return "\n".join([counted, *missed, *beaten])


def _tolerance(row: dict[str, str]) -> float:
    return 1e-8 * _size(row) if row["objective"] == "riesz" else 1e-6


def _size(row: dict[str, str]) -> float:
    return max(1.0, abs(float(row["known"])))


def _named(row: dict[str, str]) -> str:
    return f"{row['objective']} k={row['k']} d={row['d']}: {row['value']}, known {row['known']}"


def main(argv: Sequence[str] | None = None) -> None:
    """Fill in the table and say how it compares; a cell that the table holds is not run again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(GROUPS), help=f"groups of cells, of {', '.join(GROUPS)}")
    parser.add_argument("--most", type=int, default=36, help="vectors at most (default 36)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the table (default benchmarks/results/...)")
    flags = parser.parse_args(argv)
    cells = [cell for group in flags.only.split(",") for cell in GROUPS[group]() if cell.k <= flags.most]
    print(summary(run(cells, flags.out)))


if __name__ == "__main__":
    main()
