"""External agents on the settings page: installation, access, and a test of each."""

from __future__ import annotations

from typing_extensions import override

from engine.acp import AgentHealth, ExternalAgentInfo
from ui.app.backend import Backend
from ui.formatting.values import count
from ui.web.components.widgets import Box, Text
from ui.web.pages.settings.card import CheckResult, TestCard


class ExternalAgentCards:
    """Cards of the installed agents, and a list of the others with their install commands."""

    def __init__(self, backend: Backend) -> None:
        """Draw the cards; no agent is started."""
        Text('h2', 'Coding agents', id='agents')
        Text(
            'p',
            'They speak the Agent Client Protocol. Use one wherever a role takes a model: agent:claude.',
            'muted',
        )
        infos = backend().catalog.agents.infos()
        with Box('endpoints even', 'ul'):
            for info in infos:
                if not info.install:
                    AgentCard(backend, info)
        missing = [info for info in infos if info.install]
        if missing:
            Text('h3', 'Not installed')
            with Box('missing-agents', 'ul'):
                for info in missing:
                    with Box(tag='li'):
                        Text('b', info.title)
                        Text('span', ': ')
                        Text('code', info.install)


class AgentCard(TestCard[AgentHealth]):
    """One agent; its test starts it in an empty folder and opens a session without a prompt."""

    def __init__(self, backend: Backend, info: ExternalAgentInfo) -> None:
        self._backend = backend
        runs = 'in the sandbox' if info.sandboxed else 'without a sandbox'
        facts = {'Model name': info.model, 'Program': info.command, 'Runs': runs, 'Access': info.reach}
        super().__init__(info.name, facts, info.problem)
        summary = count(len(info.keys), 'environment variable') if info.keys else 'No environment variables'
        self.show_list(summary, info.keys)

    async def run_test(self) -> AgentHealth:
        """Open a session."""
        return await self._backend().agents.test(self.name)

    @override
    def evaluate(self, health: AgentHealth) -> CheckResult:
        if health.problem:
            return CheckResult(ok=False, detail=health.problem.removeprefix(f'{self.name}: '))
        return CheckResult(ok=True, detail=health.introduction)
