"""Datasets on a server: large ones are sent as a file, which has no limit but that of a dataset."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import quote

from engine.operations import Datasets
from engine.operations.experiments import Case, DatasetInfo
from engine.operations.experiments.datasets import write_lines
from ui.api.client.connection import Connection
from ui.api.client.derived import remote
from ui.api.wire import decode

MAX_BODY = 1 << 20
"""Size of cases from which on they are sent as a file: a server reads that while it does other things."""


def remote_datasets(connection: Connection) -> Datasets:
    """Return the datasets of the server at the other end of a connection."""
    derived = remote(Datasets, connection)

    async def save(dataset: str, cases: Sequence[Case], *, note: str = '') -> DatasetInfo:
        lines = await asyncio.to_thread(write_lines, cases)
        if len(lines) <= MAX_BODY:
            return await derived.save(dataset, cases, note=note)
        path = f'datasets/{quote(dataset, safe="")}/uploads'
        kind = {'Content-Type': 'application/octet-stream'}
        answer = await connection.ask(
            'POST', path, safe=True, content=lines, params={'note': note}, headers=kind
        )
        return decode(DatasetInfo, answer.json())

    return remote(Datasets, connection, save=save)
