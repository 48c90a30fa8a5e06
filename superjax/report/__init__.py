"""One self-contained HTML page from run folders: what was run, what came out, the figures, and a capacity planner."""

from superjax.report.page import build_report, write_report

__all__ = ["build_report", "write_report"]
