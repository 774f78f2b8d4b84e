"""A pattern that enters its only state repeatedly: steps at a known rate, for streams to follow."""

from __future__ import annotations

from pathlib import Path

SOURCE = '''
"""Ticks."""

import asyncio

from engine import Memory, Pattern


class Ticking(Pattern):
    """Enters a state again and again."""

    class Memory(Memory):
        count: int = 0

    initial = 'working'
    states = [{'name': 'working', 'invoke': 'work'}, {'name': 'over', 'final': True}]
    transitions = [
        {'trigger': 'done', 'source': 'working', 'dest': 'over', 'conditions': 'is_enough'},
        {'trigger': 'done', 'source': 'working', 'dest': 'working', 'after': 'count_up'},
        {'trigger': 'failed', 'source': 'working', 'dest': 'over'},
    ]

    def is_enough(self, memory, event):
        return memory.count >= TICKS

    def count_up(self, memory, event):
        memory.count += 1

    async def work(self, memory, activity):
        await asyncio.sleep(SECONDS)
'''


def write_ticking(folder: Path, *, ticks: int, seconds: float) -> Path:
    """Write the pattern `ticking` into a new folder `patterns`, and return that.

    Args:
        folder: where the new folder is made.
        ticks: the number of further entries.
        seconds: the duration of each.
    """
    patterns = folder / 'patterns'
    patterns.mkdir()
    (patterns / 'ticking.py').write_text(f'{SOURCE}\n\nTICKS, SECONDS = {ticks}, {seconds}\n')
    return patterns
