"""What `superjax pack` keeps of cells: files a later process takes up, vectors, and a table to look into."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from superjax.cli.checkpoints import Checkpoints
from superjax.cli.command import Context
from superjax.cli.pack_cells import Cell, cell_name, cell_work
from superjax.core.errors import InputWarning
from superjax.packing.watch import OnCheckpoint
from superjax.runs import OnProgress, replacing

if TYPE_CHECKING:
    from superjax.cli.pack import PackConfig


class Records:
    """Cells that are done, and the state of the one that was under way.

    Args:
        config: what is to be packed.
        context: of the command.
        kept: its checkpoints.
    """

    def __init__(self, config: PackConfig, context: Context, kept: Checkpoints) -> None:
        self._config, self._context, self._kept = config, context, kept
        self._done: dict[tuple[int, int], Cell] = {}
        for k, d in config.cells:
            cell = None if kept.folder is None else _read(kept.folder / f"{self._name(k, d)}.npz")
            if cell is not None:
                self._done[k, d] = cell
        self._saved = kept.newest()
        under_way = [self._name(k, d) for k, d in self.longest_first()]
        if self._saved is not None and self._saved.item not in under_way:
            self._saved = None
        if self._done or self._saved is not None:
            stands = "" if self._saved is None else f", {self._saved.place}"
            context.report(done=len(self._done), cells=len(config.cells))
            context.note(f"going on: {len(self._done)} of {len(config.cells)} cells are done{stands}")

    @property
    def cells(self) -> Sequence[Cell]:
        """The cells that are done, in the order of the table."""
        return [self._done[cell] for cell in self._config.cells if cell in self._done]

    def longest_first(self) -> list[tuple[int, int]]:
        """(k, d) of the cells that are still to be packed."""
        to_do = [cell for cell in self._config.cells if cell not in self._done]
        return sorted(to_do, key=lambda cell: -self._work(*cell))

    def progress_of(self, k: int, d: int, on_progress: OnProgress) -> OnProgress:
        """A cell's progress as progress of them all, by their work.

        Args:
            k: of the cell.
            d: of the cell.
            on_progress: of the command.
        """
        before = sum(self._work(*cell) for cell in self._done)
        own, total = self._work(k, d), sum(self._work(*cell) for cell in self._config.cells)

        def on_cell(done: int, steps: int, standing: str = "") -> None:
            on_progress(int(1e6 * (before + own * done / steps) / total), 1_000_000, standing)

        return on_cell

    def state_of(self, k: int, d: int) -> Mapping[str, Any] | None:
        """Where a cell was left; None where it was not begun."""
        found = self._saved
        return found.arrays if found is not None and found.item == self._name(k, d) else None

    def keeper_of(self, k: int, d: int) -> OnCheckpoint:
        """What keeps a cell's states."""
        return lambda arrays: self._kept.offer(arrays, self._name(k, d))

    def add(self, cell: Cell) -> None:
        """Keep a cell that is done.

        Args:
            cell: with its vectors.
        """
        self._done[cell.row["k"], cell.row["d"]] = cell
        folder = self._context.begin()
        if folder is None or self._kept.folder is None:
            return
        if self._config.save_vectors and cell.vectors is not None:
            _write_vectors(folder.path / "vectors" / f"{cell.name}.npy", cell.vectors)
        _write(self._kept.folder / f"{cell.name}.npz", cell)
        self._kept.done(f"{len(self._done)} of {len(self._config.cells)} cells")
        folder.write_table([self._done[one].row for one in self._config.cells if one in self._done])
        self._context.report(done=len(self._done), cells=len(self._config.cells), saved=None)

    def _name(self, k: int, d: int) -> str:
        return cell_name(self._config.objective, k, d)

    def _work(self, k: int, d: int) -> float:
        return 1.0 + cell_work(self._config, k, d).flops


def _write(file: Path, cell: Cell) -> None:
    with replacing(file) as temporary, temporary.open("wb") as opened:
        arrays: dict[str, Any] = {"row": np.array(json.dumps(cell.row)), **cell.arrays}
        np.savez(opened, allow_pickle=False, **arrays)


def _write_vectors(file: Path, vectors: np.ndarray) -> None:
    with replacing(file) as temporary, temporary.open("wb") as opened:
        np.save(opened, vectors, allow_pickle=False)


def _read(file: Path) -> Cell | None:
    """The cell in a file; None where there is no file, or a damaged one, which an `InputWarning` says."""
    if not file.exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files if name != "row"}
            return Cell(json.loads(str(saved["row"])), arrays)
    except Exception as error:  # zipfile, zlib and NumPy each have their own for a damaged file
        warnings.warn(f"{file}: is damaged ({error}); its cell is packed again", InputWarning, stacklevel=2)
        return None
