"""What an error that ends a run is taken for."""

from __future__ import annotations

import pytest

from superjax.cli.endings import LOST_PEER, environment_cause
from superjax.core.errors import EnvironmentFailure


def raised(error, cause=None, context=None):
    """The error as it is caught when it was raised from, or while handling, others."""
    error.__cause__, error.__context__ = cause, context
    return error


GLOO = "UNKNOWN: Gloo AllGather failed: [external/gloo/transport/tcp/pair.cc:534] Connection closed by peer"

FROM_A_LOST_PEER = {
    "jax": ValueError(GLOO),
    "orbax": EnvironmentFailure("run: a checkpoint cannot be written (Timed out after 8 s waiting at a barrier)"),
    "cause": raised(RuntimeError("x"), cause=raised(KeyError("y"), cause=ValueError(GLOO))),
    "context": raised(RuntimeError("x"), context=raised(OSError("y"), context=ValueError(GLOO))),
}


@pytest.mark.parametrize("error", FROM_A_LOST_PEER.values(), ids=FROM_A_LOST_PEER)
def test_a_lost_peer_is_known_by_the_words_of_any_error_in_a_run_that_has_joined_others(error):
    assert environment_cause(error, joined=True) == LOST_PEER
    assert environment_cause(error) != LOST_PEER


def test_errors_that_led_to_each_other_are_each_looked_at_once():
    one, other = ValueError("a"), ValueError("b")
    one.__context__, other.__context__ = other, one
    assert environment_cause(one, joined=True) is None
