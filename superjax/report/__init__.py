"""One self-contained HTML page from run folders: what was run, what came out, the figures, and a capacity planner."""

from superjax.report.folders import Run, read_runs
from superjax.report.page import PAGE, build_report, page_of, write_report

__all__ = ["PAGE", "Run", "build_report", "page_of", "read_runs", "write_report"]
