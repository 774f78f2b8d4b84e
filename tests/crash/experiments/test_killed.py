"""An experiment whose server is killed three times: no run is repeated or lost, the answer is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from engine.operations.experiments import SAMPLE, Case, Experiment, Variant, read_experiment
from tests.crash.test_schedule_killed import serving
from tests.support.cli import Hemicycle, json_lines, line, until
from ui.api.wire import dump

KILLS = 3
SECONDS = 250.0
"""How often the server is killed, and how long anything may take."""


class Client:
    """Reads what a server says of one experiment."""

    def __init__(self, http: httpx.Client, experiment: str) -> None:
        self.http, self.experiment = http, experiment
        self._cells: dict[str, dict[str, Any]] = {}
        self._cursor = 0.0

    def read(self, path: str) -> Any:
        answer = self.http.get(f'/{path}')
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = self.http.post(f'/{path}', json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def cells(self) -> list[dict[str, Any]]:
        page = self.read(f'experiments/{self.experiment}/cells?since={self._cursor}')
        self._cells |= {cell['id']: cell for cell in page['cells']}
        self._cursor = page['cursor']
        return [*self._cells.values()]

    def runs(self) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = []
        query = {'limit': '200', 'cursor': ''}
        while True:
            page = self.read(f'runs?{urlencode(query)}')
            runs += page['items']
            if not page['next']:
                return runs
            query['cursor'] = page['next']

    def has_scored(self, goal: int) -> bool:
        return sum(cell['state'] == 'scored' for cell in self.cells()) >= goal

    def is_done(self) -> bool:
        experiment = self.read(f'experiments/{self.experiment}')
        assert experiment['state'] in ('running', 'scoring', 'done'), experiment['reason']
        return bool(experiment['state'] == 'done')


def killed_three_times(
    hemicycle: Hemicycle, experiment: Experiment, cases: Sequence[Case], each: int
) -> tuple[list[dict[str, Any]], str]:
    """Kill the server of an experiment after each so many runs, let it end; return its cells and answer."""
    planned = len(cases) * len(experiment.variants) * experiment.repeats
    started, seen = '', dict[str, str]()
    for kill in range(KILLS):
        with serving(hemicycle) as http:
            client = Client(http, started)
            if not started:
                client.post(
                    f'datasets/{experiment.dataset}/versions', {'cases': [dump(case) for case in cases]}
                )
                started = client.experiment = client.post('experiments', dump(experiment))['id']
            until(partial(client.has_scored, each * (kill + 1)), f'{each} more runs', seconds=SECONDS)
            now = {cell['id']: cell['run'] for cell in client.cells()}
            assert seen.items() <= now.items() and len(now) < planned
            seen = now
    with serving(hemicycle) as http:
        client = Client(http, started)
        until(client.is_done, 'it is done', seconds=SECONDS)
        ended, runs = client.cells(), client.runs()
        answer = client.read(f'experiments/{started}/answer')['text']
    assert len(ended) == len(runs) == planned
    assert {cell['run'] for cell in ended} == {run['id'] for run in runs}
    assert Counter(run['status'] for run in runs) == {'done': planned}
    return ended, answer


@pytest.mark.slow
def test_no_run_of_a_killed_experiment_is_repeated_or_lost(tmp_path: Path) -> None:
    sample = read_experiment(SAMPLE)
    _, answer = killed_three_times(Hemicycle(tmp_path), sample.experiment, sample.cases, each=6)
    assert '“stricter reviewer” is better' in answer


@pytest.mark.long
def test_no_run_of_two_thousand_is_repeated_or_lost(tmp_path: Path) -> None:
    sample = read_experiment(SAMPLE)
    variants = (*sample.experiment.variants, Variant(name='once more'))
    experiment = replace(sample.experiment, variants=variants, repeats=1, at_once=20)
    of_the_sample = zip(range(500), cycle(sample.cases))
    cases = [replace(case, id=f'{case.id} {number}') for number, case in of_the_sample]
    ended, answer = killed_three_times(Hemicycle(tmp_path), experiment, cases, each=450)
    assert len(ended) == 2_000 and '“stricter reviewer” is better' in answer


@pytest.mark.slow
def test_a_killed_command_is_resumed_where_it_was(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    with hemicycle.process('experiment', 'run', 'sample', '--yes', '--pace', '300', '--json') as process:
        for _ in range(6):
            line(process.stdout)
        process.kill()
    result = hemicycle('experiment', 'resume', 'A stricter reviewer', '--pace', '0')
    assert result.exit_code == 0 and '“stricter reviewer” is better' in result.stdout, result.output
    runs = json_lines(hemicycle('runs', 'list', '--json', '--limit', '200').stdout)
    assert len(runs) == 48 and {run['status'] for run in runs} == {'done'}
