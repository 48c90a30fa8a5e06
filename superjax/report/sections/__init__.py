"""What the report says of each command's runs: one module a command."""

from __future__ import annotations

from collections.abc import Callable

from superjax.report.folders import Run, damaged
from superjax.report.section import Section
from superjax.report.sections import capacity, embed, fit, pack, train
from superjax.runs.results import SUMMARY

_SECTIONS: dict[str, Callable[[Run], Section]] = {
    "embed": embed.section,
    "train": train.section,
    "pack": pack.section,
    "fit": fit.section,
    "capacity": capacity.section,
}


def section_of(run: Run) -> Section:
    """What a run has to say; only its table and figures where its command is none of those above, or is unfinished.

    Raises:
        InputError: the summary is not what the command writes.
    """
    make = _SECTIONS.get(run.command)
    if make is None or not run.summary:
        return Section(subject="")
    try:
        return make(run)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        cause = f"is not what {run.command} writes ({type(error).__name__}: {error})"
        raise damaged(run.path / SUMMARY, " ".join(cause.split())) from None


__all__ = ["section_of"]
