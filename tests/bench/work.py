"""The measured work: patterns that take one text per step, the texts, a conductor with a real journal."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from engine import Catalog, Conductor, Event, LocalConductor, Memory, Pattern
from storage import Settings, open_journal

WORDS = (  # noqa: SIM905  (one word a line is no list to read)
    'the of and to in is that it for was on are with as be at this have from by not but what all were when we'
    ' there can an your which their said if will each about how up out them then many some would other into'
    ' has more two like time could no make than first been its who now people my made over did down only way'
    ' find use may water long little very after called just where most know energy storage report measure'
    ' evidence review analysis question answer because between number result however therefore estimate cost'
    ' market policy growth system model agent claim source study found suggests compared percent increase'
    ' during several years important different example further process state research conclusion finally'
).split()
SIZE = 1_024
"""Characters of text a step."""


def texts(count: int, seed: int = 0) -> list[str]:
    """Texts of `SIZE` characters, as compressible as English is."""
    chance = random.Random(seed)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(WORDS) + 1)))

    def one() -> str:
        words: list[str] = []
        length = 0
        for word in chance.choices(WORDS, cum_weights=weights, k=SIZE // 2):
            if length >= SIZE:
                break
            number = f'{chance.choice("aeiou")}{chance.randint(0, 999)}' if chance.random() < 0.12 else ''
            words.append(f'{word}{number}{"." if chance.random() < 0.08 else ""}')
            length += len(words[-1]) + 1
        return ' '.join(words)[:SIZE]

    return [one() for _ in range(count)]


class Bounded(Pattern):
    """Keeps only the newest text: memory has a constant size."""

    name = 'bounded'

    class Memory(Memory):
        count: int = 0
        text: str = ''

    initial = 'here'
    states = ['here', 'there', {'name': 'over', 'final': True}]
    transitions = [
        {'trigger': 'go', 'source': 'here', 'dest': 'there', 'conditions': 'is_text', 'after': 'keep'},
        {'trigger': 'go', 'source': 'there', 'dest': 'here', 'conditions': 'is_text', 'after': 'keep'},
        ['stop', '*', 'over'],
    ]

    def is_text(self, memory: Any, event: Event) -> bool:
        return bool(event.data.get('text'))

    def keep(self, memory: Any, event: Event) -> None:
        memory.count += 1
        memory.text = event.data['text']


class Growing(Bounded):
    """Keeps every text: memory grows with each step."""

    name = 'growing'

    class Memory(Memory):
        texts: list[str] = []

    def keep(self, memory: Any, event: Event) -> None:
        memory.texts.append(event.data['text'])


@asynccontextmanager
async def working(
    database: Path, synchronous: Literal['normal', 'full'] = 'normal'
) -> AsyncIterator[Conductor]:
    """A conductor of these patterns on its own journal."""
    catalog = Catalog(patterns={pattern.name: pattern for pattern in (Bounded, Growing)})
    journal = await open_journal(Settings(database=database, synchronous=synchronous))
    async with LocalConductor(journal, catalog=catalog) as conductor:
        yield conductor
