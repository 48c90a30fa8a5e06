"""The command line: the only place that defines flags, prints or exits."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run `superjax` in this process, as often as one likes.

    Args:
        argv: the arguments after the program's name, `["embed", "--bins=100"]`; those of the process when None.

    Returns:
        The exit code: 0 done, 1 internal error, 2 bad input or usage, 3 done but some items failed, 4 the environment
        failed, 130 interrupted.

    Example:
        >>> main(["--version"])
        superjax 0.1.0...
        0
    """
    from superjax.cli.app import main as run  # absl comes with it, and importing superjax.cli must not bring it

    return run(argv)
