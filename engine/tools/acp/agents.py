"""ExternalAgents: the known agents, which of them are installed, and a test of each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.errors import ModelError
from engine.models.protocol import ModelEvent, ModelRequest
from engine.models.secret_filter import SecretFilter, secret_filter
from engine.records.run_info import Approvals
from engine.tools.acp.known_agents import KNOWN_AGENTS, ExternalAgent
from engine.tools.acp.process import AgentPlace, find_program, hidden_values, passed_variables
from engine.workspace.object_store import ObjectStore
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.workspace import Workspace
from engine.workspace.workspaces import sandbox_uid

AGENT_PREFIX = 'agent:'
"""The prefix of an agent's name in place of a model's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHealth:
    """The result of a test."""

    agent: str
    problem: str = ''
    introduction: str = ''
    """How it introduces itself, and what it can do."""
    at: float = 0.0
    """When it was tested, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalAgentInfo:
    """An external agent as shown to people; contains no secrets."""

    name: str
    title: str
    command: str
    """The program and its arguments."""
    problem: str = ''
    """Why it cannot be used, or ''."""
    install: str = ''
    """How to install it, if it is not."""
    sandboxed: bool = True
    keys: tuple[str, ...] = ()
    """The names of the variables it sees."""
    network: bool = True
    simulated: bool = False
    approvals: str = 'marked'
    asks_nobody: bool = False
    tested: AgentHealth | None = None
    """Its last test."""

    @property
    def model(self) -> str:
        """Its name in place of a role's model."""
        return f'{AGENT_PREFIX}{self.name}'

    @property
    def reach(self) -> str:
        """What it may access, as sentences, shown before a run starts."""
        if self.simulated:
            return 'Simulated: the scripted model behind the protocol. No key, no network, free.'
        sees = f'It sees the variables {", ".join(self.keys)}.' if self.keys else 'It sees no keys.'
        net = 'It has network access.' if self.network or not self.sandboxed else 'It has no network access.'
        files = (
            'It runs in the sandbox and can change only files in its own folder.'
            if self.sandboxed
            else 'It runs without a sandbox: it can read and change whatever you can.'
        )
        asks = 'It asks nobody before it acts. ' if self.asks_nobody else ''
        return f'{files} {asks}{sees} {net} It costs what its provider charges.'


class AgentModel:
    """An external agent in place of a role's model: it works only in an agent's states."""

    def __init__(self, agent: ExternalAgent) -> None:
        self.agent, self.simulated = agent, agent.simulated

    @property
    def problem(self) -> str:
        """Why it cannot be used, or ''."""
        try:
            find_program(self.agent)
        except ModelError as error:
            return str(error)
        return ''

    @property
    def reach(self) -> str:
        """What it may access, as sentences."""
        return _info(self.agent).reach

    def effort_problem(self, effort: str) -> str:
        """Return why an effort cannot be set: an agent chooses its own."""
        return 'an external agent decides how much it thinks: set that in its own settings'

    def approvals_problem(self, approvals: Approvals) -> str:
        """Return why it cannot ask for a run's approvals, and what to choose instead, or ''."""
        if not self.agent.asks_nobody or self.agent.approvals_for(approvals) != 'all':
            return ''
        return (
            'in the sandbox it cannot ask before each file and command: choose `marked` or `none`, so that '
            f'it works there without asking, or `sandboxed = false` in [agents.{self.agent.name}]'
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Refuse: it is used through its own protocol. Raises `ModelError`."""
        raise ModelError(
            f'{AGENT_PREFIX}{self.agent.name} is an agent, not a model: it works on files in a folder and '
            'cannot answer a single question; give this role a model',
            kind='bad request',
        )
        yield


class ExternalAgents(Mapping[str, AgentModel]):
    """The external agents, by their names in place of a model, such as `agent:claude`.

    Args:
        configured: the agents of the configuration.
        missing: why a configured agent is unusable; for example, a variable is not set.
        off: names of known agents that the configuration turns off.
    """

    def __init__(
        self,
        configured: Mapping[str, ExternalAgent] | None = None,
        missing: Mapping[str, str] | None = None,
        off: frozenset[str] = frozenset(),
    ) -> None:
        self._missing = dict(missing or {})
        hidden = off | set(self._missing)
        built_in = {name: agent for name, agent in KNOWN_AGENTS.items() if name not in hidden}
        self._agents = {**built_in, **(configured or {})}

    def __getitem__(self, name: str) -> AgentModel:
        if not name.startswith(AGENT_PREFIX):
            raise KeyError(name)
        return AgentModel(self._agents[name.removeprefix(AGENT_PREFIX)])

    def __iter__(self) -> Iterator[str]:
        return iter([f'{AGENT_PREFIX}{name}' for name in self._agents])

    def __len__(self) -> int:
        return len(self._agents)

    @cached_property
    def secret_filters(self) -> list[SecretFilter]:
        """Filters for the secrets given to the agents, read from the environment on first use."""
        secrets = [tuple(hidden_values(agent, os.environ)) for agent in self._agents.values()]
        return [secret_filter(values, ()) for values in secrets if values]

    def infos(self) -> list[ExternalAgentInfo]:
        """Return all agents, usable or not, without starting any."""
        infos = [_info(agent) for agent in self._agents.values()]
        infos += [
            ExternalAgentInfo(name=name, title=name, command='', problem=problem)
            for name, problem in self._missing.items()
        ]
        return infos

    async def test(self, name: str, sandbox: Sandbox) -> AgentHealth:
        """Start an agent in an empty folder, begin a session, and stop it. No prompt is sent: it is free."""
        from engine.tools.acp.session import AgentSession

        if name not in self._agents:
            return AgentHealth(agent=name, problem=self._missing.get(name, 'there is no such agent'))
        with tempfile.TemporaryDirectory(prefix='hemicycle-') as folder:
            place = Path(folder)
            os.chmod(folder, 0o755)
            owner = sandbox_uid(f'test/{name}')
            workspace = Workspace(place / 'work', ObjectStore(place / 'objects'), owner=owner)
            where = AgentPlace(
                workspace=workspace,
                sandbox=sandbox,
                home=place / 'home',
                cookie=f'test/{name}/{os.getpid()}',
            )
            session = AgentSession(self._agents[name], where)
            try:
                await session.start()
                return AgentHealth(agent=name, introduction=session.introduction)
            except ModelError as error:
                return AgentHealth(agent=name, problem=str(error))
            finally:
                await session.close()


def _info(agent: ExternalAgent) -> ExternalAgentInfo:
    problem = AgentModel(agent).problem
    return ExternalAgentInfo(
        name=agent.name,
        title=agent.title or agent.name,
        command=' '.join([Path(agent.command).name, *agent.args]),
        problem=problem.partition('; install it')[0],
        install=agent.install if problem else '',
        sandboxed=agent.sandboxed,
        keys=tuple(passed_variables(agent)),
        network=agent.network,
        simulated=agent.simulated,
        approvals=agent.approvals,
        asks_nobody=agent.asks_nobody,
    )
