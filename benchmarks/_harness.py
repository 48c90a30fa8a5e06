"""Fair timings on a noisy machine: cases take turns, the first call is kept apart, and ratios come from one run."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Timing:
    """Seconds of one case.

    Attributes:
        first: the first call, compilation and warm-up included.
        best: the fastest later call: the one least disturbed by other work.
        median: the median of the later calls.
    """

    first: float
    best: float
    median: float


def take_turns(cases: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Timing]:
    """Time `cases` in alternation, so that a slow spell of the machine falls on all of them.

    Args:
        cases: name -> a call that returns when its work is done.
        repeats: timed rounds after one untimed warm-up round.
    """
    first = {name: _seconds(case) for name, case in cases.items()}
    rounds = [{name: _seconds(case) for name, case in cases.items()} for _ in range(repeats)]
    return {name: Timing(first[name], min(r[name] for r in rounds), median(r[name] for r in rounds)) for name in cases}


def _seconds(case: Callable[[], Any]) -> float:
    start = time.perf_counter()
    case()
    return time.perf_counter() - start


def arguments(description: str, argv: Sequence[str] | None = None, **numbers: int) -> argparse.Namespace:
    """The flags every benchmark has (``--smoke``, ``--repeats``, ``--devices``, ``--json``) and its own `numbers`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: shows that it runs, says nothing about speed")
    parser.add_argument("--repeats", type=int, default=3, help="timed rounds (default 3)")
    parser.add_argument("--devices", type=int, default=None, help="devices of ours; default: all, one a core on CPU")
    parser.add_argument("--json", type=Path, default=None, help="also write the results to this file")
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    return parser.parse_args(argv)


def start_devices(wanted: int | None) -> list[Any]:
    """The devices to run on: all of an accelerator, or one CPU device a core."""
    import jax

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(RuntimeError):  # devices have started already, as under pytest
        jax.config.update("jax_num_cpu_devices", wanted or cores)
    return jax.devices()[:wanted]


def environment() -> dict[str, Any]:
    """What the numbers depend on: devices, versions, processor, and how busy the machine is."""
    import jax
    import numpy as np

    device = jax.devices()[0]
    return {
        "device": f"{len(jax.devices())} x {device.device_kind}",
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "jax": jax.__version__,
        "numpy": np.__version__,
        "torch": _torch_version(),
        "python": platform.python_version(),
    }


def _torch_version() -> str | None:
    from importlib import metadata

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def report(title: str, results: Mapping[str, Any], path: Path | None) -> None:
    """Print `results` with the environment, one line each, and write them to `path` as JSON if it is given."""
    print(title)
    for name, value in {**results, **environment()}.items():
        print(f"  {name:<44} {f'{value:.4g}' if isinstance(value, float) else value}")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"title": title, **results, "environment": environment()}, indent=1) + "\n")
