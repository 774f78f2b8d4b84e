"""Limits of an endpoint that the workers of a fleet share."""

from __future__ import annotations

import threading
import time

import httpx
import pytest

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from tests.browser.provider import Provider, provider
from tests.crash.fleet.processes import Fleet, check_journal

pytestmark = [pytest.mark.slow, pytest.mark.long]
SQLITE = True
RUNS, STEPS, AT_ONCE = 8, 5, 2


class Crowd(Provider):
    """Takes a moment for each call, and counts concurrent calls."""

    lock = threading.Lock()
    now = most = calls = 0

    def do_POST(self) -> None:
        """One sentence, after a moment."""
        with self.lock:
            Crowd.calls += 1
            Crowd.now += 1
            Crowd.most = max(Crowd.most, Crowd.now)
        time.sleep(0.1)  # As long as a model takes, so that calls of all runs overlap.
        with self.lock:  # Before the answer, which admits the next call.
            Crowd.now -= 1
        super().do_POST()


async def test_workers_share_the_limit_of_concurrent_calls(fleet: Fleet, reader: Journal) -> None:
    with provider(Crowd) as url:
        file = fleet.home / 'endpoints.toml'
        file.write_text(f'[endpoints.ours]\nurl = "{url}"\nmodels = ["large"]\nat_once = {AT_ONCE}\n')
        environment = {'HEMICYCLE_ENDPOINTS': str(file)}
        for _ in range(2):
            await fleet.worker('--at-once', str(RUNS // 2), **environment)
        server = await fleet.web(**environment)
        body = {'pattern': 'asking', 'parameters': {'steps': STEPS}, 'models': {'': 'ours/large'}}
        async with httpx.AsyncClient(base_url=f'{server.url}/api/v1/', timeout=30) as web:
            answers = [await web.post('runs', json=body) for _ in range(RUNS)]
            runs = [str(answer.raise_for_status().json()['id']) for answer in answers]
        await fleet.wait_for_end(runs, reader)
    infos = [await reader.info(RunId(run)) for run in runs]
    assert {info.status for info in infos} == {Status.DONE}
    assert len({info.owner for info in infos}) == 2, 'both workers executed some'
    assert Crowd.calls == RUNS * STEPS
    assert Crowd.most == AT_ONCE
    await check_journal(fleet.database, runs)
