"""The errors and warnings superjax raises on purpose; the command line turns each into an exit code."""

from __future__ import annotations


class InputError(ValueError):
    """Something the user handed over cannot be used; the message is one line with cause and remedy.

    The command line prints the message without a traceback and ends with exit code 2.

    Example:
        >>> raise InputError("rows.npy: array has 3 axes, expected 2; save one [V, d] matrix")
        Traceback (most recent call last):
        ...
        superjax.core.errors.InputError: rows.npy: array has 3 axes, expected 2; save one [V, d] matrix
    """


class EnvironmentFailure(RuntimeError):
    """The machine failed while work was under way: disk, memory, a peer process. Exit code 4."""


class InputWarning(UserWarning):
    """The input can be used, but the user should know something about it; one line."""
