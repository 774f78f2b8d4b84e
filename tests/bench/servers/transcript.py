"""A dashboard with one finished run of 2,000 messages, and the same messages as a bare page."""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncIterator
from html import escape
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from engine import Catalog, Conductor, LocalConductor, Memory, Pattern, Role
from engine.agents import RoleAssignment
from engine.agents.chart import agent
from engine.models.protocol import Completed, ModelEvent, ModelRequest, TextPiece
from engine.records import Usage
from storage import Settings, open_journal
from tests.bench.work import texts

TEXTS = texts(20)
SPEAKERS = tuple(Role(name=name, title=name, instructions='Talk.') for name in ('ann', 'bob'))


class Dialogue(Pattern):
    """Two agents that answer each other; each visit is a conversation of its own, as those of workers are."""

    class Parameters(BaseModel):
        messages: int = 2_000

    class Memory(Memory):
        messages: int = 0
        said: int = 0

    name = 'dialogue'
    initial = 'asking'
    states = [
        agent('asking', SPEAKERS, cast='speaker', prompt='ask', then='hear'),
        agent('answering', SPEAKERS, cast='speaker', prompt='ask', then='hear'),
        {'name': 'over', 'final': True},
    ]
    transitions = [
        ['done', 'asking', 'answering'],
        {'trigger': 'done', 'source': 'answering', 'dest': 'asking', 'unless': 'is_enough'},
        ['done', 'answering', 'over'],
    ]

    def speaker(self, memory: Any) -> RoleAssignment:
        """One after the other."""
        return RoleAssignment(role=SPEAKERS[memory.said % 2].name, visit=memory.said // 2 + 1)

    def ask(self, memory: Any) -> str:
        return 'Go on.'

    def hear(self, memory: Any, event: Any) -> None:
        memory.said += 1

    def is_enough(self, memory: Any, event: Any) -> bool:
        return bool(memory.said >= memory.messages)


def message(number: int) -> str:
    """A text with a list and some code, as models write."""
    text = TEXTS[number % len(TEXTS)]
    body = text[40 : 240 + number * 37 % 600]
    return f'Message {number}. **{text[:40]}**\n\n{body}\n\n- {text[:30]}\n- `{text[30:50]}`'


class Author:
    """Says one message after another."""

    name = 'scripted'
    simulated = True

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The next message, without delay."""
        yield TextPiece(text=message(next(self._numbers)))
        yield Completed(usage=Usage(input=100, output=200))


def main(folder: Path, port: int, messages: int) -> None:
    """Serve until a signal comes."""
    from nicegui import app

    from ui.server.serve import listen, run

    context: dict[str, Any] = {}

    async def open_conductor() -> Conductor:
        journal = await open_journal(Settings(database=folder / 'transcript.db'))
        catalog = Catalog(patterns={'dialogue': Dialogue}, models={'scripted': Author()})
        conductor = LocalConductor(journal, catalog=catalog)
        context['run'] = (await conductor.start('dialogue', {'messages': messages})).id
        await conductor.result(context['run'])
        return conductor

    @app.get('/bench')
    def bench() -> dict[str, Any]:
        """Which run it is."""
        return dict(context)

    @app.get('/bare')
    def bare() -> HTMLResponse:
        """The messages as paragraphs."""
        listed = ''.join(f'<p>{escape(message(number))}</p>' for number in range(1, messages + 1))
        return HTMLResponse(f'<!doctype html><meta charset="utf-8"><title>Bare</title>{listed}')

    with listen('127.0.0.1', port) as listening:
        run(listening, open_conductor, folder=folder, show=False)


if __name__ == '__main__':
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
