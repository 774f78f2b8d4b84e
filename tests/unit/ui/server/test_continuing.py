"""A server that starts continues what a killed one has left, also after an outage of the database."""

from __future__ import annotations

import pytest

from engine import LocalConductor
from engine.errors import EngineError, JournalUnavailable
from engine.records import RunId
from tests.support.harness import HastyClock
from ui.server.app import continue_runs


@pytest.mark.parametrize(('problem', 'tries'), [(JournalUnavailable, 3), (EngineError, 1)])
async def test_only_an_outage_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, problem: type[EngineError], tries: int
) -> None:
    attempts: list[int] = []
    failures: list[Exception] = []

    async def recover() -> list[RunId]:
        attempts.append(1)
        if len(attempts) < 3:
            raise problem('the database is restarting')
        return []

    async with LocalConductor(clock=HastyClock()) as conductor:
        monkeypatch.setattr(conductor, 'recover', recover)
        await continue_runs(conductor, None, failures.append)
    assert (len(attempts), len(failures)) == (tries, int(problem is EngineError))
