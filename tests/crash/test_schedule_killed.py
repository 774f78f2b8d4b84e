"""A schedule due each second, while its server is killed repeatedly: each second has exactly one run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

from tests.support.cli import Hemicycle, line, until

KILLS, EACH = 2, 2
"""How often the server is killed, and after how many more runs."""


@contextmanager
def serving(hemicycle: Hemicycle) -> Iterator[httpx.Client]:
    """A server that is killed at the end."""
    with hemicycle.process('serve', '--port', '0', '--patterns', str(hemicycle.patterns)) as process:
        address = line(process.stdout).rpartition(' ')[2]
        for stream in filter(None, (process.stdout, process.stderr)):
            Thread(target=stream.read, daemon=True).start()  # A full pipe would halt the server.
        with httpx.Client(base_url=f'{address}/api/v1', timeout=60) as http:
            yield http
            process.kill()


def test_each_second_has_exactly_one_run(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    schedule = ''

    def ticks(http: httpx.Client) -> list[dict[str, Any]]:
        answer = http.get(f'/schedules/{schedule}/ticks', params={'limit': 1_000})
        assert answer.status_code == 200, answer.text
        data: list[dict[str, Any]] = answer.json()
        return sorted(data, key=lambda tick: str(tick['due']))

    for kill in range(KILLS + 1):
        with serving(hemicycle) as http:
            if not schedule:
                body = {
                    'name': 'each second',
                    'action': {'pattern': 'asking'},
                    'spec': {'intervals': [{'every': 1}]},
                    'policy': {'overlap': 'allow_all'},
                }
                response = http.post('/schedules', json=body)
                assert response.status_code == 201, response.text
                schedule = response.json()['id']
            goal = EACH * (kill + 1)
            until(lambda: sum(tick['state'] == 'started' for tick in ticks(http)) >= goal, f'{goal} runs')  # noqa: B023
            if kill == KILLS:
                assert http.patch(f'/schedules/{schedule}', json={'paused': True}).status_code == 200
                until(lambda: all(tick['state'] == 'started' for tick in ticks(http)), 'all are started')
                recorded, runs = ticks(http), http.get('/runs', params={'limit': 200}).json()['items']
    moments = [datetime.fromisoformat(tick['due']).timestamp() for tick in recorded]
    assert {after - before for before, after in pairwise(moments)} == {1.0}
    assert {tick['run'] for tick in recorded} == {run['id'] for run in runs}
    assert len(recorded) == len(runs) >= EACH * (KILLS + 1)
    assert {run['author'] for run in runs} == {'schedule:each second'}
