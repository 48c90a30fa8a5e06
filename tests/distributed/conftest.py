"""Processes that no test leaves behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.distributed.processes import Processes


@pytest.fixture
def processes() -> Iterator[Processes]:
    started = Processes()
    yield started
    started.kill()
