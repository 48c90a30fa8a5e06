"""What a run leaves behind and shows on its way: folder, manifest, environment, progress."""

from superjax.core.host import Memory, host_memory
from superjax.runs.compare import Difference, ground_differences, summary_differences
from superjax.runs.environment import (
    device_memory,
    devices_in_words,
    missing_extras,
    product_error,
    product_rate,
    source_revision,
    versions,
)
from superjax.runs.manifest import CompileClock, Manifest, compile_clock
from superjax.runs.progress import OnProgress, format_duration, show_progress
from superjax.runs.results import RunFolder, replacing

__all__ = [
    "CompileClock",
    "Difference",
    "Manifest",
    "Memory",
    "OnProgress",
    "RunFolder",
    "compile_clock",
    "device_memory",
    "devices_in_words",
    "format_duration",
    "ground_differences",
    "host_memory",
    "missing_extras",
    "product_error",
    "product_rate",
    "replacing",
    "show_progress",
    "source_revision",
    "summary_differences",
    "versions",
]
