"""An experiment whose server is killed three times: no run is repeated or lost, the answer is right."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.operations.experiments import SAMPLE, read_experiment
from tests.crash.test_schedule_killed import serving
from tests.support.cli import Hemicycle, json_lines, line, until
from ui.api.wire import dump

KILLS, EACH = 3, 6
"""How often the server is killed, and after how many more runs."""


class Client:
    """Reads what a server says of one experiment."""

    def __init__(self, http: httpx.Client, experiment: str) -> None:
        self.http, self.experiment = http, experiment

    def read(self, path: str) -> Any:
        answer = self.http.get(f'/{path}')
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = self.http.post(f'/{path}', json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def cells(self) -> list[dict[str, Any]]:
        cells: list[dict[str, Any]] = self.read(f'experiments/{self.experiment}/cells')['cells']
        return cells

    def has_scored(self, goal: int) -> bool:
        return sum(cell['state'] == 'scored' for cell in self.cells()) >= goal

    def is_done(self) -> bool:
        return bool(self.read(f'experiments/{self.experiment}')['state'] == 'done')


@pytest.mark.slow
def test_no_run_of_a_killed_experiment_is_repeated_or_lost(tmp_path: Path) -> None:
    hemicycle, sample = Hemicycle(tmp_path), read_experiment(SAMPLE)
    planned = len(sample.cases) * len(sample.experiment.variants) * sample.experiment.repeats
    experiment, seen = '', dict[str, str]()
    for kill in range(KILLS):
        with serving(hemicycle) as http:
            client = Client(http, experiment)
            if not experiment:
                saved = {'cases': [dump(case) for case in sample.cases]}
                client.post(f'datasets/{sample.experiment.dataset}/versions', saved)
                experiment = client.experiment = client.post('experiments', dump(sample.experiment))['id']
            until(partial(client.has_scored, EACH * (kill + 1)), f'{EACH} more runs')
            now = {cell['id']: cell['run'] for cell in client.cells()}
            assert seen.items() <= now.items() and len(now) < planned
            seen = now
    with serving(hemicycle) as http:
        client = Client(http, experiment)
        until(client.is_done, 'it is done')
        ended, runs = client.cells(), client.read('runs?limit=200')['items']
        answer = client.read(f'experiments/{experiment}/answer')['text']
    assert len(ended) == len(runs) == planned
    assert {cell['run'] for cell in ended} == {run['id'] for run in runs}
    assert Counter(run['status'] for run in runs) == {'done': planned}
    assert 'stricter reviewer is better' in answer


@pytest.mark.slow
def test_a_killed_command_is_resumed_where_it_was(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    with hemicycle.process('experiment', 'run', 'sample', '--yes', '--pace', '300', '--json') as process:
        for _ in range(EACH):
            line(process.stdout)
        process.kill()
    result = hemicycle('experiment', 'resume', 'A stricter reviewer', '--pace', '0')
    assert result.exit_code == 0 and 'stricter reviewer is better' in result.stdout, result.output
    runs = json_lines(hemicycle('runs', 'list', '--json', '--limit', '200').stdout)
    assert len(runs) == 48 and {run['status'] for run in runs} == {'done'}
