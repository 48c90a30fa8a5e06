"""Compiled programs: where they are kept by default, and that a second process takes them from there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from superjax.cli import main
from superjax.cli.cache import default_cache

PROGRESS = re.compile(r"cell 1/1|1 cell")
"""What a slow machine is told meanwhile."""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE"):
        monkeypatch.delenv(name, raising=False)


def test_it_is_a_folder_of_the_users_cache_for_this_kind_of_processor(tmp_path):
    folder = default_cache()
    assert folder.startswith(f"{tmp_path / 'cache' / 'superjax' / 'compiled-'}")
    assert os.path.isdir(folder)
    assert default_cache() == folder


def test_what_a_killed_process_left_empty_is_swept():
    folder = default_cache()
    for name, content in (("jit_a-1-cache", b""), ("jit_b-2-cache", b"program")):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    default_cache()
    assert os.listdir(folder) == ["jit_b-2-cache"]


@pytest.mark.parametrize("name", ["JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE"])
def test_what_jax_is_told_itself_stands(name, monkeypatch, tmp_path):
    monkeypatch.setenv(name, "false" if "ENABLE" in name else str(tmp_path))
    assert default_cache() is None


def test_a_place_that_cannot_be_made_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert default_cache() is None


def packed(folder):
    """Pack a cell in a process of its own, which has nothing to complain of."""
    command = ["pack", "--k=170", "--d=4", "--steps=3", f"--out={folder}"]
    done = subprocess.run([sys.executable, "-m", "superjax", *command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if not PROGRESS.match(line)]


def test_a_program_that_was_cut_short_is_replaced_without_a_word(tmp_path):
    """What a full disk or a killed process leaves of an entry, which JAX would warn of in every run to come."""

    def run(number):
        packed(tmp_path / str(number))
        return {file: file.read_bytes() for file in Path(default_cache()).glob("jit_*_advance*-cache")}

    whole = run(1)
    assert whole
    for file, program in whole.items():
        file.write_bytes(program[:-40])
    mended = run(2)
    assert mended.keys() == whole.keys()
    assert all(program != whole[file][:-40] for file, program in mended.items())
    assert run(3) == mended  # read, and not replaced again


def test_26_a_second_process_compiles_less_and_says_nothing_of_it(tmp_path):
    def run(number):
        packed(tmp_path / str(number))
        return json.loads((tmp_path / str(number) / "manifest.json").read_text())["compile_time_s"]

    first = run(1)
    kept = sorted(os.listdir(default_cache()))
    assert any("_advance" in name for name in kept)
    assert run(2) < first / 2
    assert sorted(os.listdir(default_cache())) == kept  # nothing was compiled anew


def test_the_cache_is_filled_and_only_for_the_run(tmp_path):
    before = jax.config.jax_compilation_cache_dir
    assert main(["doctor", f"--compilation_cache={tmp_path / 'cache'}"]) == 0
    assert jax.config.jax_compilation_cache_dir == before
    command = ["doctor", f"--compilation_cache={tmp_path / 'programs'}"]
    done = subprocess.run([sys.executable, "-m", "superjax", *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "programs").iterdir())
    assert str(tmp_path / "programs") in done.stdout
