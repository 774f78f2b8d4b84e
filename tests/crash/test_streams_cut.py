"""Thirty streams of a run, cut at random and resumed, while the server is killed and restarted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from httpx_sse import EventSource

from engine import Status, Transition
from tests.browser.server import Server
from tests.support.charts.ticking import write_ticking
from tests.support.harness import until
from ui.api.client import HttpConductor

pytestmark = pytest.mark.slow
STREAMS, ROUNDS, KILLS = 30, 40, 2


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path, patterns=write_ticking(tmp_path, ticks=ROUNDS, seconds=0.05))
    server.start()
    yield server
    server.kill()


class Reader:
    """A stream that is cut repeatedly after a few events, and resumes after the last step it saw."""

    def __init__(self, url: str, seed: int) -> None:
        self._url, self._random = url, random.Random(seed)
        self.steps: list[int] = []
        self.cuts = 0

    async def read(self, http: httpx.AsyncClient) -> None:
        while True:
            headers = {'Last-Event-ID': str(self.steps[-1])} if self.steps else {}
            try:
                async with http.stream('GET', self._url, headers=headers) as answer:
                    if answer.status_code == 204 or await self._take(answer):
                        return
            except httpx.TransportError:
                await asyncio.sleep(0.05)  # The server is down.
            self.cuts += 1

    async def _take(self, answer: httpx.Response) -> bool:
        """Read some events; True if the run has ended."""
        remaining = self._random.randint(1, 12)
        async for event in EventSource(answer).aiter_sse():
            if event.event == 'end':
                return True
            if event.event == 'step':
                self.steps.append(int(event.id))
            remaining -= 1
            if not remaining:
                return False
        return False


async def test_no_step_is_lost_or_repeated(server: Server):
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=30, limits=limits, base_url=f'{server.url}/api/v1/') as http:
        run = (await http.post('runs', json={'pattern': 'ticking'})).json()['id']
        readers = [Reader(f'runs/{run}/events', seed) for seed in range(STREAMS)]
        reading = [asyncio.create_task(reader.read(http)) for reader in readers]
        for kill in range(1, KILLS + 1):
            minimum = kill * ROUNDS // 4
            await until(lambda seen=minimum: max(max(item.steps, default=0) for item in readers) >= seen)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        await asyncio.wait_for(asyncio.gather(*reading), 120)
        last = (await http.get(f'runs/{run}')).json()
    assert last['status'] == 'done'
    assert last['seq'] > ROUNDS
    for reader in readers:
        assert reader.steps == list(range(1, last['seq'] + 1))
    assert sum(reader.cuts for reader in readers) > 5 * STREAMS


async def test_watching_survives_a_restart_of_the_server(server: Server):
    seqs = []
    async with HttpConductor(server.url) as conductor:
        run = await conductor.start('ticking')
        async for item in run.watch():
            if isinstance(item, Transition):
                seqs.append(item.seq)
                if len(seqs) == ROUNDS // 4:
                    await asyncio.to_thread(server.kill)
                    await asyncio.to_thread(server.start)
        outcome = await conductor.result(run.id)
        last = (await conductor.info(run.id)).seq
    assert outcome.status is Status.DONE
    assert seqs == list(range(1, last + 1)) and last > ROUNDS
