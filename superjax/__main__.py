"""`superjax` and `python -m superjax`: hears signals from the first moment, then loads the command line and runs it."""

from __future__ import annotations

import contextlib
import os
import signal

_INTERRUPTED = 130


def entry() -> None:
    """The console script."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    from superjax.cli.app import entry as run

    run()


def _end(*_: object) -> None:
    """End at once: nothing is under way yet, and an exception would be lost in some modules that are being loaded."""
    with contextlib.suppress(OSError):
        os.write(2, b"superjax: interrupted; run it again\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    entry()
