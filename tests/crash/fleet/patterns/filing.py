"""A pattern for tests of a fleet: each call needs the files of all calls before it, and adds one."""

import asyncio

from pydantic import BaseModel, Field

from engine import Memory, Pattern


class Filing(Pattern):
    """Writes a number of files, one with each call."""

    class Parameters(BaseModel):
        steps: int = Field(20, ge=1)
        pause: float = 0.05

    class Memory(Memory):
        steps: int = 0
        pause: float = 0.0
        taken: int = 0
        artifact: str = ''

    initial = 'working'
    answer = 'taken'
    states = (
        {'name': 'working', 'invoke': 'work'},
        {'name': 'ended', 'final': True},
        {'name': 'broken', 'final': True, 'outcome': 'failed'},
    )
    transitions = (
        {'trigger': 'done', 'source': 'working', 'dest': 'ended', 'conditions': 'is_last', 'after': 'count'},
        {'trigger': 'done', 'source': 'working', 'dest': 'working', 'after': 'count'},
        ['failed', 'working', 'broken'],
    )

    def is_last(self, memory, event):
        return memory.taken + 1 >= memory.steps

    def count(self, memory, event):
        memory.taken += 1
        memory.artifact = event.data['artifact']

    async def work(self, memory, activity):
        workspace, step = activity.workspace('desk'), memory.taken
        names = [entry.path for entry in await workspace.entries()]
        missing = [name for number in range(step) if (name := f'{number:03}.txt') not in names]
        if missing:
            raise RuntimeError(f'gone: {missing}')
        if memory.artifact and await workspace.load(memory.artifact) != b'artifact %d' % (step - 1):
            raise RuntimeError('another artifact')
        await asyncio.sleep(memory.pause)
        await workspace.write(f'{step:03}.txt', b'file %d' % step)
        digest = await workspace.store(b'artifact %d' % step)
        return {'artifact': digest, 'snapshots': {'desk': await workspace.snapshot()}}
