"""A conductor with test agents, and a pattern with one worker."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from engine import Conductor, LocalConductor, Memory, Pattern
from engine.agents.chart import agent
from engine.journal import Journal
from engine.statechart.retry import Retry
from engine.tools.acp import ExternalAgents
from engine.tools.acp.known_agents import ExternalAgent
from tests.support.harness import FakeModel, catalog

ODD = Path(__file__).with_name('odd_agent.py')


def odd(behaviour: str, *options: str, **fields: Any) -> ExternalAgent:
    """An agent with one of the behaviors of `odd_agent`, by default outside the sandbox."""
    settings: dict[str, Any] = {'sandboxed': False, 'start': 30.0, 'idle': 60.0, **fields}
    if settings['sandboxed']:
        settings['reads'] = (str(ODD.parent),)
    return ExternalAgent(name='odd', command=sys.executable, args=(str(ODD), behaviour, *options), **settings)


class Kept(Memory):
    said: str = ''
    problem: str = ''


def lone(**options: Any) -> type[Pattern]:
    """A pattern with one agent, `at_work`, whose answer is stored."""

    class Lone(Pattern):
        """One agent at work."""

        Memory = Kept
        initial = 'at_work'
        answer = 'said'
        states = [
            agent('at_work', 'worker', then='keep', **{'retry': Retry(attempts=1), **options}),
            {'name': 'fine', 'final': True},
            {'name': 'broken', 'final': True, 'outcome': 'failed'},
        ]
        transitions = [
            ['done', 'at_work', 'fine'],
            {'trigger': 'failed', 'source': 'at_work', 'dest': 'broken', 'before': 'note'},
            ['expired', 'at_work', 'broken'],
        ]

        def prompt_at_work(self, memory: Any) -> str:
            return 'Do the work.'

        def keep(self, memory: Any, event: Any) -> None:
            memory.said = str(event.data['text'])

        def note(self, memory: Any, event: Any) -> None:
            memory.problem = str(event.data.get('error', ''))

    return Lone


@asynccontextmanager
async def conductor_with(
    external_agent: ExternalAgent,
    pattern: type[Pattern] | None = None,
    journal: Journal | None = None,
    **options: Any,
) -> AsyncIterator[Conductor]:
    """A conductor that knows one agent, `agent:<its name>`."""
    own_catalog = catalog(FakeModel('from the model'), pattern or lone())
    own_catalog.agents = ExternalAgents({external_agent.name: external_agent})
    own_catalog.registry.agents = own_catalog.agents
    async with LocalConductor(journal, catalog=own_catalog, **options) as conductor:
        yield conductor


BY_ODD = {'': 'agent:odd'}
