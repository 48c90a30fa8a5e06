"""Random draws follow the exact law of their maximum and do not depend on devices."""

from __future__ import annotations

import numpy as np
import pytest

from superjax.core.errors import InputError
from superjax.packing import best_random
from tests.packing import helpers


def test_two_vectors_follow_the_law_of_one_cosine():
    found = best_random(2, 3, draws=4000)  # |cosine| is uniform in [0, 1]
    assert found.deviation < 1.95 / np.sqrt(4000)
    assert found.expected_mean == pytest.approx(0.5)
    assert found.coherence.mean() == pytest.approx(0.5, abs=0.02)
    assert found.best == found.coherence.min() == pytest.approx(1 / 4000, abs=2e-3)


def test_many_vectors_follow_the_law_of_their_maximum():
    found = best_random(300, 40, draws=300)
    assert found.deviation < 1.95 / np.sqrt(300)
    assert found.expected_best == pytest.approx(found.best, abs=0.01)
    assert found.expected_best < found.expected_mean


def test_draws_are_the_same_on_any_number_of_devices():
    told = []
    one = best_random(33, 5, draws=21, seed=4)
    many = best_random(33, 5, draws=21, seed=4, mesh=helpers.mesh_of(8), on_progress=lambda *done: told.append(done))
    np.testing.assert_allclose(many.coherence, one.coherence, atol=1e-6)
    assert len(set(np.round(one.coherence, 6))) == 21
    assert told[-1] == (21, 21)
    assert not np.allclose(best_random(33, 5, draws=21, seed=5).coherence, one.coherence, atol=1e-3)


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="draws: 0 is too small"):
        best_random(3, 3, draws=0)
