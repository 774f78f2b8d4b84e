"""The API: launches per second, and how soon 200 streams get an event."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import mean, median, quantiles

import httpx

from tests.bench.servers.processes import free_port, server
from tests.bench.table import Row
from tests.support.charts.ticking import write_ticking

STREAMS = 200
TASK = {'task': 'Compare tea and coffee'}
TICKS = 60


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Launches one after another and eight at a time; then streams of one run."""
    tries = 40 if fast else 300
    patterns = write_ticking(folder, ticks=TICKS, seconds=0.1)
    bare, port = free_port(), free_port()
    script = ['-m', 'tests.bench.servers.insert', str(bare), str(folder / 'bare.db')]
    with server(script, f'http://127.0.0.1:{bare}/', folder):
        base, many = await _time_launches(f'http://127.0.0.1:{bare}', tries)
    served = ['-m', 'ui', 'serve', '--port', str(port), '--database', str(folder / 'runs.db')]
    url = f'http://127.0.0.1:{port}'
    with server([*served, '--patterns', str(patterns)], f'{url}/', folder):
        ours, at_once = await _time_launches(f'{url}/api/v1', tries)
        yield Row(
            name='launch over HTTP, p50',
            value=median(ours) * 1e3,
            unit='ms',
            base=median(base) * 1e3,
            against='bare FastAPI insert',
            details={'p95': _p95(ours) * 1e3, 'bare p95': _p95(base) * 1e3},
        )
        yield Row(
            name='launches per second, 8 at a time',
            value=at_once,
            unit='/s',
            base=many,
            against='bare insert',
        )
        streams = 20 if fast else STREAMS
        alone = await _time_unwatched(url)
        late, watched = await _time_streams(url, streams)
        yield Row(
            name=f'event to each of {streams} streams, median',
            value=median(late) * 1e3,
            unit='ms',
            details={'p95': _p95(late) * 1e3},
        )
        yield Row(
            name=f'a step of a run with {streams} streams',
            value=watched * 1e3,
            unit='ms',
            base=alone * 1e3,
            against='with none',
        )


async def _time_launches(url: str, tries: int) -> tuple[list[float], float]:
    """Seconds of each launch, one after another; and launches a second, eight at a time."""
    body = {'pattern': 'pipeline', 'parameters': TASK, 'paused': True}
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:

        async def launch() -> float:
            begun = time.perf_counter()
            (await http.post('/runs', json=body)).raise_for_status()
            return time.perf_counter() - begun

        for _ in range(10):
            await launch()
        launches = [await launch() for _ in range(tries)]

        async def some() -> None:
            for _ in range(tries // 8):
                await launch()

        begun = time.perf_counter()
        await asyncio.gather(*(some() for _ in range(8)))
        return launches, tries // 8 * 8 / (time.perf_counter() - begun)


async def _time_streams(url: str, streams: int) -> tuple[list[float], float]:
    """Seconds from a step's time until each stream has it; and the seconds between steps."""
    late: list[float] = []
    async with httpx.AsyncClient(base_url=f'{url}/api/v1', timeout=60) as http:
        run = (await http.post('/runs', json={'pattern': 'ticking'})).json()['id']
        host, port = url.removeprefix('http://').split(':')
        await asyncio.gather(*(_read(host, int(port), run, late) for _ in range(streams)))
        return late, await _pace(http, run)


async def _read(host: str, port: int, run: str, late: list[float]) -> None:
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 22)
    writer.write(f'GET /api/v1/runs/{run}/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n'.encode())
    opened = time.time()
    while line := await reader.readline():
        if line.startswith(b'data:') and b'"time":"' in line:
            timestamp = line.partition(b'"time":"')[2].partition(b'"')[0].decode()
            moment = datetime.fromisoformat(f'{timestamp[:26].rstrip("Z")}+00:00').timestamp()
            if moment > opened:
                late.append(time.time() - moment)
        if line.startswith(b'event: end'):
            break
    writer.close()


async def _time_unwatched(url: str) -> float:
    """The seconds between steps of a run that nobody watches."""
    async with httpx.AsyncClient(base_url=f'{url}/api/v1', timeout=90) as http:
        run = (await http.post('/runs', json={'pattern': 'ticking'})).json()['id']
        (await http.get(f'/runs/{run}/result', params={'wait': 60})).raise_for_status()
        return await _pace(http, run)


async def _pace(http: httpx.AsyncClient, run: str) -> float:
    steps = (await http.get(f'/runs/{run}/steps', params={'limit': 500})).json()['items']
    moments = [datetime.fromisoformat(f'{step["time"][:26].rstrip("Z")}+00:00').timestamp() for step in steps]
    return mean(later - earlier for earlier, later in pairwise(moments))


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]
