"""The configuration of external agents: `[agents.<name>]`, over the defaults of known agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from engine.acp.known_agents import KNOWN_AGENTS, SCRIPTED
from engine.records.run_info import Approvals

RESERVED = (
    'this is the name of the agent that comes with Hemicycle: choose another, as in [agents.{name}-of-mine]'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalAgent:
    """A program that speaks the protocol, and what it may access. Its secrets are not shown."""

    name: str
    title: str = ''
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Its own variables, with their values."""
    variables: tuple[str, ...] = ()
    """Variables of this process's environment that are passed on if set."""
    sandboxed: bool = True
    """Whether it sees only its folder, the system and its own program, or everything that this user may."""
    network: bool = True
    """Whether it has network access; without a sandbox it always has."""
    approvals: Approvals = 'marked'
    """What waits for a person: what the agent asks about (`marked`), this plus each file it writes and each
    command it runs through Hemicycle (`all`), or nothing (`none`)."""
    files: tuple[str, ...] = ()
    """Files of the user's home that are copied into its home in the sandbox, such as a stored login."""
    reads: tuple[str, ...] = ()
    """Additional folders of this machine that it may read in the sandbox."""
    start: float = 60.0
    """Maximum seconds until it has begun a session."""
    idle: float = 900.0
    """Maximum seconds of silence during a turn; after that the turn fails."""
    patience: float = 60.0
    """Maximum seconds to wait for a provider's limit to end; if it takes longer, the turn fails."""
    install: str = ''
    """How to install it, as a command or an address; '' is unknown."""
    login: str = ''
    """The method to sign in with a key from its variables, if it asks for that (`KnownAgent.login`)."""
    reads_files: bool = False
    """Whether it reads files by itself, in its sandbox if it has one, instead of through Hemicycle."""
    reports_usage: bool = False
    """Whether it reports the tokens of a whole turn at its end (`KnownAgent.reports_usage`)."""
    mode: str = ''
    """The agent's mode to work in; overrides `modes`."""
    modes: Mapping[Approvals, str] = field(default_factory=dict)
    """The mode in which it asks for the approvals, by setting of `approvals` (`KnownAgent.modes`)."""
    approval_variables: Mapping[Approvals, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """Variables that make it ask for the approvals, by setting of `approvals`."""
    simulated: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def mode_for(self, approvals: Approvals) -> str:
        """Return the agent's mode to work in; '' keeps the one it starts in.

        The mode in which it asks for nothing is set only in a sandbox: elsewhere only its own limits apply.
        """
        if self.mode or (approvals == 'none' and not self.sandboxed):
            return self.mode
        return self.modes.get(approvals, '')


class AgentSection(BaseModel):
    """`[agents.<name>]` of the configuration: a program to start; for a known agent, only the differences."""

    model_config = ConfigDict(extra='forbid')

    command: str = ''
    args: list[str] | None = None
    env: dict[str, str] = {}
    """Values may be `env:NAME` or `keyring:SERVICE/USER`."""
    variables: list[str] | None = None
    sandboxed: bool = True
    network: bool = True
    approvals: Approvals = 'marked'
    files: list[str] | None = None
    reads: list[str] = []
    mode: str = ''
    start: float = Field(60.0, gt=0)
    idle: float = Field(900.0, gt=0)
    patience: float = Field(60.0, ge=0, le=7 * 86_400)
    off: bool = False

    def find_problem(self, name: str) -> str:
        """Return the error, which starts with the field's name, or ''."""
        if name == SCRIPTED:
            return RESERVED.format(name=name)
        if not self.command and name not in KNOWN_AGENTS:
            known = ', '.join(other for other in KNOWN_AGENTS if other != SCRIPTED)
            return f'command: required, since no agent of this name is known; known agents: {known}'
        for path in self.files or ():
            if path.startswith('/') or '..' in path.split('/'):
                return f'files: {path!r} must be a path inside your home folder, as in ".tool/login.json"'
        if not self.sandboxed and (self.files or self.reads):
            setting = 'files' if self.files else 'reads'
            return f'{setting}: without a sandbox it sees your own files'
        if not self.sandboxed and not self.network:
            return 'network: only a sandbox can block it'
        return ''

    def agent(self, name: str, secrets: Callable[[Mapping[str, str]], dict[str, str]]) -> ExternalAgent:
        """Build the agent; `secrets` looks up referenced values."""
        known = KNOWN_AGENTS.get(name)
        env = secrets(self.env)
        hidden = {value for key, value in env.items() if value != self.env[key] and len(value) >= 6}
        base = ExternalAgent(name=name, command=self.command) if known is None else known_agent(name)
        given: dict[str, Any] = {
            'command': self.command or None,
            'args': None if self.args is None else tuple(self.args),
            'variables': None if self.variables is None else tuple(self.variables),
            'files': None if self.files is None else tuple(self.files),
        }
        return replace(
            base,
            **{key: value for key, value in given.items() if value is not None},
            env=env,
            sandboxed=self.sandboxed,
            network=self.network,
            approvals=self.approvals,
            reads=tuple(self.reads),
            mode=self.mode,
            start=self.start,
            idle=self.idle,
            patience=self.patience,
            secrets=tuple(sorted(hidden, key=len, reverse=True)),
        )


def known_agent(name: str) -> ExternalAgent:
    """Return a known agent with its default configuration."""
    known = KNOWN_AGENTS[name]
    return ExternalAgent(
        name=name,
        title=known.title,
        command=known.command,
        args=known.args,
        variables=known.variables,
        network=name != SCRIPTED,
        files=known.files,
        install=known.install,
        login=known.login,
        reads_files=known.reads_files,
        reports_usage=known.reports_usage,
        modes=known.modes,
        approval_variables=known.approval_variables,
        simulated=name == SCRIPTED,
    )
