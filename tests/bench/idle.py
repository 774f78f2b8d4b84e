"""The memory used by a run that waits for a person, measured in a separate process."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from engine import Catalog, Event, LocalConductor, Memory, Pattern
from storage import open_journal
from tests.bench.table import Row
from tests.bench.work import texts
from tests.tree import ROOT


class Asking(Pattern):
    """Has read a text, and waits for an answer."""

    class Memory(Memory):
        text: str = ''

    initial = 'reading'
    states = ['reading', {'name': 'asking', 'waits': 'approval'}, {'name': 'over', 'final': True}]
    transitions = [
        {'trigger': 'read', 'source': 'reading', 'dest': 'asking', 'after': 'keep'},
        ['answer', 'asking', 'over'],
    ]

    def keep(self, memory: Any, event: Event) -> None:
        memory.text = event.data['text']


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """A row for each number of runs."""
    for count in (50,) if fast else (1_000, 5_000):
        command = [sys.executable, '-m', 'tests.bench.idle', str(count)]
        done = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=True, capture_output=True)
        data = json.loads(done.stdout)
        yield Row(
            name=f'memory per idle run, of {count:,}',
            value=data['resident'] / count,
            unit='B',
            base=data['data'] / count,
            against="the run's data",
        )


async def weigh(count: int) -> dict[str, float]:
    """Bytes that `count` waiting runs add to the process, and the size of their data as JSON."""
    replies = texts(200)
    with tempfile.TemporaryDirectory(prefix='hemicycle-bench-') as folder:
        journal = await open_journal(Path(folder) / 'idle.db')
        async with LocalConductor(journal, catalog=Catalog(patterns={'asking': Asking})) as conductor:

            async def one(number: int) -> str:
                run = (await conductor.start('asking')).id
                # A separate text: in reality, no two runs share a string.
                await conductor.send(run, 'read', data={'text': f'{number} {replies[number % len(replies)]}'})
                return run

            first = await one(0)
            before = resident()
            for number in range(1, count + 1):
                await one(number)
            added = resident() - before
            view = await conductor.view(first)  # type: ignore[arg-type]
            data = len(json.dumps({'memory': view.memory, 'agents': view.agents}))
            return {'resident': added, 'data': data * count}


def resident() -> int:
    """The resident bytes of this process, after returning free memory to the system."""
    gc.collect()
    if sys.platform == 'linux':
        ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE')


if __name__ == '__main__':
    print(json.dumps(asyncio.run(weigh(int(sys.argv[1])))))
