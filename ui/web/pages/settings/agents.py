"""External agents on the settings page: installation, access, and a test of each."""

from __future__ import annotations

from functools import partial

from typing_extensions import override

from engine.tools.acp import AgentHealth, ExternalAgentInfo
from ui.app.backend import Backend
from ui.formatting.values import count
from ui.web.components.copy_buttons import copy_text
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, text_link
from ui.web.pages.settings.card import CheckResult, TestCard
from ui.web.pages.shared.launching.samples import samples

REMEDY = 'Start it once in a terminal: it says what is missing, such as a login.'
RACE = 'race'
"""The pattern in which an agent is tried against the others."""


class ExternalAgentCards:
    """Cards of the installed agents, and a list of the others with their install commands."""

    def __init__(self, backend: Backend) -> None:
        """Draw the cards; no agent is started."""
        self._backend = backend
        Text('h2', 'Coding agents', id='agents')
        Text(
            'p',
            'They speak the Agent Client Protocol. Use one wherever a role takes a model: agent:claude.',
            'muted',
        )
        infos = backend().catalog.agents.infos()
        with Box('endpoints even', 'ul'):
            self._cards = {info.name: AgentCard(backend, info) for info in infos if not info.install}
        missing = [info for info in infos if info.install]
        if missing:
            Text('h3', 'Not installed')
            with Box('missing-agents', 'ul'):
                for info in missing:
                    with Box(tag='li'):
                        Text('b', info.title)
                        Text('code', info.install)
                        if not info.install.startswith('see '):
                            copy = button('Copy', icon='content_copy', kind='small quiet')
                            set_attributes(copy, aria_label=f'Copy the command that installs {info.title}')
                            copy.on('click', partial(copy_text, info.install))

    async def load(self) -> None:
        """Show the last test of each."""
        for info in await self._backend().agents.list():
            if info.tested and (card := self._cards.get(info.name)):
                card.show_last(info.tested)


class AgentCard(TestCard[AgentHealth]):
    """One agent; its test starts it in an empty folder and opens a session without a prompt."""

    def __init__(self, backend: Backend, info: ExternalAgentInfo) -> None:
        self._backend = backend
        runs = 'in the sandbox' if info.sandboxed else 'without a sandbox'
        facts = {'Model name': info.model, 'Program': info.command, 'Runs': runs, 'Access': info.reach}
        super().__init__(info.name, facts, info.problem)
        if not info.problem and (path := _race(backend, info)):
            with self.head:
                text_link(
                    path, 'Try in a race', 'btn small', icon='flag', aria_label=f'Try in a race: {info.title}'
                )
        summary = count(len(info.keys), 'environment variable') if info.keys else 'No environment variables'
        self.show_list(summary, info.keys)

    async def run_test(self) -> AgentHealth:
        """Open a session."""
        return await self._backend().agents.test(self.name)

    @override
    def evaluate(self, health: AgentHealth) -> CheckResult:
        if health.problem:
            detail = health.problem.removeprefix(f'{self.name}: ')
            return CheckResult(ok=False, detail=detail, hint=REMEDY, at=health.at)
        return CheckResult(ok=True, detail=health.introduction, at=health.at)


def _race(backend: Backend, info: ExternalAgentInfo) -> str:
    """Return the address of a form that lets this agent race; '' if there is no race here."""
    pattern = backend().catalog.find(RACE)
    sample = next((sample for sample in samples(pattern) if sample.models), None) if pattern else None
    return f'/launch/{RACE}?model={info.model}&sample={sample.name}' if sample else ''
