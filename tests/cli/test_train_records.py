"""What a later process finds of members that are done: nothing overwritten, nothing reported that is not there."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from superjax.cli import train_records
from superjax.cli.checkpoints import Checkpoints
from superjax.cli.interrupts import Interrupts
from superjax.cli.train_records import Records
from superjax.runs import RunFolder
from superjax.runs.store import Store
from superjax.toy import Params, Trained, Training, grid

MEMBERS = grid(n=12, m=3, batch=16, seed=list(range(4)))


class Context:
    """What records need of the command line, with a real run folder."""

    def __init__(self, folder):
        self.folder, self.reports, self.notes = folder, [], []

    def begin(self):
        return self.folder

    def report(self, **entries):
        self.reports.append(entries)

    def note(self, text):
        self.notes.append(text)


@pytest.fixture
def context(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin({})
    yield Context(folder)
    folder.release()


def kept_in(context, store=None):
    folder = context.folder.path / "checkpoints"
    folder.mkdir(exist_ok=True)
    return Checkpoints(folder, store, Interrupts(), context.begin, lambda place: context.report(saved=place))


def records_in(context, **options):
    return Records(MEMBERS, Training(steps=10), context, kept_in(context), **options)


def done(place):
    return {
        place: Trained(Params(np.full((12, 3), place, np.float32), np.zeros(12, np.float32)), 1.0, 0.1, np.ones(1), -1)
    }


def rows_of(context):
    with (context.folder.path / "table.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_file_that_was_taken_away_costs_no_other(context):
    records = records_in(context)
    for place in range(3):
        records.add(done(place))
    (context.folder.path / "checkpoints" / "members-00000.npz").unlink()
    records_in(context).add(done(3))
    assert set(records_in(context).unfinished.trained) == {1, 2, 3}


def test_a_pass_saved_at_the_step_of_the_one_before_is_reported(context, tmp_path):
    state = {"step": np.asarray(4), "steps": np.asarray(10), "places": np.array([[0]])}
    with Store(tmp_path / "state", {}, every_s=0.0) as store:
        kept = kept_in(context, store)
        records = Records(MEMBERS, Training(steps=10), context, kept)
        said = []
        for place in (0, 1):
            records.offer({**state, "places": np.array([[place]])})
            store.wait()
            said.append(kept.saved)
            records.add(done(place))
    assert said == ["step 4 of 10", "1 of 4 members, step 4 of 10"]
    assert [entry["saved"] for entry in context.reports] == [said[0], None, said[1], None]


def test_the_table_is_written_at_once_then_seldom_and_at_the_end_even_of_a_failure(context, monkeypatch):
    written, real = [], RunFolder.write_table
    monkeypatch.setattr(RunFolder, "write_table", lambda self, rows: written.append(len(rows)) or real(self, rows))

    def interrupted():
        with records_in(context) as records:
            for place in range(3):
                records.add(done(place))
            assert written == [1]
            assert set(records_in(context).unfinished.trained) == {0, 1, 2}  # the table alone lags behind
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert written == [1, 3]
    assert [row["seed"] for row in rows_of(context)] == ["0", "1", "2"]


def test_the_table_follows_when_it_is_time(context, monkeypatch):
    monkeypatch.setattr(train_records, "_TABLE_EVERY_S", 0.0)
    records = records_in(context)
    for place in range(2):
        records.add(done(place))
        assert len(rows_of(context)) == place + 1
