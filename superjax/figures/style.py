"""The house style of figures: matplotlib's settings stay as the user has them outside of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from superjax.runs.results import replacing

if TYPE_CHECKING:
    from contextlib import _GeneratorContextManager

    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours told apart by all kinds of sight (Okabe and Ito, 2008), the most legible on white first."""

INK, FAINT = "#222222", "#B0B0B0"
"""Text and axes; grids and reference lines."""

DPI = 200

_STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "grid.alpha": 0.35,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "svg.hashsalt": "superjax",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


def house_style() -> _GeneratorContextManager[None]:
    """The style, as a context manager or a decorator of the function that draws; nothing of it stays behind.

    matplotlib reads its settings as artists are made, so all of a figure's drawing belongs inside.

    Example:
        >>> with house_style():
        ...     figure = new_figure()
        ...     _ = figure.subplots().plot([0, 1], [0, 1])
        >>> import matplotlib
        >>> matplotlib.rcParams["legend.frameon"]
        True
    """
    import matplotlib
    from cycler import cycler

    style: dict[Any, Any] = {**_STYLE, "axes.prop_cycle": cycler(color=PALETTE)}
    return matplotlib.rc_context(style)


def new_figure(width: float = 6.4, height: float = 3.8) -> Figure:
    """An empty figure that belongs to no window system and no global list, so that nothing has to close it.

    Args:
        width: in inches.
        height: in inches.

    Returns:
        The figure, to be given axes inside `house_style`.

    Example:
        >>> new_figure(4.0, 3.0).get_size_inches().tolist()
        [4.0, 3.0]
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain_log(axis: Axis, values: Sequence[float] | np.ndarray | None = None) -> None:
    """A logarithmic axis labelled with plain numbers, where powers of ten would leave two labels or none.

    Args:
        axis: `axes.xaxis` or `axes.yaxis`; its scale becomes logarithmic.
        values: the ticks, where only these values occur; as many of them are labelled as do not crowd. By default 1, 2
            and 5 of each decade, or powers of ten alone beyond three decades.

    Example:
        >>> axes = new_figure().subplots()
        >>> _ = axes.plot([8, 16, 64], [1, 2, 3])
        >>> plain_log(axes.xaxis, [8, 16, 64])
        >>> [label.get_text() for label in axes.get_xticklabels()]
        ['8', '16', '64']
    """
    from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]
    if values is not None:
        shown = _uncrowded(sorted(set(values)))
        axis.set_major_locator(FixedLocator(shown))
        axis.set_major_formatter(FixedFormatter([f"{value:g}" for value in shown]))
        axis.set_minor_locator(NullLocator())
        return
    low, high = sorted(axis.get_data_interval())
    if low > 0 and high < 1e3 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 6 * low else (1, 1.5, 2, 3, 4, 5, 6, 8)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def plain_text(text: str) -> str:
    """Text as matplotlib must show it: no mathematics in dollar signs, no glyphs its font lacks.

    Example:
        >>> plain_text("a $5 model") == r"a \\$5 model"
        True
    """
    shown = "".join(c if ord(c) < 0x250 else c.encode("unicode_escape").decode() for c in text)
    return shown.replace("$", r"\$")


def shorten(text: str, most: int) -> str:
    """The text, its middle left out where it is longer than `most` characters.

    Example:
        >>> shorten("models/pythia: embed_out.weight", 20)
        'models/pyt...t.weight'
    """
    if len(text) <= most:
        return text
    half = (most - 2) // 2
    return f"{text[: half + 1]}...{text[-half:]}"


def evenly(number: int, most: int) -> list[int]:
    """At most `most` of `number` places, the first and the last among them.

    Example:
        >>> evenly(10, 4), evenly(2, 4)
        ([0, 3, 6, 9], [0, 1])
    """
    return sorted(set(np.linspace(0, number - 1, min(number, most)).round().astype(int).tolist()))


def _uncrowded(values: Sequence[float]) -> list[float]:
    """Those that stand at least a fourteenth of the axis from the one before, the last always."""
    apart = math.log(values[-1] / values[0]) / 14
    kept = [values[0]]
    for value in values[1:]:
        if math.log(value / kept[-1]) >= apart:
            kept.append(value)
    return kept if kept[-1] == values[-1] else [*kept[:-1], values[-1]]


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Save a figure as PNG, for reading, and as SVG, for papers.

    Args:
        figure: what to save.
        folder: where; made if absent.
        name: the file's name without its ending.

    Returns:
        The two files.

    Raises:
        EnvironmentFailure: the disk refuses.

    Example:
        >>> import tempfile
        >>> [path.name for path in save(new_figure(), Path(tempfile.mkdtemp()), "norms")]
        ['norms.png', 'norms.svg']
    """
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with house_style():
        for path, metadata in zip(paths, ({"Software": "superjax"}, {"Date": None}), strict=True):
            with replacing(path) as temporary:
                figure.savefig(temporary, dpi=DPI, facecolor="white", metadata=metadata)
    return paths
