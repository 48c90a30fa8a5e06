"""How runs are laid out: all of them in an overview, then a section each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from superjax.report.blocks import cell_text, command_block, facts_block, figure_block, folded, table_block
from superjax.report.columns import columns_of, typed
from superjax.report.folders import Run
from superjax.report.markup import Markup, element, join
from superjax.report.section import Cell, Column, Link, Section, Table
from superjax.runs import format_duration

_WARNINGS = {
    "running": "Unfinished: this run is still going on, or was broken off. What is here is what it has saved so far; "
    "the command below takes it up again.",
    "failed": "Failed: this run ended with an internal error; its traceback is in its error.txt.",
}

_CHECKOUT = join("from a checkout, ", element("code", "./scripts/run.sh"), " stands for ", element("code", "superjax"))

_ENOUGH_ROWS = 4
"""Rows of a table from which a column of one value is only in the way."""


@dataclass(frozen=True)
class Part:
    """A run's place on the page.

    Attributes:
        run: what its folder holds.
        section: what it has to say.
        number: its place, from 1.
    """

    run: Run
    section: Section
    number: int

    @property
    def anchor(self) -> str:
        return f"run-{self.number}"

    @property
    def title(self) -> str:
        """What tells it from the other runs: the folder's name, with the command where that does not say it."""
        name, command = self.run.name, self.run.command
        return name if name.startswith(command) else f"{command}: {name}"

    @property
    def link(self) -> Link:
        return Link(self.title, f"#{self.anchor}")


def overview(parts: Sequence[Part]) -> Markup:
    """Every run on a line, then every headline number."""
    return element(
        "section",
        element("h2", "Overview", id="overview-title"),
        _runs_table(parts),
        _headlines_table(parts),
        id="overview",
        aria_labelledby="overview-title",
    )


def _runs_table(parts: Sequence[Part]) -> Markup:
    columns = (
        Column("run"), Column("subject"), Column("status"), Column("started"), Column("took", unit="s", format=".1f"),
        Column("device"),
    )  # fmt: skip
    rows: list[dict[str, Cell]] = [
        {
            "run": part.link,
            "subject": part.section.subject,
            "status": "unfinished" if part.run.status == "running" else part.run.status,
            "started": _moment(part.run.manifest.get("started")),
            "took": _number(part.run.manifest.get("wall_time_s")),
            "device": _device(part.run),
        }
        for part in parts
    ]
    return table_block(Table.whole("Runs", rows, columns, "runs.csv"))


def _headlines_table(parts: Sequence[Part]) -> Markup | None:
    rows: list[dict[str, Cell]] = [
        {"run": part.link, "number": line.what, "value": line.value, "published": line.published, "source": line.source}
        for part in parts
        for line in part.section.headlines
    ]
    if not rows:
        return None
    columns = [Column("number"), Column("value")]
    note = ""
    if any(row["published"] for row in rows):
        columns += [Column("published"), Column("source")]
        note = (
            "A published number stands beside ours where there is one for the same quantity and size; published "
            "constants of a law were fitted to the k and d their source names, whatever the table here holds."
        )
    columns.append(Column("run"))
    return table_block(Table.whole("Headline numbers", rows, columns, "headlines.csv"), note=note)


def run_section(part: Part) -> Markup:
    """One run: what it ran on, the command, its figures and tables, and what else its folder holds in words."""
    run = part.run
    warning = _WARNINGS.get(run.status)
    heading = f"{part.title}: {part.section.subject}" if part.section.subject else part.title
    return element(
        "section",
        element("h2", heading, id=f"{part.anchor}-title"),
        element("p", warning, class_="warning") if warning else None,
        facts_block(_facts(run)),
        *_commands(run),
        *_figures(run),
        *_tables(part),
        folded("What it printed", element("pre", run.text, tabindex=0)) if run.text else None,
        folded("Settings and versions", _settings(run)),
        id=part.anchor,
        aria_labelledby=f"{part.anchor}-title",
    )


def _commands(run: Run) -> list[Markup]:
    """The line that repeats and compares a finished run, and the one that was run, or takes an unfinished one up."""
    where = _text(run.manifest.get("cwd"))
    if run.rerun_line is None:
        return [element("h3", "The command that takes it up again"), command_block(run.command_line, _in_folder(where))]
    checkout = join("compares the new numbers with these; ", _CHECKOUT)
    return [
        element("h3", "The command that reproduces it"),
        command_block(run.rerun_line, checkout),
        element("h3", "What was run"),
        command_block(run.command_line, _in_folder(where)),
    ]


def _in_folder(where: str | None) -> Markup | None:
    return None if where is None else join("in ", element("code", where), "; ", _CHECKOUT)


def _figures(run: Run) -> list[Markup]:
    blocks = [figure_block(run, figure, number) for number, figure in enumerate(run.figures, start=1)]
    return [element("h3", "Figures"), element("div", *blocks, class_="figures")] if blocks else []


def _tables(part: Part) -> list[Markup]:
    blocks = [_table(table) for table in part.section.tables]
    rows = typed(part.run.rows())
    if rows:
        filled = [key for key in part.section.columns if any(row.get(key) is not None for row in rows)]
        keys = filled or list(rows[0])
        left_out = len(rows[0]) - len(keys)
        note = f"The CSV has {left_out} more column{'s' * (left_out != 1)}." if left_out > 0 else ""
        name, file = f"{part.title}: all rows", f"{part.run.name}-table.csv"
        blocks.append(_table(Table(name, rows, columns_of(keys), part.run.table, file), note))
    return [element("h3", "Tables"), *blocks] if blocks else []


def _table(table: Table, note: str = "") -> Markup:
    """The table, with columns of one value said once below it."""
    if len(table.rows) < _ENOUGH_ROWS:
        return table_block(table, note=note)
    alike = [column for column in table.columns if len({row.get(column.key) for row in table.rows}) == 1]
    constants = (f"{column.heading} {cell_text(table.rows[0].get(column.key), column)}" for column in alike)
    said = f"The same in all rows: {'; '.join(constants)}. " if alike else ""
    columns = [column for column in table.columns if column not in alike]
    return table_block(replace(table, columns=columns or table.columns), note=f"{said if columns else ''}{note}")


def _facts(run: Run) -> dict[str, str | None]:
    """What it ran on."""
    found = run.manifest
    took, compiling = _number(found.get("wall_time_s")), _number(found.get("compile_time_s"))
    spent = None if took is None else format_duration(took)
    if took and compiling:
        spent = f"{spent}, {format_duration(compiling)} of it compiling"
    failures = found.get("failures")
    versions = found["versions"]
    ground = (f"{name} {versions[name]}" for name in ("superjax", "jax", "python") if name in versions)
    return {
        "Folder": str(run.path),
        "Device": _device(run),
        "Versions": ", ".join(ground),
        "Precision": _text(found.get("precision")),
        "Seed": _text(found.get("seed")),
        "Started": _moment(found.get("started")),
        "Took": spent,
        "Failed items": "; ".join(map(str, failures)) if isinstance(failures, list) else None,
    }


def _settings(run: Run) -> Markup:
    """The whole configuration, all versions and the revision."""
    git = run.manifest.get("git")
    revision = f"{git.get('commit')}{', modified' * bool(git.get('modified'))}" if isinstance(git, Mapping) else None
    versions = {name: _text(version) for name, version in run.manifest["versions"].items()}
    return join(facts_block(dict(_flat(run.config))), element("hr"), facts_block({**versions, "git": revision}))


def _flat(config: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Every setting on a line, those of a nested mapping by dotted names; what is not set is left out."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        elif value is not None:
            yield f"{within}{name}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _device(run: Run) -> str:
    count = run.manifest.get("device_count")
    platform, kind = run.manifest.get("platform"), run.manifest.get("device_kind")
    named = f" ({kind})" if kind != platform else ""
    return f"{count} × {platform}{named}" if count else "none used"


def _moment(value: Any) -> str | None:
    """A time of the manifest as people write it."""
    text = _text(value)
    return None if text is None else text.replace("T", " ").replace("+00:00", " UTC")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
