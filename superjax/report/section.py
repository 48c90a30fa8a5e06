"""What the report says of one run: its subject, headline numbers, and tables; the page lays them out."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Link:
    """A cell that leads to a place on the page."""

    text: str
    target: str

    def __str__(self) -> str:
        return self.text


Cell = float | str | bool | Link | None


@dataclass(frozen=True)
class Headline:
    """One number worth knowing.

    Attributes:
        what: which number.
        value: ours, as text.
        published: the published one, as text; empty where there is none.
        source: where that was published.
    """

    what: str
    value: str
    published: str = ""
    source: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table on the page.

    Attributes:
        key: the entry of each row.
        title: the heading.
        unit: of the values, empty for none.
        format: a format specification for numbers.
        meaning: a phrase for the legend under the table, empty where the title says it.
    """

    key: str
    title: str = ""
    unit: str = ""
    format: str = ".6g"
    meaning: str = ""

    @property
    def heading(self) -> str:
        return self.title or self.key


@dataclass(frozen=True)
class Table:
    """A table on the page.

    Attributes:
        name: its caption.
        rows: key -> cell; a missing key is an empty cell.
        columns: those that are shown, in order.
        csv: what its download holds.
        file: the download's name.
    """

    name: str
    rows: Sequence[Mapping[str, Cell]]
    columns: Sequence[Column]
    csv: str
    file: str

    @classmethod
    def whole(cls, name: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], file: str) -> Table:
        """A table whose download holds what is shown."""
        text = io.StringIO()
        writer = csv.DictWriter(text, [column.key for column in columns], extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return cls(name, rows, columns, text.getvalue(), file)


@dataclass(frozen=True)
class Section:
    """What a run has to say.

    Attributes:
        subject: what was looked at, in a few words.
        headlines: the numbers.
        columns: keys of `table.csv` that are shown, in order; all of them when empty.
        tables: further tables, before the run's own.
    """

    subject: str
    headlines: Sequence[Headline] = ()
    columns: Sequence[str] = ()
    tables: Sequence[Table] = ()


def shown(value: Any, form: str = ".5g") -> str:
    """A number as text; a dash for none.

    Example:
        >>> shown(0.0645), shown(None), shown(39900000.0, ".3g"), shown(7, "d")
        ('0.0645', '–', '3.99e7', '7')
    """
    return "–" if value is None else format(value, form).replace("e+0", "e").replace("e+", "e")


def evenly(number: int, most: int) -> list[int]:
    """At most `most` of `number` places, the first and the last among them.

    Example:
        >>> evenly(10, 4), evenly(2, 4)
        ([0, 3, 6, 9], [0, 1])
    """
    if number <= most:
        return list(range(number))
    return [round(place * (number - 1) / (most - 1)) for place in range(most)]
