"""Progress: lines in a log, a bar on a terminal, and only on the stream it is given."""

from __future__ import annotations

import io
import os
import pty

from superjax.runs import show_progress


def test_short_work_leaves_a_log_untouched():
    log = io.StringIO()
    with show_progress("tiles", log) as on_progress:
        for done in range(1, 101):
            on_progress(done, 100)
    assert log.getvalue() == ""


def test_long_work_says_how_far_and_how_long(monkeypatch):
    now = iter([0.0, 4.0, 10.0, 12.0, 30.0, 40.0])
    monkeypatch.setattr("superjax.runs.progress.time.monotonic", lambda: next(now))
    log = io.StringIO()
    with show_progress("tiles", log, every_s=10) as on_progress:
        for done in (1, 25, 26, 75, 100):
            on_progress(done, 100)
    assert log.getvalue() == "tiles: 25 %, about 19 s left\ntiles: 75 %, about 9 s left\n"


def test_what_has_been_reached_stands_behind_the_time_left():
    log = io.StringIO()
    with show_progress("cells", log, every_s=0) as on_progress:
        on_progress(1, 4, "coherence 0.36, bound 0.27")
        on_progress(2, 4, "coherence 0.35, bound 0.27")
        on_progress(3, 4)
    assert [line.rpartition("left")[2] for line in log.getvalue().splitlines()[1:]] == [
        "; coherence 0.35, bound 0.27",
        "",
    ]
    assert log.getvalue().startswith("cells: 25 %; coherence 0.36, bound 0.27\n")


def test_nothing_to_do_is_no_error():
    log = io.StringIO()
    with show_progress("tiles", log, every_s=0) as on_progress:
        on_progress(0, 0)
    assert log.getvalue() == ""


def read_some(descriptor: int) -> bytes:
    """What there is to read now."""
    try:
        return os.read(descriptor, 4096)
    except BlockingIOError:
        return b""


def test_a_terminal_gets_a_bar_that_goes_away(capfd):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        with show_progress("tiles", terminal) as on_progress:
            on_progress(1, 4)
            on_progress(3, 4, "coherence 0.35")
        os.set_blocking(ours, False)
        shown = b"".join(iter(lambda: read_some(ours), b"")).decode()
    os.close(ours)
    assert "tiles" in shown
    assert "75 %, about" in shown
    assert "left; coherence 0.35" in shown
    assert shown.rstrip("\r\n").endswith("\x1b[2K") or shown.endswith("\x1b[1A\x1b[2K")
    assert capfd.readouterr() == ("", "")
