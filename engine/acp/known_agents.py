"""Known agents: how each is started, which keys it reads, and how to install it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.records.run_info import Approvals

SCRIPTED = 'scripted'
"""The agent that comes with Hemicycle."""
PROXIES = ('HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy')
PROVIDER_KEYS = (
    'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'GROQ_API_KEY',
    'MISTRAL_API_KEY', 'DEEPSEEK_API_KEY',
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgent:
    """An agent that only needs to be installed."""

    title: str
    command: str
    args: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Files that signing in creates in the user's home."""
    install: str = ''
    login: str = ''
    """The protocol's sign-in method that uses a key from its variables; '' if it signs in by itself."""
    reads_files: bool = False
    """Whether it reads files by itself, because it treats our answer about a missing file as a failure."""
    reports_usage: bool = False
    """Whether it reports the tokens of a whole turn; others report none, or those of the last call."""
    modes: Mapping[Approvals, str] = field(default_factory=dict)
    """By setting of `approvals`: the mode in which it asks for these, and lets no model answer instead."""
    approval_variables: Mapping[Approvals, Mapping[str, str]] = field(default_factory=dict)
    """The same for an agent controlled by variables, which must be set before it starts."""


KNOWN_AGENTS: Mapping[str, KnownAgent] = {
    SCRIPTED: KnownAgent(
        title='Scripted agent',
        command=sys.executable,
        args=('-m', f'{__package__.rpartition(".")[0]}.models.scripted.agent'),
        variables=('HEMICYCLE_PACE',),
    ),
    'claude': KnownAgent(
        title='Claude Code',
        command='claude-agent-acp',
        variables=('ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_MODEL',
                   'CLAUDE_CODE_OAUTH_TOKEN', *PROXIES),
        files=('.claude/.credentials.json',),
        install='npm install -g @agentclientprotocol/claude-agent-acp',
        reports_usage=True,
        modes={'marked': 'default', 'all': 'default', 'none': 'default'},
    ),
    'codex': KnownAgent(
        title='Codex',
        command='codex-acp',
        variables=('OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_CONFIG', 'OPENAI_BASE_URL', *PROXIES),
        files=('.codex/auth.json', '.codex/config.toml'),
        install='npm install -g @agentclientprotocol/codex-acp @openai/codex',
        login='api-key',
        reports_usage=True,
        modes={'marked': 'workspace-write', 'all': 'read-only', 'none': 'agent-full-access'},
    ),
    'gemini': KnownAgent(
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
    'opencode': KnownAgent(
        title='OpenCode',
        command='opencode',
        args=('acp',),
        variables=(*PROVIDER_KEYS, *PROXIES),
        files=('.local/share/opencode/auth.json', '.config/opencode/opencode.json'),
        install='npm install -g opencode-ai',
        approval_variables={'all': {'OPENCODE_PERMISSION': '{"edit": "ask", "bash": "ask"}'}},
    ),
    'openhands': KnownAgent(
        title='OpenHands',
        command='openhands',
        args=('acp',),
        variables=('LLM_API_KEY', 'LLM_MODEL', 'LLM_BASE_URL', *PROXIES),
        files=('.openhands/agent_settings.json',),
        install='uv tool install openhands --python 3.12',
        modes={'marked': 'always-ask', 'all': 'always-ask'},
    ),
    'goose': KnownAgent(
        title='Goose',
        command='goose',
        args=('acp',),
        variables=('GOOSE_PROVIDER', 'GOOSE_MODEL', *PROVIDER_KEYS, *PROXIES),
        files=('.config/goose/config.yaml', '.config/goose/secrets.yaml'),
        install='see https://block.github.io/goose',
        approval_variables={'marked': {'GOOSE_MODE': 'smart_approve'}, 'all': {'GOOSE_MODE': 'approve'}},
    ),
}  # fmt: skip
"""By name, as in `agent:claude`."""
