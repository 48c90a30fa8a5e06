"""What a command says is saved: never a state of work that is done by then."""

from __future__ import annotations

import numpy as np

from superjax.cli.checkpoints import Checkpoints
from superjax.cli.interrupts import Interrupts
from superjax.runs.store import Store


def state(step, **more):
    return {"step": np.asarray(step), "steps": np.asarray(9), "x": np.arange(3.0), **more}


def test_states_of_work_that_is_done_are_no_news(tmp_path):
    said = []
    with Store(tmp_path / "state", {"seed": 0}, every_s=0) as store:
        kept = Checkpoints(tmp_path, store, Interrupts(), lambda: None, said.append)
        kept.offer(state(1))
        store.wait()
        assert kept.saved == "step 1 of 9"
        kept.offer(state(8))  # on its way to the disk while the work comes to its end
        kept.done("1 of 2 members")
        assert kept.saved == "1 of 2 members"
        store.wait()
        assert kept.saved == "1 of 2 members"
        kept.offer(state(2))
        store.wait()
        assert kept.saved == "step 2 of 9"
    assert said == ["step 1 of 9", "step 2 of 9"]


def test_a_step_is_told_with_the_round_that_it_belongs_to(tmp_path):
    said = []
    with Store(tmp_path / "state", {"seed": 0}, every_s=0) as store:
        kept = Checkpoints(tmp_path, store, Interrupts(), lambda: None, said.append)
        kept.offer(state(7, round=np.asarray(0)), "coherence_12_5")
        store.wait()
        kept.offer(state(1, round=np.asarray(1)), "coherence_12_5")
        store.wait()
        assert kept.saved == "coherence_12_5, round 2, step 1 of 9"
    assert said[0] == "coherence_12_5, round 1, step 7 of 9"
