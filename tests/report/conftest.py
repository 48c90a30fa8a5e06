"""Real run folders of every command, small; and a real browser where there is one."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from superjax.cli import main
from superjax.report import write_report
from tests.report.browser import INSTALL, browser, find_browser

MODEL = "gemma-3-270m"
"""A name under which epsilon is published, at 640 dimensions."""


@pytest.fixture(scope="session")
def run_folders(tmp_path_factory):
    """command -> a finished run folder."""
    base = tmp_path_factory.mktemp("runs")
    rows = np.random.default_rng(0).standard_normal((60, 640)).astype(np.float32) + 0.3
    np.save(base / f"{MODEL}.npy", rows)
    table = resources.files("superjax.laws") / "data" / "published_packings.csv"
    commands = {
        "embed": [f"--checkpoint={base / MODEL}.npy", "--bins=40"],
        "train": ["--n=12", "--m=3", "--decay=-1,1", "--seeds=6", "--steps=20", "--batch=32"],
        "pack": ["--k=6", "--d=3", "--restarts=4", "--steps=40"],
        "fit": [f"--table={table}", "--law=ratio", "--draws=4"],
        "capacity": ["--d=4096", "--epsilon=0.0645"],
    }
    for command, flags in commands.items():
        assert main([command, *flags, f"--out={base / command}"]) == 0
    return {command: base / command for command in commands}


@pytest.fixture(scope="session")
def report_file(run_folders, tmp_path_factory):
    """The page of all of them."""
    return write_report(list(run_folders.values()), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    if find_browser() is None:
        pytest.skip(INSTALL)
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def tab(chromium):
    """A new tab."""
    return chromium.new_page()
