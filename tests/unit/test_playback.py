"""Forks that play what is recorded: exact without edits, live where it is said, stopped at the end of it."""

from __future__ import annotations

import pytest

from engine import Conductor, MemoryJournal
from tests.clocks import IdleClock
from tests.exactness import forks_alike
from tests.support import FakeModel, catalog, pipeline_reply, to_the_end

pytestmark = pytest.mark.anyio


async def test_a_fork_without_edits_reaches_the_same_journal_at_every_step() -> None:
    model = FakeModel(pipeline_reply)
    async with Conductor(MemoryJournal(), catalog=catalog(model), clock=IdleClock()) as conductor:
        run = await conductor.start('pipeline', {'task': 'Count the bees'})
        await to_the_end(conductor, run)
        asked = len(model.requests)
        assert await forks_alike(conductor, run) > 5
        assert len(model.requests) == asked
