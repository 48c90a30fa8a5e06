"""Plain aligned tables that read at 80 columns and in a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

GAP = "  "


@dataclass(frozen=True)
class Column:
    """One printed column of a table.

    Attributes:
        key: the entry of each row.
        title: the heading; the key itself when empty.
        format: a format specification for numbers, such as ".4f", ",d" or ".3g".
    """

    key: str
    title: str = ""
    format: str = ""

    @property
    def heading(self) -> str:
        return self.title or self.key

    def cell(self, row: Mapping[str, Any]) -> str:
        """The row's entry as text: "-" for one that is missing, yes or no for a truth value."""
        value = row.get(self.key)
        if value is None:
            return "-"
        if isinstance(value, bool):
            return "yes" if value else "no"
        return format(value, self.format) if isinstance(value, Number) else str(value)


def format_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], *, width: int = 80) -> str:
    """The rows as text, numbers to the right, split into blocks below each other where `width` is not enough.

    Every block begins with the first column. Lines carry no trailing blanks.

    Args:
        rows: one mapping an item.
        columns: what is shown, in order.
        width: characters a line.

    Returns:
        The table, without a final newline; "" when there is nothing to show.

    Example:
        >>> rows = [{"tensor": "wte", "rows": 50257, "epsilon": 0.31}, {"tensor": "lm_head", "rows": 50257}]
        >>> print(format_table(rows, [Column("tensor"), Column("rows", format=",d"), Column("epsilon", format=".3f")]))
        tensor     rows  epsilon
        wte      50,257    0.310
        lm_head  50,257        -
    """
    if not rows or not columns:
        return ""
    laid_out = [_lay_out(rows, column) for column in columns]
    blocks = [_join([laid_out[0], *block]) for block in _blocks(laid_out, width)]
    return "\n\n".join(blocks)


def _lay_out(rows: Sequence[Mapping[str, Any]], column: Column) -> list[str]:
    """Heading and cells of one column, padded to one width."""
    cells = [column.cell(row) for row in rows]
    size = max(map(len, [column.heading, *cells]))
    values = [value for row in rows if (value := row.get(column.key)) is not None]
    numeric = all(isinstance(value, Number) and not isinstance(value, bool) for value in values)
    pad = str.rjust if values and numeric else str.ljust
    return [pad(text, size) for text in (column.heading, *cells)]


def _blocks(laid_out: Sequence[list[str]], width: int) -> list[list[list[str]]]:
    """The columns after the first, in groups that fit beside it; a column too wide for any line stands alone."""
    start = len(laid_out[0][0])
    blocks: list[list[list[str]]] = [[]]
    used = start
    for column in laid_out[1:]:
        needed = len(GAP) + len(column[0])
        if used + needed > width and blocks[-1]:
            blocks.append([])
            used = start
        blocks[-1].append(column)
        used += needed
    return blocks


def _join(columns: Sequence[list[str]]) -> str:
    return "\n".join(GAP.join(line).rstrip() for line in zip(*columns, strict=True))
