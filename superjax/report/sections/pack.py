"""The report of `superjax pack`: what each cell reached, beside bound, construction and published optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from superjax.report.folders import Run
from superjax.report.published import CAPACITY_SOURCE
from superjax.report.section import Headline, Section, shown

_MOST_HEADLINES = 6
_ATTAINED = 1e-9
_COLUMNS = (
    "objective", "k", "d", "value", "coherence", "lower_bound", "bound_name", "random_mean", "published",
    "construction", "construction_name", "restarts", "steps", "seconds",
)  # fmt: skip


def section(run: Run) -> Section:
    """What a pack run has to say: of packed cells, of a file that was checked, or of a forecast."""
    summary = run.summary
    if "file" in summary:
        return _verification(summary)
    cells = summary["cells"]
    if "objective" not in summary:
        return Section(subject=f"{len(cells)} cells, not packed (--dry_run)")
    return Section(
        subject=f"{len(cells)} packing{'s' * (len(cells) != 1)}, objective {summary['objective']}",
        headlines=[*_totals(cells), *map(_headline, _largest(cells))],
        columns=_COLUMNS,
    )


def _verification(found: Mapping[str, Any]) -> Section:
    bound = "" if found["lower_bound"] is None else f"; bound {found['lower_bound']:.6f} by {found['bound_name']}"
    value = f"{found['coherence']:.12f}{bound}"
    what = f"coherence of {found['k']:,d} lines in R^{found['d']}, recomputed in float64"
    return Section(subject=found["file"], headlines=[Headline(what, value, *_published(found))])


def _totals(cells: Sequence[Mapping[str, Any]]) -> list[Headline]:
    bounded = [cell for cell in cells if cell["lower_bound"] is not None]
    met = sum(cell["value"] <= cell["lower_bound"] + _ATTAINED for cell in bounded)
    compared = [cell for cell in cells if cell["published"]]
    below = sum(cell["value"] < cell["published"] for cell in compared)
    found = []
    if bounded:
        found.append(Headline("packings that reach a proven bound, so that none is better", f"{met} of {len(bounded)}"))
    if compared:
        found.append(Headline("packings below the published optimum", f"{below} of {len(compared)}"))
    return found


def _largest(cells: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(cells, key=lambda cell: (cell["k"] * cell["d"], cell["k"]))[-_MOST_HEADLINES:]


def _headline(cell: Mapping[str, Any]) -> Headline:
    bound = "" if cell["lower_bound"] is None else f"; bound {cell['lower_bound']:.4f}"
    built = "" if cell["construction"] is None else f"; built {cell['construction']:.4f}"
    what = f"{cell['objective']} of {cell['k']:,d} vectors in R^{cell['d']}"
    return Headline(what, f"{cell['value']:.6f}{bound}{built}", *_published(cell))


def _published(cell: Mapping[str, Any]) -> tuple[str, str]:
    return (shown(cell["published"], ".4f"), f"{CAPACITY_SOURCE}, Adam, 5000 steps") if cell["published"] else ("", "")
