"""A dashboard with one run of 10,000 steps: two parallel writers, and a reviewer who sends work back."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from engine import Catalog, Conductor, LocalConductor, Memory, Pattern, Role
from engine.agents import RoleAssignment
from engine.agents.chart import agent
from engine.models.protocol import ArgumentPiece, CallStarted, Completed, ModelEvent, ModelRequest, TextPiece
from engine.records import Usage
from engine.tools.builtin.research.calculator import calculator
from storage import Settings, open_journal
from tests.bench.work import texts
from ui.server.tuning import tune

TEXTS = texts(20)
ROLES = tuple(Role(name=name, title=name, instructions='Work.') for name in ('ann', 'bob'))


class Verdict(BaseModel):
    """The result of a review."""

    approved: bool


class Said(BaseModel):
    """A message."""

    model_config = ConfigDict(frozen=True)

    sender: str
    recipient: str
    type: str
    content: str


class Rounds(Pattern):
    """Two agents draft in parallel, each with a tool; a reviewer sends work back for a number of rounds."""

    class Parameters(BaseModel):
        rounds: int = 830

    class Memory(Memory):
        rounds: int = 0
        round: int = 0
        draft: str = ''
        messages: list[Said] = []

    name = 'rounds'
    initial = 'drafting'
    panels = {'messages': 'messages'}
    states = [
        {
            'name': 'drafting',
            'parallel': [
                agent(name, ROLES, cast='writer', prompt='ask', then='keep', tools=('calculator',))
                for name in ('left', 'right')
            ],
        },
        agent('reviewing', ROLES, cast='reader', prompt='ask', output=Verdict),
        {'name': 'over', 'final': True},
    ]
    transitions = [
        ['done', 'drafting', 'reviewing'],
        {
            'trigger': 'done',
            'source': 'reviewing',
            'dest': 'drafting',
            'unless': 'is_enough',
            'after': 'count',
        },
        ['done', 'reviewing', 'over'],
    ]

    def writer(self, memory: Any) -> RoleAssignment:
        """Each visit is a conversation of its own."""
        return RoleAssignment(role='ann', visit=memory.round + 1)

    def reader(self, memory: Any) -> RoleAssignment:
        """The other one."""
        return RoleAssignment(role='bob', visit=memory.round + 1)

    def ask(self, memory: Any) -> str:
        return f'Round {memory.round}.'

    def keep(self, memory: Any, event: Any) -> None:
        memory.draft = event.data['text']
        message = Said(sender='ann', recipient='bob', type='draft', content=event.data['text'][:80])
        memory.messages.append(message)

    def count(self, memory: Any, event: Any) -> None:
        memory.round += 1

    def is_enough(self, memory: Any, event: Any) -> bool:
        return bool(memory.round + 1 >= memory.rounds)


class Author:
    """Calls a tool first, then says something; approves nothing."""

    name = 'scripted'
    simulated = True

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """A reply at once."""
        if request.schema:
            yield TextPiece(text='{"approved": false}')
        elif request.hints.turn == 0:
            yield CallStarted(index=0, name='calculator')
            yield ArgumentPiece(index=0, text='{"expression": "6*7"}')
        else:
            yield TextPiece(text=TEXTS[request.hints.visit % len(TEXTS)])
        yield Completed(usage=Usage(input=100, output=200))


def main(folder: Path, port: int, rounds: int) -> None:
    """Serve until a signal comes."""
    from nicegui import app

    from ui.server.serve import listen, run

    tune()
    context: dict[str, Any] = {}

    async def open_conductor() -> Conductor:
        journal = await open_journal(Settings(database=folder / 'debugger.db'))
        catalog = Catalog(
            patterns={'rounds': Rounds}, models={'scripted': Author()}, tools={'calculator': calculator}
        )
        conductor = LocalConductor(journal, catalog=catalog)
        for name, many in (('short', 3), ('run', rounds)):
            context[name] = (await conductor.start('rounds', {'rounds': many})).id
            await conductor.result(context[name])
            context[f'{name}_steps'] = (await conductor.info(context[name])).seq
        context['conductor'] = conductor
        return conductor

    @app.get('/bench')
    def bench() -> dict[str, Any]:
        """The runs: the long one, and one to compare with."""
        return {name: value for name, value in context.items() if name != 'conductor'}

    @app.get('/bench/fork')
    async def fork(at: int) -> dict[str, Any]:
        """How long a fork takes, in milliseconds; its further work is stopped immediately."""
        conductor: Conductor = context['conductor']
        begun = time.perf_counter()
        fork = await conductor.fork(context['run'], at)
        spent = (time.perf_counter() - begun) * 1e3
        await conductor.cancel(fork)
        return {'ms': spent}

    with listen('127.0.0.1', port) as listening:
        run(listening, open_conductor, folder=folder, show=False)


if __name__ == '__main__':
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
