"""Progress of long work: a bar with the time left on a terminal, occasional plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO


class OnProgress(Protocol):
    """What long work calls, as often as it likes."""

    def __call__(self, done: int, total: int, /, standing: str = "") -> None:
        """Tell how far the work is.

        Args:
            done: counts up to `total`.
            total: of it all.
            standing: what has been reached, in words.
        """


@contextmanager
def show_progress(label: str, stream: TextIO, *, every_s: float = 10.0) -> Iterator[OnProgress]:
    """Yield an `on_progress(done, total)` that reports to `stream`, and to nothing else.

    A terminal gets one bar that disappears at the end. Any other stream gets a line at most every `every_s`
    seconds, so that work shorter than that leaves a log untouched.

    Args:
        label: what is being done.
        stream: where to write.
        every_s: seconds between plain lines.

    Yields:
        The callback to hand to the work.

    Example:
        >>> import io
        >>> log = io.StringIO()
        >>> with show_progress("tiles", log, every_s=0.0) as on_progress:
        ...     on_progress(1, 4)
        ...     on_progress(2, 4)
        >>> log.getvalue().splitlines()
        ['tiles: 25 %', 'tiles: 50 %, about 0 s left']
    """
    if stream.isatty():
        with _bar(label, stream) as on_progress:
            yield on_progress
    else:
        yield _plain_lines(label, stream, every_s)


@contextmanager
def _bar(label: str, stream: TextIO) -> Iterator[OnProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[how_far]}"),
        console=Console(file=stream),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    pace = _Pace()
    with bar:
        task = bar.add_task(label, total=None, how_far="")

        def on_progress(done: int, total: int, standing: str = "") -> None:
            said = _and(pace.how_far(done, total, time.monotonic()), standing)
            bar.update(task, completed=done, total=total, how_far=said)

        yield on_progress


def _plain_lines(label: str, stream: TextIO, every_s: float) -> OnProgress:
    pace, last = _Pace(), time.monotonic()

    def on_progress(done: int, total: int, standing: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        said = _and(pace.how_far(done, total, now), standing)
        if now - last < every_s or not 0 < done < total:
            return
        last = now
        stream.write(f"{label}: {said}\n")
        stream.flush()

    return on_progress


def _and(how_far: str, standing: str) -> str:
    return "; ".join(part for part in (how_far, standing) if part)


class _Pace:
    """How fast work goes, from when it is first heard of: what an earlier process did is no pace."""

    def __init__(self) -> None:
        self._started: tuple[float, int] | None = None

    def how_far(self, done: int, total: int, now: float) -> str:
        """The share that is done, and the time the rest takes if it goes on as it went."""
        began, before = self._started = self._started or (now, done)
        if not 0 < done <= total:
            return ""
        if done == before < total or 100 * (done - before) < total:  # what compiles at first says nothing of the rest
            return f"{100 * done // total} %"
        left = (now - began) * (total - done) / max(done - before, 1)
        return f"{100 * done // total} %, about {format_duration(left)} left"


def format_duration(seconds: float) -> str:
    """Seconds as a person says them.

    Args:
        seconds: at least 0.

    Returns:
        Two units at most.

    Example:
        >>> [format_duration(s) for s in (0.42, 12.4, 200, 5000)]
        ['0 s', '12 s', '3 min 20 s', '1 h 23 min']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
