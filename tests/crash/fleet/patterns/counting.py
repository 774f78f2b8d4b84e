"""Patterns for tests of a fleet: each call records its start and end."""

import asyncio
import os
import time

from pydantic import BaseModel, Field

from engine import Memory, Pattern

STATES = (
    {'name': 'working', 'invoke': 'work'},
    {'name': 'ended', 'final': True},
    {'name': 'broken', 'final': True, 'outcome': 'failed'},
)


def say(what, activity, step, calls):
    line = f'{what} {activity.run.id} {step} {os.getpid()} {time.time():.4f}\n'
    file = os.open(calls, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)


class Counting(Pattern):
    """Takes a number of steps, each with one call."""

    class Parameters(BaseModel):
        calls: str
        steps: int = Field(20, ge=1)
        pause: float = 0.05

    class Memory(Memory):
        calls: str = ''
        steps: int = 0
        pause: float = 0.0
        taken: int = 0

    initial = 'working'
    answer = 'taken'
    states = STATES
    transitions = (
        {'trigger': 'done', 'source': 'working', 'dest': 'ended', 'conditions': 'is_last', 'after': 'count'},
        {'trigger': 'done', 'source': 'working', 'dest': 'working', 'after': 'count'},
        ['failed', 'working', 'broken'],
    )

    def is_last(self, memory, event):
        return memory.taken + 1 >= memory.steps

    def count(self, memory, event):
        memory.taken += 1

    async def work(self, memory, activity):
        step = memory.taken
        say('begin', activity, step, memory.calls)
        activity.stream(f'call {step}\n', 'text')
        await asyncio.sleep(memory.pause)
        say('end', activity, step, memory.calls)
        return {}


class Waiting(Pattern):
    """Waits for a person, then works once."""

    class Parameters(BaseModel):
        calls: str

    class Memory(Memory):
        calls: str = ''

    initial = 'asking'
    states = ({'name': 'asking', 'waits': 'a word'}, *STATES)
    transitions = (
        ['said', 'asking', 'working'],
        ['done', 'working', 'ended'],
        ['failed', 'working', 'broken'],
    )

    async def work(self, memory, activity):
        say('begin', activity, 0, memory.calls)
        say('end', activity, 0, memory.calls)
        return {}


class Timed(Pattern):
    """Waits for a person, but not for long."""

    initial = 'asking'
    states = ({'name': 'asking', 'waits': 'a word', 'within': 8}, {'name': 'ended', 'final': True})
    transitions = (['said', 'asking', 'ended'], ['expired', 'asking', 'ended'])
