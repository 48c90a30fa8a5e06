"""Starting JAX the way the flags say: how many devices, of which kind, with which compilation cache."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from superjax.core.errors import InputError

_MOST_CPU_DEVICES = 256  # each costs memory and threads, and a mistyped number must not bring the machine down


def prepare_cpu_devices(wanted: int | None) -> None:
    """Have the CPU show one device a core, and `wanted` of them at least; without effect once a device has started.

    What was set before, or by JAX_NUM_CPU_DEVICES or XLA_FLAGS, is left as it is unless it is too few.

    Args:
        wanted: the number of devices, at least 1; None for one a core.
    """
    said = setting("jax_num_cpu_devices")
    if said >= (wanted or 1) or (wanted is None and "host_platform_device_count" in os.environ.get("XLA_FLAGS", "")):
        return
    with contextlib.suppress(RuntimeError):  # devices have started, in a process that is not ours alone
        jax.config.update("jax_num_cpu_devices", min(max(wanted or 1, _cores()), _MOST_CPU_DEVICES))


def have_started() -> bool:
    """Whether JAX has started devices in this process; starts none."""
    number = setting("jax_num_cpu_devices")
    try:
        jax.config.update("jax_num_cpu_devices", number + 1)  # what JAX refuses from then on
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", number)
    return False


def _cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_devices(wanted: int | None, platform: str | None) -> tuple[jax.Device, ...]:
    """Start JAX's devices and take the first `wanted` of each process.

    Args:
        wanted: how many; None for all.
        platform: "cpu", "gpu" or "tpu", when nothing else will do.

    Returns:
        The devices.

    Raises:
        InputError: none can be had, too few, or of another platform.
    """
    try:
        devices = jax.devices()
    except (RuntimeError, AssertionError) as error:  # an absent plugin is an AssertionError in jax 0.10
        asked = os.environ.get("JAX_PLATFORMS", "")
        cause = str(error).splitlines()[0] if str(error) else "no such device here"
        raise InputError(
            f"JAX_PLATFORMS={asked}: {cause}; unset JAX_PLATFORMS, or install JAX for that device"
        ) from None
    found = devices[0].platform
    if platform is not None and found != platform:
        raise InputError(f"--require_platform={platform}: JAX runs on {found} here; {_remedy(platform)}")
    here = jax.local_device_count()
    if wanted is not None and wanted > here:
        raise InputError(f"--devices={wanted}: {found} has {here} here; give a smaller number, or leave it out")
    taken: Counter[int] = Counter()
    chosen = []
    for device in devices:
        if wanted is None or taken[device.process_index] < wanted:
            chosen.append(device)
        taken[device.process_index] += 1
    return tuple(chosen)


def _remedy(platform: str) -> str:
    if platform == "cpu":
        return "set JAX_PLATFORMS=cpu"
    extra = {"gpu": "cuda", "tpu": "tpu"}[platform]
    return f"pip install 'superjax[{extra}]', see that no other process holds the device, or leave the flag out"


@contextmanager
def compilation_cache(folder: str | None) -> Iterator[None]:
    """Keep every compiled program in a folder while the block runs; do nothing when `folder` is None.

    Args:
        folder: the cache; made if absent.

    Raises:
        InputError: it cannot be made.
    """
    if folder is None:
        yield
        return
    path = Path(folder).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--compilation_cache={folder}: {error.strerror}; give a folder that can be made") from None
    settings = {
        "jax_compilation_cache_dir": str(path),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: setting(name) for name in settings}
    _configure(settings)
    try:
        yield
    finally:
        _configure(before)


def setting(name: str) -> Any:
    """The present value of one of JAX's settings, whose names its types do not know."""
    return getattr(jax.config, name)


def _configure(settings: dict[str, object]) -> None:
    from jax.experimental.compilation_cache import compilation_cache as cache

    for name, value in settings.items():
        jax.config.update(name, value)
    cache.reset_cache()  # the folder is read once, at the first compilation
