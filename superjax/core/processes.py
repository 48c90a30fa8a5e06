"""What the processes of one run tell each other, so that all of them go the same way; alone, nothing is sent."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TypeVar

import jax
import numpy as np

Number = TypeVar("Number", bound=bool | int | float)


def alone() -> bool:
    """Whether this process has joined no others; starts no device.

    Example:
        >>> alone()
        True
    """
    return not jax.distributed.is_initialized()


def shared(devices: Iterable[jax.Device]) -> bool:
    """Whether some of the devices are other processes'.

    Args:
        devices: of a mesh.

    Example:
        >>> shared(jax.devices())
        False
    """
    return not alone() and any(device.process_index != jax.process_index() for device in devices)


def everyones(value: bool | int | float) -> list[float]:
    """The value that each process has, by process; all of them must call this together.

    Args:
        value: a number that float64 holds exactly: a bool, an integer up to 2^53, a float.

    Returns:
        [P] floats, the same list in every process.

    Example:
        >>> everyones(3)
        [3.0]
    """
    if alone():
        return [float(value)]
    from jax.experimental import multihost_utils

    # As bytes: a device would take a float64 for a float32.
    gathered = multihost_utils.process_allgather(np.array([value], np.float64).view(np.uint8))
    return np.ascontiguousarray(gathered).view(np.float64).ravel().tolist()


def agreed(value: Number) -> Number:
    """The first process's value, in every process: what follows from a clock or a disk must not differ between them.

    Args:
        value: a number that float64 holds exactly.

    Returns:
        A value of the same type.

    Example:
        >>> agreed(7)
        7
    """
    return type(value)(everyones(value)[0])


def any_of_them(value: bool) -> bool:
    """Whether it is true in some process.

    Args:
        value: what this one says.

    Example:
        >>> any_of_them(False)
        False
    """
    return any(everyones(value))


def summed_over_hosts(value: float) -> float:
    """The sum over hosts of what each has, the least where processes of one host see different values of it.

    Args:
        value: of this process's host, such as its free memory.

    Example:
        >>> summed_over_hosts(2.5)
        2.5
    """
    by_host: dict[float, float] = {}
    for host, its in zip(everyones(uuid.getnode()), everyones(value), strict=True):
        by_host[host] = min(its, by_host.get(host, its))
    return sum(by_host.values())


def agreed_text(text: str) -> str:
    """The first process's text, in every process.

    Args:
        text: what this one would say.

    Example:
        >>> agreed_text("runs/a")
        'runs/a'
    """
    if alone():
        return text
    from jax.experimental import multihost_utils

    own = np.frombuffer(text.encode(), np.uint8)
    length = agreed(len(own))
    if not length:
        return ""
    padded = np.zeros(length, np.uint8)
    padded[: min(length, len(own))] = own[:length]
    return bytes(multihost_utils.process_allgather(padded)[0]).decode()
