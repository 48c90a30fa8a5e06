"""The memory of this host that this process may use: the machine's, or what its control group leaves of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")

_OWN = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class Memory:
    """Bytes of memory: all there is and, where the system tells, what is free now."""

    total: int
    available: int | None


def host_memory(groups: Path = _GROUPS, own: Path = _OWN) -> Memory | None:
    """The memory this process may use, or None where the system does not tell.

    In a container or a batch job that is what the limit of its control group, or of one above, leaves.

    Args:
        groups: where control groups (version 1 or 2) are mounted.
        own: the file that names those of this process.

    Example:
        >>> memory = host_memory()
        >>> memory is None or memory.total > 0
        True
    """
    machine = _machine_memory()
    if machine is None:
        return None
    total, available = machine.total, machine.available
    for limit, used in _limits(groups, own):
        total = min(total, limit)
        free = max(0, limit - used)
        available = free if available is None else min(available, free)
    return Memory(total, available)


def _machine_memory() -> Memory | None:
    try:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        total, available = (int(fields[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
        return Memory(total, available)
    except (OSError, KeyError, ValueError):
        pass
    try:
        return Memory(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), None)
    except (OSError, ValueError):
        return None


def _limits(groups: Path, own: Path) -> Iterator[tuple[int, int]]:
    """(limit, used) in bytes of the control groups of this process that bound its memory."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if not controllers:
            yield from _limits_along(groups, name, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            yield from _limits_along(
                groups / "memory", name, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            )


def _limits_along(root: Path, name: str, limit: str, used: str, cached: str) -> Iterator[tuple[int, int]]:
    """Limits of a group and of all above it; a container may see its own group as the root."""
    group = root / name.lstrip("/")
    for place in (group, *(above for above in group.parents if above.is_relative_to(root))):
        try:
            bound = int((place / limit).read_text())  # "max" where there is none
            in_use = int((place / used).read_text())
        except (OSError, ValueError):
            continue
        yield bound, in_use - _cached(place, cached)


def _cached(place: Path, name: str) -> int:
    """Bytes of files that the system keeps for as long as nobody needs the memory."""
    try:
        fields = dict(line.split() for line in (place / "memory.stat").read_text().splitlines())
        return int(fields[name])
    except (OSError, KeyError, ValueError):
        return 0
