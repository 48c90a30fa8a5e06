"""The page: what was run, the headline numbers, a section a run, the planner, in one file that needs no other."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from superjax._version import __version__
from superjax.core.errors import InputError
from superjax.report.blocks import command_block, facts_block, figure_block, folded, table_block
from superjax.report.columns import columns_of, typed
from superjax.report.folders import Run, read_runs
from superjax.report.markup import Markup, element, join
from superjax.report.section import Column, Headline, Section, Table
from superjax.report.sections import section_of
from superjax.runs import format_duration, replacing

PAGE = "report.html"

_STATUS = {
    "finished": None,
    "running": "Unfinished: this run is still going on or was broken off. What is here is what it has saved so far; "
    "the command below continues it.",
    "failed": "Failed: this run ended with an internal error, whose traceback is in its error.txt.",
}


def write_report(runs: Sequence[Path], out: Path, *, title: str = "superjax report") -> Path:
    """Write the report of run folders: one HTML file that opens from disk and uses no network.

    Args:
        runs: run folders of any commands, finished or not, in the order to show them.
        out: a folder, made if absent, in which the page is `report.html`; or a path that ends in `.html`.
        title: the page's heading.

    Returns:
        The page's path.

    Raises:
        InputError: no folder is given, one is no run folder, or a file in it is damaged. Nothing is written then.
        EnvironmentFailure: the disk refuses.

    Example:
        >>> import tempfile
        >>> from superjax.runs import RunFolder
        >>> folder = RunFolder(Path(tempfile.mkdtemp()) / "run")
        >>> folder.begin({"command": "embed", "argv": ["embed", "--checkpoint=model"], "config": {}})
        >>> page = write_report([folder.path], folder.path.parent)
        >>> page.name, "Unfinished" in page.read_text()
        ('report.html', True)
    """
    page = build_report(runs, title=title)
    target = out if out.suffix == ".html" else out / PAGE
    with replacing(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def build_report(runs: Sequence[Path], *, title: str = "superjax report") -> str:
    """The page itself, as :func:`write_report` writes it.

    Args:
        runs: run folders.
        title: the page's heading.

    Returns:
        A whole HTML document; the same run folders give the same text.

    Raises:
        InputError: as :func:`write_report`.

    Example:
        >>> build_report([])
        Traceback (most recent call last):
        ...
        superjax.core.errors.InputError: RUN: no run folder is given; give one or more, such as runs/embed-...
    """
    if not runs:
        raise InputError("RUN: no run folder is given; give one or more, such as runs/embed-20261130-131342")
    found = read_runs(runs)
    sections = [section_of(run) for run in found]
    shown = [
        _run_section(run, section, number) for number, (run, section) in enumerate(zip(found, sections, strict=True), 1)
    ]
    main = element("main", _overview(found, sections), *shown, id="main")
    return _document(title, _header(title, found), _navigation(found, sections), main)


def _document(title: str, *body: Markup) -> str:
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"superjax {__version__}"),
        element("title", title),
        element("style", style),
    )
    footer = element(
        "footer", element("p", f"Written by superjax {__version__}. This page holds all it shows and uses no network.")
    )
    skip = element("a", "Skip to the content", href="#main", class_="skip")
    content = element("body", skip, *body, footer, element("script", script))
    return f"<!DOCTYPE html>\n{element('html', head, content, lang='en')}\n"


def _asset(name: str) -> Markup:
    return Markup((resources.files("superjax.report") / "assets" / name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _header(title: str, runs: Sequence[Run]) -> Markup:
    number = f"{len(runs)} run{'s' * (len(runs) != 1)}"
    commands = ", ".join(dict.fromkeys(run.command for run in runs))
    return element("header", element("h1", title), element("p", f"{number}: {commands}"))


def _navigation(runs: Sequence[Run], sections: Sequence[Section]) -> Markup:
    links = [("#overview", "Overview")]
    links += [(f"#run-{number}", f"{run.command}: {run.name}") for number, run in enumerate(runs, 1)]
    items = (element("li", element("a", text, href=target)) for target, text in links)
    return element("nav", element("ul", *items), aria_label="Sections")


def _overview(runs: Sequence[Run], sections: Sequence[Section]) -> Markup:
    """Every run in a line, then every headline number."""
    columns = [Column("run"), Column("command"), Column("subject"), Column("status"), Column("started"),
               Column("took", unit="s", format=".1f"), Column("device")]  # fmt: skip
    rows = [
        {"run": run.name, "command": run.command, "subject": section.subject, "status": _status(run),
         "started": _text(run.manifest.get("started")), "took": _number(run.manifest.get("wall_time_s")),
         "device": _device(run)}
        for run, section in zip(runs, sections, strict=True)
    ]  # fmt: skip
    numbers = [(run, line) for run, section in zip(runs, sections, strict=True) for line in section.headlines]
    return element(
        "section",
        element("h2", "Overview", id="overview-title"),
        table_block(Table.whole("Runs", rows, columns, "runs.csv")),
        _headlines(numbers) if numbers else None,
        id="overview", aria_labelledby="overview-title",
    )  # fmt: skip


def _headlines(numbers: Sequence[tuple[Run, Headline]]) -> Markup:
    columns = [Column("number"), Column("value"), Column("published"), Column("source"), Column("run")]
    rows = [
        {"number": line.what, "value": line.value, "published": line.published, "source": line.source, "run": run.name}
        for run, line in numbers
    ]
    note = "A published number stands beside ours where there is one for the same quantity and size."
    return table_block(Table.whole("Headline numbers", rows, columns, "headlines.csv"), note=note)


def _run_section(run: Run, section: Section, number: int) -> Markup:
    prefix = f"run-{number}"
    warning = _STATUS.get(run.status, f"Status: {run.status}.")
    return element(
        "section",
        element("h2", f"{run.command}: {section.subject or run.name}", id=f"{prefix}-title"),
        element("p", warning, class_="warning") if warning else None,
        facts_block(_facts(run)),
        element("h3", "The command"),
        command_block(run.command_line, _text(run.manifest.get("cwd"))),
        *_figures(run),
        *_tables(run, section),
        folded("What it printed", element("pre", run.text, tabindex=0)) if run.text else None,
        folded("Settings and versions", _ground(run)),
        id=prefix, aria_labelledby=f"{prefix}-title",
    )  # fmt: skip


def _figures(run: Run) -> list[Markup]:
    blocks = [figure_block(run, figure, number) for number, figure in enumerate(run.figures, 1)]
    return [element("h3", "Figures"), element("div", *blocks, class_="figures")] if blocks else []


def _tables(run: Run, section: Section) -> list[Markup]:
    blocks = [table_block(table) for table in section.tables]
    rows = typed(run.rows())
    if rows:
        keys = [key for key in section.columns if any(row.get(key) is not None for row in rows)] or list(rows[0])
        left_out = len(rows[0]) - len(keys)
        note = f"The CSV has {left_out} more columns." if left_out > 0 else ""
        table = Table(f"{run.command}: all rows", rows, columns_of(keys), run.table, f"{run.name}-table.csv")
        blocks.append(table_block(table, note=note))
    return [element("h3", "Tables"), *blocks] if blocks else []


def _facts(run: Run) -> dict[str, str | None]:
    """What it ran on."""
    found = run.manifest
    took, compiling = _number(found.get("wall_time_s")), _number(found.get("compile_time_s"))
    spent = None if took is None else format_duration(took)
    if took and compiling:
        spent = f"{spent}, {format_duration(compiling)} of it compiling"
    failures = found.get("failures")
    return {
        "Folder": str(run.path),
        "Device": _device(run),
        "Precision": _text(found.get("precision")),
        "Seed": _text(found.get("seed")),
        "Started": _text(found.get("started")),
        "Took": spent,
        "Failures": "; ".join(map(str, failures)) if isinstance(failures, list) else None,
    }


def _ground(run: Run) -> Markup:
    """The whole configuration, the versions and the revision."""
    git = run.manifest.get("git")
    revision = f"{git.get('commit')}{', modified' * bool(git.get('modified'))}" if isinstance(git, Mapping) else None
    versions = {name: _text(version) for name, version in run.manifest["versions"].items()}
    return join(
        element("pre", json.dumps(run.config, indent=2, ensure_ascii=False), tabindex=0),
        facts_block({**versions, "git": revision}),
    )


def _device(run: Run) -> str:
    count = run.manifest.get("device_count")
    return f"{count} × {run.manifest.get('platform')} ({run.manifest.get('device_kind')})" if count else "none used"


def _status(run: Run) -> str:
    return "unfinished" if run.status == "running" else run.status


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
