"""`superjax doctor`: what superjax stands on here, in a form to paste into a bug report."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from absl.flags import FlagValues

from superjax.cli.command import Command, Context, Outcome
from superjax.cli.parsing import PRECISIONS
from superjax.cli.tables import Column
from superjax.core.errors import InputError
from superjax.runs import (
    Memory,
    device_memory,
    devices_in_words,
    host_memory,
    missing_extras,
    product_error,
    source_revision,
    versions,
)


@dataclass(frozen=True)
class DoctorConfig:
    """The doctor has nothing to set."""


def define_flags(_: FlagValues) -> None:
    """The doctor has no flags of its own."""


def configure(_: FlagValues) -> DoctorConfig:
    """The doctor has nothing to set."""
    return DoctorConfig()


def run(_: DoctorConfig, context: Context) -> Outcome:
    """Look at versions, devices, precision, memory and what is missing; a device that fails is itself a finding."""
    memory = host_memory()
    report: dict[str, Any] = {
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "versions": versions(),
        "git": source_revision(),
        "memory": None if memory is None else {"total": memory.total, "available": memory.available},
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(("JAX_", "XLA_", "CUDA_VISIBLE"))},
        "missing_extras": missing_extras(),
    }
    rows = [
        *_version_rows(report),
        {"item": "system", "value": report["system"]},
        {"item": "cores", "value": str(report["cores"])},
        {"item": "host memory", "value": _in_words(memory)},
        *({"item": f"${name}", "value": value} for name, value in report["environment"].items()),
    ]
    failures = []
    try:
        report["devices"], device_rows = _inspect_devices(context)
        rows += device_rows
    except InputError as error:
        failures.append(f"devices: {error}")
    missing = {f"missing [{extra}]": command for extra, command in report["missing_extras"].items()}
    rows += [{"item": item, "value": value} for item, value in (missing or {"missing extras": "none"}).items()]
    return Outcome(rows, (Column("item"), Column("value")), report, failures=failures)


def _version_rows(report: dict[str, Any]) -> list[dict[str, str]]:
    rows = [{"item": name, "value": version} for name, version in report["versions"].items()]
    if report["git"] is not None:
        modified = ", modified" if report["git"]["modified"] else ""
        rows.append({"item": "git", "value": report["git"]["commit"] + modified})
    return rows


def _inspect_devices(context: Context) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The devices, their memory, and how exact each precision is on the first of them."""
    from superjax.cli.devices import setting  # jax comes with it, and help must not wait for that

    devices = context.devices
    facts = devices_in_words(devices)
    memory = device_memory(devices[0])
    errors = {precision: product_error(devices[0], precision) for precision in PRECISIONS}
    cache = setting("jax_compilation_cache_dir")
    rows = [
        {"item": "devices", "value": f"{facts['device_count']} x {facts['platform']} ({facts['device_kind']})"},
        {"item": "device memory", "value": "the host's" if facts["platform"] == "cpu" else _in_words(memory)},
        {"item": "compilation cache", "value": _cache_in_words(cache)},
        *({"item": f"|u.u - 1|, {name}", "value": f"{error:.1e}"} for name, error in errors.items()),
    ]
    found = {
        **facts,
        "memory": None if memory is None else {"total": memory.total, "available": memory.available},
        "compilation_cache": cache,
        "product_error": errors,
    }
    return found, rows


def _cache_in_words(cache: str | None) -> str:
    """The folder of compiled programs, how many there are, and what they take."""
    if not cache:
        return "off"
    files = [path for path in Path(cache).glob("*-cache") if path.is_file()] if Path(cache).is_dir() else []
    size = sum(path.stat().st_size for path in files)
    return f"{cache}: {len(files):,} programs, {size / 2**20:.1f} MiB"


def _in_words(memory: Memory | None) -> str:
    if memory is None:
        return "unknown"
    available = "" if memory.available is None else f", {memory.available / 2**30:.1f} GiB available"
    return f"{memory.total / 2**30:.1f} GiB{available}"


COMMAND = Command(
    summary="versions, devices, precision, memory and missing parts, for a bug report",
    details="""Paste what it prints into a bug report. The rows |u.u - 1| say how far the product of a unit row with
        itself is from 1 on the first device: about 1e-7 is float32, 1e-3 is TF32 or bfloat16.""",
    examples=("superjax doctor", "superjax doctor --require_platform=gpu"),
    define_flags=define_flags,
    configure=configure,
    run=run,
    keeps_folder=False,
)
