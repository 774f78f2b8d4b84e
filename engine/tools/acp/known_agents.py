"""External agents: the known ones and those of `[agents.<name>]`, with what each may access."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import resolve_name
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from engine.records.run_info import Approvals

SCRIPTED = 'scripted'
"""The agent that comes with Hemicycle."""
RESERVED_PROBLEM = (
    'this is the name of the agent that comes with Hemicycle: choose another, as in [agents.{name}-of-mine]'
)
PROXIES = ('HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy')
PROVIDER_KEYS = (
    'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'GROQ_API_KEY',
    'MISTRAL_API_KEY', 'DEEPSEEK_API_KEY',
)  # fmt: skip


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
    """The protocol's sign-in method that uses a key from its variables; '' if it signs in by itself."""
    reads_files: bool = False
    """Whether it reads files by itself, in its sandbox if it has one, instead of through Hemicycle: it treats
    our answer about a missing file as a failure."""
    reports_usage: bool = False
    """Whether it reports the tokens of a whole turn; others report none, or those of the last call."""
    mode: str = ''
    """The agent's mode to work in; overrides `modes`."""
    modes: Mapping[Approvals, str] = field(default_factory=dict)
    """By setting of `approvals`: the mode in which it asks for these, and lets no model answer instead."""
    confines_itself: bool = False
    """Whether it asks only to leave a sandbox of its own, which cannot start inside ours."""
    approval_variables: Mapping[Approvals, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """The same for an agent controlled by variables, which must be set before it starts."""
    simulated: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def asks_nobody(self) -> bool:
        """Whether it works in our sandbox in place of its own, so that it has nothing to ask about."""
        return self.confines_itself and self.sandboxed and not self.mode

    def approvals_for(self, run: Approvals) -> Approvals:
        """Return what waits for a person, given the run's setting: unless it says otherwise, the agent's."""
        return self.approvals if run == 'marked' else run

    def mode_for(self, approvals: Approvals) -> str:
        """Return the agent's mode to work in; '' keeps the one it starts in.

        The mode in which it asks for nothing is set only in a sandbox: elsewhere only its own limits apply.
        """
        if self.mode or (approvals == 'none' and not self.sandboxed):
            return self.mode
        return self.modes.get('none' if self.asks_nobody and approvals == 'marked' else approvals, '')


KNOWN_AGENTS: Mapping[str, ExternalAgent] = {agent.name: agent for agent in (
    ExternalAgent(
        name=SCRIPTED,
        title='Scripted agent',
        command=sys.executable,
        args=('-m', resolve_name('...models.scripted.agent', __package__)),
        variables=('HEMICYCLE_PACE',),
        network=False,
        simulated=True,
    ),
    ExternalAgent(
        name='claude',
        title='Claude Code',
        command='claude-agent-acp',
        variables=('ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_MODEL',
                   'CLAUDE_CODE_OAUTH_TOKEN', *PROXIES),
        files=('.claude/.credentials.json',),
        install='npm install -g @agentclientprotocol/claude-agent-acp',
        reports_usage=True,
        modes={'marked': 'default', 'all': 'default', 'none': 'default'},
    ),
    ExternalAgent(
        name='codex',
        title='Codex',
        command='codex-acp',
        variables=('OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_CONFIG', 'OPENAI_BASE_URL', *PROXIES),
        files=('.codex/auth.json', '.codex/config.toml'),
        install='npm install -g @agentclientprotocol/codex-acp @openai/codex',
        login='api-key',
        reports_usage=True,
        modes={'marked': 'workspace-write', 'all': 'read-only', 'none': 'agent-full-access'},
        confines_itself=True,
    ),
    ExternalAgent(
        name='gemini',
        title='Gemini CLI',
        command='gemini',
        args=('--acp',),
        variables=('GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_GEMINI_BASE_URL',
                   *PROXIES),
        files=('.gemini/oauth_creds.json', '.gemini/settings.json'),
        install='npm install -g @google/gemini-cli',
        reports_usage=True,
        reads_files=True,
        modes={'marked': 'default', 'all': 'default'},
    ),
    ExternalAgent(
        name='opencode',
        title='OpenCode',
        command='opencode',
        args=('acp',),
        variables=(*PROVIDER_KEYS, *PROXIES),
        files=('.local/share/opencode/auth.json', '.config/opencode/opencode.json'),
        install='npm install -g opencode-ai',
        approval_variables={'all': {'OPENCODE_PERMISSION': '{"edit": "ask", "bash": "ask"}'}},
    ),
    ExternalAgent(
        name='openhands',
        title='OpenHands',
        command='openhands',
        args=('acp',),
        variables=('LLM_API_KEY', 'LLM_MODEL', 'LLM_BASE_URL', *PROXIES),
        files=('.openhands/agent_settings.json',),
        install='uv tool install openhands --python 3.12',
        modes={'marked': 'always-ask', 'all': 'always-ask'},
    ),
    ExternalAgent(
        name='goose',
        title='Goose',
        command='goose',
        args=('acp',),
        variables=('GOOSE_PROVIDER', 'GOOSE_MODEL', *PROVIDER_KEYS, *PROXIES),
        files=('.config/goose/config.yaml', '.config/goose/secrets.yaml'),
        install='see https://block.github.io/goose',
        approval_variables={'marked': {'GOOSE_MODE': 'smart_approve'}, 'all': {'GOOSE_MODE': 'approve'}},
    ),
)}  # fmt: skip
"""By name, as in `agent:claude`."""


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
            return RESERVED_PROBLEM.format(name=name)
        if not self.command and name not in KNOWN_AGENTS:
            names = ', '.join(other for other in KNOWN_AGENTS if other != SCRIPTED)
            return f'command: required, since no agent of this name is known; known agents: {names}'
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
        settings: dict[str, Any] = {
            'command': self.command or None,
            'args': None if self.args is None else tuple(self.args),
            'variables': None if self.variables is None else tuple(self.variables),
            'files': None if self.files is None else tuple(self.files),
        }
        return replace(
            base,
            **{key: value for key, value in settings.items() if value is not None},
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
