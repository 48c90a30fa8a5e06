"""Reading a table to fit: the columns asked for, as numbers, and a complaint that names the line where one is not."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from superjax.core.errors import InputError

_SMALLEST = math.nextafter(0.0, 1.0)


@dataclass(frozen=True)
class Table:
    """A CSV file with a header; lines that begin with # are comments.

    Attributes:
        path: where it was read from.
        header: column names.
        lines: line number of each row in the file.
        cells: the rows, text by column name.
    """

    path: str
    header: tuple[str, ...]
    lines: tuple[int, ...]
    cells: tuple[dict[str, str], ...]

    def has(self, *columns: str) -> bool:
        """Whether every one of these columns is there."""
        return set(columns) <= set(self.header)

    def require(self, *columns: str) -> None:
        """Refuses a table without these columns.

        Raises:
            InputError: names the missing ones and those there are.
        """
        missing = [column for column in columns if column not in self.header]
        if missing:
            found = ", ".join(self.header) or "nothing"
            raise InputError(f"{self.path}: no column {', '.join(missing)}; its columns are {found}")

    def text(self, column: str) -> list[str]:
        """A column as text."""
        self.require(column)
        return [row[column] for row in self.cells]

    def numbers(self, column: str, low: float = -math.inf, high: float = math.inf) -> np.ndarray:
        """A column as float64 ``[n]``, every value finite and in [low, high].

        Raises:
            InputError: no such column, or a value that is none; names its line.
        """
        found = []
        for line, text in zip(self.lines, self.text(column), strict=True):
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not (math.isfinite(value) and low <= value <= high):
                wanted = _wanted(low, high)
                raise InputError(
                    f"{self.path}: line {line}: {column} is {text!r}, not {wanted}; correct or drop the row"
                )
            found.append(value)
        return np.array(found, np.float64)

    def positive(self, column: str) -> np.ndarray:
        """A column as float64 ``[n]``, every value finite and above 0; as :meth:`numbers`."""
        return self.numbers(column, low=_SMALLEST)

    def where(self, keep: Sequence[bool]) -> Table:
        """The rows that are kept."""
        chosen = [place for place, kept in enumerate(keep) if kept]
        return Table(
            self.path,
            self.header,
            tuple(self.lines[place] for place in chosen),
            tuple(self.cells[place] for place in chosen),
        )


def read_table(path: str | Path) -> Table:
    """Reads a CSV table.

    Args:
        path: the file; UTF-8, comma-separated, a header in its first line that is no comment.

    Returns:
        The table; cells are read as numbers only where they are asked for.

    Raises:
        InputError: the file cannot be read, has no rows, or a row has another number of cells than the header, a
            column name is repeated, or a quoted cell does not end on its line.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "t.csv"
        >>> _ = path.write_text("# packings\\nk,d\\n10,4\\n12,4\\n")
        >>> read_table(path).numbers("k").tolist()
        [10.0, 12.0]
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{path}: {reason}; give a CSV file") from None
    kept = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and line[0] != "#"]
    rows = [_cells(path, number, line) for number, line in kept]
    if len(rows) < 2:
        raise InputError(f"{path}: has no rows; give a header line and one line a row")
    header = tuple(name.strip() for name in rows[0])
    repeated = [name for place, name in enumerate(header) if name in header[:place]]
    if repeated:
        raise InputError(f"{path}: line {kept[0][0]}: the column {repeated[0]!r} stands there twice; rename one")
    for (line, _), row in zip(kept[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise InputError(f"{path}: line {line}: {len(row)} cells, the header has {len(header)}; correct the row")
    cells = tuple(dict(zip(header, (cell.strip() for cell in row), strict=True)) for row in rows[1:])
    return Table(str(path), header, tuple(number for number, _ in kept[1:]), cells)


def _cells(path: str | Path, number: int, line: str) -> list[str]:
    """The cells of one line; each line is read by itself, so a quote that stays open harms no other."""
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        reason = "a quoted cell does not end on the line" if "unexpected end" in str(error) else str(error)
        raise InputError(f"{path}: line {number}: {reason}; correct the row") from None


def _wanted(low: float, high: float) -> str:
    if high < math.inf:
        return f"a number from {low:g} to {high:g}"
    if low == _SMALLEST:
        return "a positive finite number"
    return "a finite number" if low == -math.inf else f"a finite number >= {low:g}"
