"""The house style of figures: matplotlib's settings stay as the user has them outside of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from superjax.runs.results import replacing

if TYPE_CHECKING:
    from contextlib import _GeneratorContextManager

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
