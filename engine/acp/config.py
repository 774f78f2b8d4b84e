"""The configuration of external agents: `[agents.<name>]`, over the defaults of known agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from engine.acp.known_agents import KNOWN_AGENTS, SCRIPTED, ExternalAgent
from engine.records.run_info import Approvals

RESERVED = (
    'this is the name of the agent that comes with Hemicycle: choose another, as in [agents.{name}-of-mine]'
)


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
        env = secrets(self.env)
        hidden = {value for key, value in env.items() if value != self.env[key] and len(value) >= 6}
        base = KNOWN_AGENTS.get(name) or ExternalAgent(name=name, command=self.command)
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
