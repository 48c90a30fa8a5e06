"""The scripts: one installation for many starts, recovery, clear refusals, and pins that satisfy what is declared."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
TOOLS = ("bash", "dirname", "cat", "cksum", "rm", "grep", "env")


@pytest.fixture
def checkout(tmp_path):
    """The files that an installation depends on, in a folder of their own."""
    return copy_checkout(tmp_path)


def copy_checkout(parent: Path) -> Path:
    copy = parent / "checkout"
    shutil.copytree(ROOT / "scripts", copy / "scripts")
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


@pytest.fixture
def bare_path(tmp_path):
    """A PATH with what the scripts call, and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    return folder


def bash(script: str, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", script, *arguments], capture_output=True, text=True, timeout=120, **options)


def ensure(checkout: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Source environment.sh with an installation that only tells its name, then do `body`."""
    script = f'set -euo pipefail\n. "{checkout}/scripts/environment.sh"\ninstall_to_run() {{ echo installed; }}\n{body}'
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, env=environment)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One installed checkout for several tests, each of which leaves it installed: making it takes seconds."""
    copy = copy_checkout(tmp_path_factory.mktemp("made"))
    assert ensure(copy, "ensure run").stdout == "installed\n"
    return copy


class TestEnsure:
    def test_a_second_start_installs_nothing_and_costs_next_to_nothing(self, made):
        before = time.monotonic()
        done = ensure(made, "ensure run")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert time.monotonic() - before < 2

    def test_a_changed_pin_installs_once_more(self, made):
        done = ensure(made, 'echo "x==1" >>"$root/scripts/constraints.txt"; ensure run; ensure run')
        assert done.stdout.split() == ["installed"], done.stderr
        assert done.stderr.count("superjax: installing into") == 1

    def test_two_first_starts_at_once_install_once(self, made):
        (made / ".venv/superjax-run.stamp").unlink()
        slowly = "install_to_run() { sleep 2; echo installed; }; ensure run & ensure run; wait"
        done = ensure(made, slowly)
        assert done.stdout.split() == ["installed"], done.stderr
        assert done.returncode == 0

    def test_a_checkout_that_moved_installs_once_more(self, made, tmp_path):
        moved = tmp_path / "elsewhere"
        shutil.copytree(made, moved, symlinks=True)
        assert ensure(moved, "ensure run; ensure run").stdout.split() == ["installed"]

    def test_run_keeps_the_callers_folder_and_arguments(self, made, tmp_path):
        program = made / ".venv/bin/superjax"
        program.write_text('#!/bin/sh\necho "$PWD|$1|$2"\n')
        program.chmod(0o755)
        done = bash(str(made / "scripts/run.sh"), "embed", "--checkpoint=a b", cwd=tmp_path)
        assert done.stdout == f"{tmp_path}|embed|--checkpoint=a b\n", done.stderr

    def test_an_installation_that_failed_is_taken_up_again(self, made):
        fail = 'echo "y==1" >>"$root/scripts/constraints.txt"; install_to_run() { return 1; }\nensure run'
        assert ensure(made, fail).returncode != 0
        (made / ".venv/bin/python").unlink()  # and the environment itself is half there
        done = ensure(made, "ensure run; ensure run")
        assert done.stdout.split() == ["installed"], done.stderr


@pytest.mark.parametrize("script", ["run.sh", "test.sh", "check.sh"])
def test_without_python_it_says_so_in_one_line(script, checkout, bare_path):
    done = bash(str(checkout / "scripts" / script), "--version", env={"PATH": str(bare_path)})
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1].startswith("superjax: no Python 3.11 or newer found; install one")
    assert not (checkout / ".venv").exists()


def test_without_the_venv_module_it_says_so(checkout, tmp_path, bare_path):
    (tmp_path / "debian").mkdir()
    (tmp_path / "debian/ensurepip.py").write_text("raise ImportError('as Debian ships it')")
    environment = {"PATH": str(bare_path), "PYTHON": sys.executable, "PYTHONPATH": str(tmp_path / "debian")}
    done = bash(str(checkout / "scripts/run.sh"), env=environment)
    assert done.returncode == 4
    assert "has no venv module; install it" in done.stderr.splitlines()[-1]


def test_every_declared_dependency_is_pinned_and_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = [
        *project["dependencies"],
        *(need for name in extras if name not in ("cuda", "tpu") for need in extras[name]),
    ]
    lines = (ROOT / "scripts/constraints.txt").read_text().splitlines()
    lines += (ROOT / "scripts/real-models.txt").read_text().splitlines()
    pins = {pin.name.lower().replace("_", "-"): pin for pin in map(Requirement, lines_of_pins(lines))}
    for need in map(Requirement, declared):
        if need.name != "superjax":
            pin = pins[need.name.lower().replace("_", "-")]
            (version,) = pin.specifier
            assert version.operator == "=="
            assert need.specifier.contains(version.version), f"{pin} is not allowed by {need}"
            assert "+" not in version.version, "a local version is on one machine only"


def lines_of_pins(lines: list[str]) -> list[str]:
    return [line for line in lines if line and not line.startswith("#")]


def test_the_scripts_are_valid_and_executable():
    for script in (*ROOT.glob("scripts/*.sh"), ROOT / ".ci/run"):
        assert subprocess.run(["bash", "-n", script], timeout=60).returncode == 0
        assert os.access(script, os.X_OK) == (script.name != "environment.sh")
