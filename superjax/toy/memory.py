"""How many members train at a time, from the memory there is."""

from __future__ import annotations

import jax

from superjax.core import processes
from superjax.core.errors import InputError
from superjax.core.host import host_memory
from superjax.toy.members import Program

SHARE = 0.5
"""Part of the available memory that an ensemble's state may take."""

_COPIES = 3
"""Times the state may exist: the carry of a loop, its next value, and the starting values still on the host."""


def member_bytes(program: Program) -> int:
    """Bytes that one more member of a program takes while it trains: parameters and both moments, in float32.

    Args:
        program: the shapes.

    Example:
        >>> member_bytes(Program(n=1000, m=100, batch=2048, activation="relu", sparse=True))
        3636000
    """
    return _COPIES * 3 * 4 * program.n * (program.m + 1)


def working_bytes(program: Program) -> int:
    """Bytes of one device's work beside the members: a batch, its hidden states and gradients.

    Args:
        program: the shapes.
    """
    entries = program.batch * (2 * (program.m + 1) + 32)
    return 4 * (entries if program.sparse else entries + 8 * program.batch * program.n)


def members_at_a_time(program: Program, devices: list[jax.Device], memory: int | None = None) -> int:
    """How many members fit into the memory there is.

    Args:
        program: the shapes.
        devices: where they train.
        memory: bytes to use on all devices together; `SHARE` of what is available when None.

    Returns:
        At least 1.

    Raises:
        InputError: not even one member fits.
    """
    budget = int(SHARE * available_bytes(devices)) if memory is None else memory
    left = budget - working_bytes(program) * len(devices)
    number = left // member_bytes(program)
    if number < 1:
        needed = working_bytes(program) * len(devices) + member_bytes(program)
        raise InputError(
            f"n, m, batch: one member of {program.n} x {program.m} with {program.batch} samples needs about "
            f"{needed / 2**30:.3g} GiB, {budget / 2**30:.3g} may be used; give a smaller n, m or batch"
        )
    return number


def available_bytes(devices: list[jax.Device]) -> int:
    """Free memory of the devices together: their own, or the hosts' for CPU devices; the same in every process.

    Args:
        devices: of one platform, those of other processes among them.
    """
    if not processes.shared(devices):
        return _available_here(devices)
    own = _available_here([device for device in devices if device.process_index == jax.process_index()])
    if devices[0].platform == "cpu":
        return int(processes.summed_over_hosts(own))
    return int(sum(processes.everyones(own)))


def _available_here(devices: list[jax.Device]) -> int:
    """Free memory of this process's own devices."""
    if devices[0].platform != "cpu":
        stats = [device.memory_stats() or {} for device in devices]
        free = [s["bytes_limit"] - s["bytes_in_use"] for s in stats if "bytes_limit" in s]
        return sum(free) if free else 8 * 2**30 * len(devices)
    memory = host_memory()
    if memory is None:
        return 8 * 2**30
    return memory.total // 2 if memory.available is None else memory.available
