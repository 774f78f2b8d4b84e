"""The API of one server, for tests of experiments on several."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from engine.operations.experiments.files.yaml_file import ExperimentFile
from tests.crash.fleet.processes import Process, until
from ui.api.wire import dump


class Api:
    """The API of one server, as far as experiments need it."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def read(self, path: str) -> Any:
        answer = await self._http.get(path)
        assert answer.is_success, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None) -> Any:
        answer = await self._http.post(path, json=body or {})
        assert answer.is_success, answer.text
        return answer.json()

    async def change(self, path: str, body: Any) -> None:
        answer = await self._http.patch(path, json=body)
        assert answer.is_success, answer.text

    async def cells(self, experiment: str) -> list[Any]:
        return list((await self.read(f'experiments/{experiment}/cells'))['cells'])

    async def scored(self, experiment: str) -> int:
        return sum(cell['state'] == 'scored' for cell in await self.cells(experiment))

    async def wait_scored(self, experiment: str, number: int, server: Process) -> None:
        async def has() -> bool:
            return await self.scored(experiment) >= number

        await until(has, f'{number} runs are scored', server)

    async def wait_over(self, experiment: str) -> Any:
        stored: Any = {}

        async def is_over() -> bool:
            stored.update(await self.read(f'experiments/{experiment}'))
            return stored['state'] in ('done', 'cancelled', 'failed')

        await until(is_over, f'{experiment} is over')
        return stored

    async def begin(self, file: ExperimentFile) -> str:
        """Save the cases of an experiment, start it, and return its id."""
        cases = [dump(case) for case in file.cases]
        await self.post(f'datasets/{file.experiment.dataset}/versions', {'cases': cases})
        return str((await self.post('experiments', dump(file.experiment)))['id'])


@asynccontextmanager
async def api_of(process: Process) -> AsyncIterator[Api]:
    async with httpx.AsyncClient(base_url=f'{process.url}/api/v1/', timeout=30) as http:
        yield Api(http)
