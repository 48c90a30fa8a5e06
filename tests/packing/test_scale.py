"""Large packings: bounded memory and equal gradients on 1 and 4 devices. Minutes to an hour on two cores."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from superjax.packing.starts import random_start
from tests.packing.test_rows import gradients_of_first_steps

PACK_AND_TELL_MEMORY = """
import resource, sys
from superjax.packing import coherence, pack
k, d, steps = map(int, sys.argv[1:])
found = pack(k, d, steps=steps)
print(found.coherence, found.history[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def packed(k, d, steps):
    done = subprocess.run(
        [sys.executable, "-c", PACK_AND_TELL_MEMORY, str(k), str(d), str(steps)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [float(part) for part in done.stdout.split()]


def test_memory_grows_with_the_rows_not_with_their_pairs():
    """20,000 rows have a Gram matrix of 1.6 GB; one step of them adds less than a tenth of that."""
    small, large = packed(2_000, 8, 1), packed(20_000, 8, 1)
    assert (large[2] - small[2]) * 1024 < 160e6


@pytest.mark.slow
def test_a_hundred_thousand_vectors_take_less_than_two_gigabytes():
    reached, began, kilobytes = packed(100_000, 64, 20)
    assert kilobytes * 1024 < 2e9
    assert reached < began


@pytest.mark.slow
def test_twenty_thousand_vectors_have_the_same_gradients_on_one_and_four_devices():
    x = random_start(20_000, 256, seed=0)
    _, one = gradients_of_first_steps(x, 3, 1)
    _, four = gradients_of_first_steps(x, 3, 4)
    assert np.abs(four - one).max() < 1e-6
    assert np.abs(four - one).max() < 1e-2 * np.abs(one).max()
