"""The doctor's report agrees with what can be asked of the machine directly."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys

import jax

from superjax.cli import main


def test_the_report_tells_what_is_here(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--out=r"]) == 0
    text = capsys.readouterr().out
    report = json.loads((tmp_path / "r/summary.json").read_text())
    for name in ("jax", "jaxlib", "numpy", "optax", "flax", "orbax-checkpoint"):
        assert report["versions"][name] == importlib.metadata.version(name)
        assert f"{name} " in text
    assert report["versions"]["python"] == sys.version.split()[0]
    assert report["devices"]["device_count"] == jax.device_count()
    assert report["devices"]["platform"] == jax.default_backend()
    assert 0 < report["devices"]["product_error"]["highest"] < 1e-6
    assert report["memory"]["total"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert f"cores {os.cpu_count()}" in " ".join(text.split())
    assert "missing extras none" in " ".join(text.split())
    assert max(len(line) for line in text.splitlines() if not line.startswith("compilation cache")) <= 80


def test_the_compilation_cache_is_counted(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, size in (("jit_a-1-cache", 2**20), ("jit_b-2-cache", 2**19), ("jit_b-2-atime", 8)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert main(["doctor", "--compilation_cache=."]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("compilation cache"))
    programs, size = re.search(r": ([\d,]+) programs, ([\d.]+) MiB$", line).groups()
    own = len([path for path in tmp_path.glob("*-cache") if not path.name.startswith(("jit_a-1", "jit_b-2"))])
    assert int(programs) == 2 + own  # what the doctor itself compiled is kept there too
    assert float(size) >= 1.5


def test_without_out_it_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_fails_is_a_finding_not_the_end():
    done = subprocess.run(
        [sys.executable, "-m", "superjax", "doctor"],
        capture_output=True, text=True, timeout=120, env={**os.environ, "JAX_PLATFORMS": "cuda"},
    )  # fmt: skip
    assert done.returncode == 3
    assert f"jax {jax.__version__}" in " ".join(done.stdout.split())
    assert "$JAX_PLATFORMS" in done.stdout
    assert done.stderr.startswith("superjax: failed: devices: JAX_PLATFORMS=cuda")


def test_missing_extras_come_with_their_command(tmp_path):
    """An interpreter without torch and gguf: their import is blocked, as it is where they are not installed."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name in ('torch', 'gguf') else find(name, *more)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "superjax", "doctor"],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "pip install 'superjax[torch]'" in done.stdout
    assert "pip install 'superjax[gguf]'" in done.stdout
