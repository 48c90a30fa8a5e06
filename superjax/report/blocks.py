"""The pieces of the page: tables with downloads, figures with captions, commands to copy, lists of facts."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from superjax.report.captions import caption_of
from superjax.report.folders import Figure, Run
from superjax.report.markup import Markup, element, join
from superjax.report.section import Cell, Column, Link, Table, shown

MOST_ROWS = 2000
"""Rows of a table on the page; a browser sorts as many at once, and the download has them all."""

_WIDE, _WIDE_POINTS = 2.2, 580
"""Width over height, and width in points, from either of which a figure takes the page's whole width."""

_PNG_DPI = 200


def table_block(table: Table, *, note: str = "") -> Markup:
    """A table with its caption, the legend of its columns and its download; the page's script makes it sort and filter.

    Args:
        table: what to show, at most `MOST_ROWS` rows of it.
        note: a sentence under the table.
    """
    rows = table.rows[:MOST_ROWS]
    numeric = {column.key: _is_numeric(rows, column.key) for column in table.columns}
    head = element("tr", *(_heading(column, numeric[column.key]) for column in table.columns))
    body = [
        element("tr", *(_cell(row.get(c.key), c, numeric[c.key], first=c is table.columns[0]) for c in table.columns))
        for row in rows
    ]
    if len(table.rows) > MOST_ROWS:
        note = f"The first {MOST_ROWS:,d} of {len(table.rows):,d} rows; the CSV has all. {note}"
    caption = element("caption", element("span", table.name))
    return element(
        "div",
        element(
            "div",
            element("table", caption, element("thead", head), element("tbody", *body)),
            class_="scroll", tabindex=0, role="region", aria_label=f"{table.name}, scrolls",
        ),
        element("p", note, class_="note") if note else None,
        element(
            "p",
            element("a", "Download CSV", download=table.file, href=_data_uri("text/csv;charset=utf-8", table.csv)),
            class_="download",
        ),
        _legend(table.columns),
        class_="table",
    )  # fmt: skip


def _heading(column: Column, numeric: bool) -> Markup:
    unit = element("span", f" ({column.unit})", class_="unit") if column.unit else None
    return element("th", column.heading, unit, scope="col", data_type="number" if numeric else "text")


def _cell(value: Cell, column: Column, numeric: bool, *, first: bool) -> Markup:
    name = "th" if first else "td"
    scope = "row" if first else None
    if value is None or value == "":
        return element(name, "–", scope=scope, class_="empty", data_value="")
    if isinstance(value, Link):
        return element(name, element("a", value.text, href=value.target), scope=scope)
    if numeric and isinstance(value, int | float):
        exact = repr(float(value))
        return element(name, cell_text(value, column), scope=scope, class_="number", data_value=exact)
    return element(name, cell_text(value, column), scope=scope)


def cell_text(value: Cell, column: Column) -> str:
    """A cell as it reads."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shown(value, column.format) if value is None or isinstance(value, int | float) else str(value)


def _is_numeric(rows: Sequence[Mapping[str, Cell]], key: str) -> bool:
    values = [value for row in rows if (value := row.get(key)) not in (None, "")]
    return bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _legend(columns: Sequence[Column]) -> Markup | None:
    said = [column for column in columns if column.meaning]
    if not said:
        return None
    entries = (join(element("dt", column.heading), element("dd", column.meaning)) for column in said)
    return element("details", element("summary", "What the columns mean"), element("dl", *entries, class_="facts"))


def figure_block(run: Run, figure: Figure, number: int) -> Markup:
    """A figure at its own size or the page's width, with what it shows and what to look for.

    An image of its own, not part of the page's tree: nothing in a file of a run folder is run or fetched, and marks of
    two figures cannot meet.
    """
    caption = caption_of(run.command, figure.name)
    ending = "svg" if figure.kind == "image/svg+xml" else "png"
    file = element("span", f"figures/{figure.name}.{ending}", class_="file")
    text = element("figcaption", element("b", f"Figure {number}. {caption.shows}. "), caption.look_for or None, file)
    alt = f"{caption.shows} ({figure.name})"
    source = f"data:{figure.kind};base64,{base64.b64encode(figure.content).decode('ascii')}"
    width, height = _size(figure)
    wide = "wide" if width / height > _WIDE or width > _WIDE_POINTS else None
    picture = element("div", element("img", src=source, alt=alt), class_="picture")
    return element("figure", picture, text, class_=wide)


def _size(figure: Figure) -> tuple[float, float]:
    """Width and height in points, as the file states them; (1, 1) where it does not."""
    if figure.kind == "image/png":
        width, height = (int.from_bytes(figure.content[place : place + 4]) * 72 / _PNG_DPI for place in (16, 20))
        return (width, height) if width and height else (1.0, 1.0)
    box = re.search(rb'viewBox="\s*\S+\s+\S+\s+([0-9.]+)\s+([0-9.]+)', figure.content[:4000])
    width, height = (float(part) for part in box.groups()) if box else (1.0, 1.0)
    return (width, height) if width and height else (1.0, 1.0)


def command_block(arguments: Sequence[str], note: Markup | None) -> Markup:
    """A command line as a shell takes it, with room for a button that copies it, and a note below."""
    words = (element("span", shlex.quote(argument), class_="argument") for argument in arguments)
    return element(
        "div",
        element("pre", element("code", join(*words, between=" ")), tabindex=0),
        element("p", note, class_="note") if note else None,
        class_="command",
    )


def facts_block(facts: Mapping[str, str | None]) -> Markup:
    """Names and values, those without a value left out."""
    entries = (join(element("dt", name), element("dd", value)) for name, value in facts.items() if value)
    return element("dl", *entries, class_="facts")


def folded(title: str, content: Markup) -> Markup:
    """Content that opens on demand, and in print."""
    return element("details", element("summary", title), content)


def _data_uri(kind: str, text: str) -> str:
    return f"data:{kind}," + quote(text, safe=",:/.-_+", errors="replace")
