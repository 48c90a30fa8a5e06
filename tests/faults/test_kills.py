"""kill -9, SIGTERM and SIGINT on real runs: what was reported saved is there, and the results are the same bits."""

from __future__ import annotations

import os
import random
import re
import shlex
import signal
import time

import pytest

from superjax.cli.endings import INTERRUPTED
from tests.faults import runs
from tests.faults.runs import PACK, TRAIN, Run

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module", params=[TRAIN, PACK], ids=["train", "pack"])
def reference(request, tmp_path_factory):
    """A command, and the folder of a run of it that nobody disturbed."""
    folder = tmp_path_factory.mktemp("reference") / request.param[0]
    runs.finish(request.param, folder)
    return request.param, folder


def test_41_killed_while_working_and_while_saving_it_ends_with_the_same_bits(reference, tmp_path):
    arguments, expected = reference
    folder = tmp_path / "run"
    with Run(arguments, folder) as run:
        assert run.wait_for_report()
        time.sleep(random.uniform(0, 0.3))
        assert run.kill()
    before = runs.reported(folder)
    assert before[1] > runs.START
    with Run(arguments, folder) as run:
        assert run.wait_for_report()
        assert run.wait_for(lambda: runs.saving(folder))
        assert run.kill()
    second = runs.reported(folder)
    assert second >= before  # nothing that was reported saved is lost
    said = runs.finish(arguments, folder)
    assert runs.gone_on(said) >= second
    runs.assert_same_results(folder, expected)
    assert not runs.saving(folder)


def test_sigterm_and_sigint_save_and_the_command_they_print_goes_on(reference, tmp_path):
    arguments, expected = reference
    folder = tmp_path / "a run"
    for number in (signal.SIGTERM, signal.SIGINT):
        with Run(arguments, folder) as run:
            assert run.wait_for_report()
            code, said = run.send(number)
        assert code == INTERRUPTED, said
        printed = re.search(r"superjax: interrupted, saved at (.*); continue with: superjax (.*)\n$", said)
        assert printed, said
        assert runs.step_in(printed[1]) == runs.reported(folder)[1]
    assert shlex.split(printed[2]) == [*arguments, *runs.ALWAYS, f"--out={folder}"]
    saved = runs.reported(folder)
    if arguments is PACK:
        truncate_newest(folder)
    said = runs.finish(arguments, folder)
    if arguments is PACK:
        assert re.search(r"note: .*state/\d+: the checkpoint is damaged \(.*\); the one before is used", said)
        assert runs.NOTHING < runs.gone_on(said) < saved
    else:
        assert runs.gone_on(said) == saved
    runs.assert_same_results(folder, expected)


def truncate_newest(folder):
    """Take away half of the newest checkpoint's values."""
    newest = max((path for path in (folder / "checkpoints/state").iterdir()), key=lambda path: int(path.name))
    file = max(newest.rglob("*"), key=lambda path: path.stat().st_size)
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_dozen_kills_at_random_moments_lose_nothing_that_was_reported(reference, tmp_path, seed):
    """With both commands and both seeds: 48 kills, from the first import to the last figure."""
    arguments, expected = reference
    chance = random.Random(f"{arguments[0]} {seed}")
    folder = tmp_path / "run"
    began = time.monotonic()
    runs.finish(arguments, tmp_path / "whole")
    whole = time.monotonic() - began
    last, kills = runs.NOTHING, 0
    while kills < 12:
        with Run(arguments, folder) as run:
            until = time.monotonic() + chance.uniform(0, whole)
            run.wait_for(lambda until=until: time.monotonic() > until)
            killed = run.kill()
        if not killed:
            runs.assert_same_results(folder, expected)
            folder, last = tmp_path / f"run-{kills}", runs.NOTHING  # it came to its end: another one is killed on
            continue
        kills += 1
        now = runs.reported(folder)
        assert now >= last
        last = now
    said = runs.finish(arguments, folder)
    if runs.NOTHING < last < runs.EVERYTHING:
        assert runs.gone_on(said) >= last
    runs.assert_same_results(folder, expected)
