"""The page: what was run, the headline numbers, a section a run, the planner, in one file that needs no other."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from superjax._version import __version__
from superjax.report.folders import Run, read_runs
from superjax.report.layout import Part, overview, run_section
from superjax.report.markup import Markup, element
from superjax.report.planner import planner_script, planner_section
from superjax.report.sections import section_of
from superjax.runs import replacing

PAGE = "report.html"


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
        runs: run folders; one that is given twice is shown once.
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
    return page_of(read_runs(runs), title=title)


def page_of(runs: Sequence[Run], *, title: str = "superjax report") -> str:
    """The page of runs that have been read.

    Args:
        runs: what :func:`superjax.report.read_runs` gives.
        title: the page's heading.

    Returns:
        A whole HTML document.

    Raises:
        InputError: a summary is not what its command writes.

    Example:
        >>> page_of([], title="Nothing yet").startswith("<!DOCTYPE html>")
        True
    """
    parts = [Part(run, section_of(run), number) for number, run in enumerate(runs, start=1)]
    main = element("main", overview(parts), *map(run_section, parts), planner_section(), id="main")
    return _document(title, _header(title, parts), _navigation(parts), main)


def _document(title: str, *content: Markup) -> str:
    style, script = _asset("report.css"), Markup(planner_script() + _asset("report.js"))
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
    skip = element("a", "Skip to the content", href="#main", class_="skip")
    written = f"Written by superjax {__version__}. This page holds all it shows and uses no network."
    footer = element("footer", element("p", written))
    body = element("body", skip, *content, footer, element("script", script))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _asset(name: str) -> Markup:
    return Markup((resources.files("superjax.report") / "assets" / name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _header(title: str, parts: Sequence[Part]) -> Markup:
    number = f"{len(parts)} run{'s' * (len(parts) != 1)}"
    commands = ", ".join(dict.fromkeys(part.run.command for part in parts))
    return element("header", element("h1", title), element("p", f"{number}: {commands}"))


def _navigation(parts: Sequence[Part]) -> Markup:
    links = [("#overview", "Overview"), *((f"#{part.anchor}", part.title) for part in parts)]
    links.append(("#planner", "Capacity planner"))
    items = (element("li", element("a", text, href=target)) for target, text in links)
    return element("nav", element("ul", *items), aria_label="Sections")
