"""`superjax report`: one self-contained HTML page from run folders."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from absl import flags
from absl.flags import FlagValues

from superjax.cli.command import Command, Context, Outcome
from superjax.cli.tables import Column
from superjax.core.errors import InputError


@dataclass(frozen=True)
class ReportConfig:
    """Which runs, and the page's heading."""

    runs: tuple[str, ...]
    title: str


def define_flags(values: FlagValues) -> None:
    """Which runs, and how the page is called."""
    flags.DEFINE_multi_string("run", None, "run folders `RUN...` of any commands", flag_values=values)
    flags.DEFINE_string("title", "superjax report", "the page's heading `TEXT`", flag_values=values)


def configure(values: FlagValues) -> ReportConfig:
    """Flags -> configuration."""
    if values.out and values.out.endswith((".html", ".htm")):
        raise InputError(f"--out={values.out}: names the run folder, in which the page is report.html; give a folder")
    return ReportConfig(tuple(os.path.abspath(os.path.expanduser(run)) for run in values.run), values.title)


def run(config: ReportConfig, context: Context) -> Outcome:
    """Read every run, then write the page."""
    from superjax.report import PAGE, page_of, read_runs

    runs = read_runs([Path(run) for run in config.runs])
    page = page_of(runs, title=config.title)
    folder = context.begin()
    assert folder is not None  # the command keeps one
    folder.write_text(PAGE, page)
    rows = [{"run": run.name, "command": run.command, "status": run.status, "path": str(run.path)} for run in runs]
    return Outcome(
        rows,
        (Column("run"), Column("command"), Column("status")),
        {"page": PAGE, "runs": rows},
        lines=[f"\nopen {(folder.path / PAGE).absolute().as_uri()}"],
    )


COMMAND = Command(
    summary="one HTML page from run folders: numbers, tables, figures, planner",
    details=(
        "Puts the runs into one file that needs no network: what was run and on what, the headline numbers beside "
        "published ones, tables that sort and filter, the figures, the commands that reproduce them, and a capacity "
        "planner. The page is report.html in the run folder; it is written anew each time. Unfinished runs are shown "
        "as such; earlier reports among the folders are left out."
    ),
    examples=(
        "superjax report runs/embed-20261130-131342",
        "superjax report runs/* --out=runs/report --title='First week'",
    ),
    define_flags=define_flags,
    configure=configure,
    run=run,
    required=("run",),
    positional="run",
    on_devices=False,
    always_anew=True,
)
