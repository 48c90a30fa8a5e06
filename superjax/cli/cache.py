"""Where compiled programs are kept from one run to the next, unless a flag says otherwise."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_UNREADABLE = r"Error reading persistent compilation cache entry for '([\w.<>-]+)'"
"""How JAX's warning of a damaged entry begins, with the program's name."""


def default_cache() -> str | None:
    """A folder in the user's cache, one for each kind of processor, since programs for one may crash on another.

    Returns:
        Its path, made if absent; None where it cannot be, or where JAX is told of one, or to keep none.
    """
    if os.environ.get("JAX_COMPILATION_CACHE_DIR") or os.environ.get("JAX_ENABLE_COMPILATION_CACHE") in ("0", "false"):
        return None
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    folder = home / "superjax" / f"compiled-{_processor()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for program in folder.glob("*-cache"):  # of a process that was killed: JAX would never replace it
            if not program.stat().st_size:
                program.unlink(missing_ok=True)
    except (OSError, RuntimeError):
        return None
    return str(folder) if os.access(folder, os.W_OK | os.X_OK) else None


@contextmanager
def mending() -> Iterator[None]:
    """While the block runs, compiled programs that cannot be read back are removed, and JAX puts new ones in place.

    It would warn of them for ever: it writes no entry that is there.
    """
    from superjax.cli.devices import setting

    with warnings.catch_warnings():
        warnings.filterwarnings("always", _UNREADABLE, UserWarning)
        show_others = warnings.showwarning

        def show(message: Warning | str, *where: Any, **more: Any) -> None:
            named = re.match(_UNREADABLE, str(message))
            if named is None:
                show_others(message, *where, **more)
                return
            for program in Path(setting("jax_compilation_cache_dir") or os.devnull).glob(f"{named[1]}-*-cache"):
                with suppress(OSError):
                    program.unlink()

        warnings.showwarning = show
        yield


def _processor() -> str:
    """A short name for this machine's instruction set."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        features = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        features = platform.processor()
    return hashlib.sha256(f"{platform.machine()} {features}".encode()).hexdigest()[:8]
