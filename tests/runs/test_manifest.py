"""The manifest and the facts it is made of, against the machine asked directly."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superjax
from superjax.runs import Manifest, compile_clock, devices_in_words, product_error, versions


@dataclass(frozen=True)
class Settings:
    """Something to configure."""

    bins: int = 7


def test_every_promised_entry_is_there():
    manifest = Manifest("embed", ("embed", "--bins=7"), Settings(), seed=3, precision="high")
    time.sleep(0.01)
    entries = manifest.entries(devices=jax.devices()[:2], compile_time_s=1.5, failures=["x"])
    assert entries.keys() >= {
        "command", "argv", "config", "versions", "platform", "device_kind", "device_count", "precision", "seed",
        "started", "wall_time_s", "compile_time_s", "git",
    }  # fmt: skip
    assert entries["config"] == {"bins": 7}
    assert (entries["device_count"], entries["platform"]) == (2, "cpu")
    assert 0.01 <= entries["wall_time_s"] < 5
    assert (entries["compile_time_s"], entries["failures"]) == (1.5, ["x"])
    assert entries["versions"]["numpy"] == np.__version__


def test_without_devices_it_says_none():
    entries = Manifest("fit", (), Settings()).entries()
    assert (entries["platform"], entries["device_count"], entries["seed"]) == (None, 0, None)


def test_identity_does_not_depend_on_time_or_spelling():
    first = Manifest("embed", ("embed", "--bins=7"), Settings(), seed=0)
    time.sleep(0.01)
    assert first.identity() == Manifest("embed", ("embed", "-bins", "7"), Settings(), seed=0).identity()
    assert first.identity() != Manifest("embed", (), Settings(8), seed=0).identity()


def test_versions_are_the_installed_ones():
    found = versions()
    assert found["superjax"] == superjax.__version__
    assert found["jaxlib"] == importlib.metadata.version("jaxlib")
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))


def test_the_clock_counts_compiling_and_nothing_else():
    compiled = jax.jit(lambda x: jnp.tanh(x) * 3)
    with compile_clock() as first:
        compiled(2.0).block_until_ready()
    with compile_clock() as second:
        compiled(3.0).block_until_ready()
        time.sleep(0.05)
    assert first.seconds > 0
    assert second.seconds == 0
    jax.jit(lambda x: jnp.cos(x) * 5)(2.0)
    assert second.seconds == 0, "the clock stops with its block"


def test_devices_in_words_are_jaxs():
    assert devices_in_words(jax.devices()[:3]) == {
        "platform": jax.devices()[0].platform,
        "device_kind": jax.devices()[0].device_kind,
        "device_count": 3,
    }


def test_product_error_is_that_of_the_same_rows_in_float64():
    x = np.random.default_rng(0).standard_normal((256, 384))
    unit = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32).astype(np.float64)
    rounding_of_the_rows = np.abs(np.sum(unit**2, axis=1) - 1).max()
    error = product_error(jax.devices()[0], "highest")
    assert abs(error - rounding_of_the_rows) < 384 * 2.0**-24
    assert error < 1e-6


@pytest.mark.gpu
def test_highest_precision_is_float32_on_an_accelerator():
    device = jax.devices()[0]
    assert device.platform != "cpu"
    assert product_error(device, "highest") < 1e-6


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_revision_is_that_of_a_checkout_and_of_nothing_else(tmp_path):
    """A copy of the package in a repository of its own: untracked, committed, changed."""
    package = Path(superjax.__file__).parent
    copy = tmp_path / "superjax"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    ask = [sys.executable, "-c", "from superjax.runs import source_revision as r; print(r())"]

    def revision() -> str:
        return subprocess.run(ask, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()

    git(tmp_path, "init", "-q")
    assert revision() == "None"
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    assert revision() == str({"commit": git(tmp_path, "rev-parse", "HEAD"), "modified": False})
    (copy / "__init__.py").write_text((copy / "__init__.py").read_text() + "\n")
    assert revision() == str({"commit": git(tmp_path, "rev-parse", "HEAD"), "modified": True})
