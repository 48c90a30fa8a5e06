"""One function a figure: data in, a matplotlib Figure out; and the style they share."""

from superjax.figures.style import DPI, FAINT, INK, PALETTE, evenly, house_style, new_figure, plain_log, save

__all__ = ["DPI", "FAINT", "INK", "PALETTE", "evenly", "house_style", "new_figure", "plain_log", "save"]
