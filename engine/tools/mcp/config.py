"""The configuration of MCP servers, and their health."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.models.secret_filter import SecretFilter, secret_filter
from engine.records.run_info import Approvals

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""Maximum bytes of one message from a server: a response, or an event of its stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """The settings for signing in to a server."""

    file: Path
    """The file that stores the tokens."""
    client_id: str = ''
    """The client, if registered in advance; otherwise it registers itself."""
    client_secret: str = field(default='', repr=False)
    scope: str = ''
    port: int = 0
    """The local port to which the browser is redirected; 0 means any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A tool server: a program to start, or a URL. Hides its secrets."""

    name: str
    command: str = ''
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Added to the few variables that every program needs; the rest of the environment is not passed on."""
    folder: str | None = None
    """Its working directory."""
    url: str = ''
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tools: tuple[str, ...] = ('*',)
    """The tools to use; `*` matches any part of a name."""
    approvals: Approvals = 'marked'
    """The tools that need approval; `marked` means all except those declared non-destructive."""
    start: float = 30.0
    """Time limit for listing its tools, in seconds."""
    seconds: float = 120.0
    """Time limit of a call in seconds."""
    task_seconds: float = 3_600.0
    """Time limit of a call that the server turns into a task."""
    most_text: int = 20_000
    """Maximum characters of a result returned to the model."""
    oauth: OAuth | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def where(self) -> str:
        """Its URL, or the program."""
        return self.url.partition('?')[0] or self.command

    @property
    def secret_filter(self) -> SecretFilter:
        """A filter that removes its secrets from text."""
        keys = tuple(secret for secret in self.secrets if ' ' not in secret)
        return secret_filter(keys, tuple(secret for secret in self.secrets if ' ' in secret))

    def hide(self, text: str) -> str:
        """Remove its secrets from `text`."""
        return self.secret_filter.redact_text(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHealth:
    """An MCP server with the tools it offers, or why it cannot be used."""

    server: str
    where: str
    tools: tuple[str, ...] = ()
    """Tool names as agents use them."""
    unusable: tuple[str, ...] = ()
    """The server's other tools, each with the reason why agents do not get it."""
    problem: str = ''
    """The problem with it, or ''."""
    connected: bool = False
    oauth: bool = False
    """Whether a person signs in to it."""


class OAuthSection(BaseModel):
    """`oauth` of an MCP server: what is missing is discovered from the server."""

    model_config = ConfigDict(extra='forbid')

    client_id: str = ''
    client_secret: str = ''
    """`env:NAME` or `keyring:SERVICE/USER`."""
    scope: str = ''
    port: int = Field(0, ge=0, le=65_535)


class McpSection(BaseModel):
    """`[mcp.<name>]` of the configuration: a program to start (`command`) or an address (`url`)."""

    model_config = ConfigDict(extra='forbid')

    command: str = ''
    """The program to start on this machine."""
    args: list[str] = []
    env: dict[str, str] = {}
    """A variable of the program; a secret is given as `env:NAME` or `keyring:SERVICE/USER`."""
    folder: str | None = None
    url: str | None = Field(None, pattern=r'^https?://')
    """The address to connect to, instead."""
    headers: dict[str, str] = {}
    """A header of requests to the address; secrets as in `env`."""
    oauth: bool | OAuthSection = False
    """Whether a person signs in to it in a browser."""
    tools: list[str] = ['*']
    """A tool to offer; * stands for any text. By default all."""
    approvals: Approvals = 'marked'
    """Which calls wait for a person: those of tools that the server does not declare harmless (`marked`, the
    default), all, or none."""
    start: float = Field(30.0, gt=0)
    seconds: float = Field(120.0, gt=0)
    task_seconds: float = Field(3_600.0, gt=0)
    most_text: int = Field(20_000, ge=100)
    off: bool = False

    def find_problem(self) -> str:
        """Return which settings contradict each other or are missing; '' if none."""
        if bool(self.command) == bool(self.url):
            return 'it needs either command or url'
        if self.command and self.oauth:
            return 'oauth: only a server with a url can be signed in to'
        return 'env: only a server with a command has environment variables' if self.url and self.env else ''

    def server(
        self, name: str, secrets: Callable[[Mapping[str, str]], dict[str, str]], folder: Path
    ) -> McpServer:
        """Build the server.

        Args:
            name: its name.
            secrets: looks up referenced values.
            folder: the folder of the configuration, in which tokens are kept.
        """
        oauth = None
        if self.oauth:
            section = OAuthSection() if self.oauth is True else self.oauth
            resolved = secrets({'client_secret': section.client_secret})
            settings = {**section.model_dump(), **resolved}
            oauth = OAuth(file=folder / 'oauth' / f'{name}.json', **settings)
        env, headers = secrets(self.env), secrets(self.headers)
        hidden = [
            *(value for key, value in env.items() if value != self.env[key]),
            *([oauth.client_secret] if oauth else []),
            *headers.values(),
            *(value.rpartition(' ')[2] for value in headers.values()),  # `Bearer` is not a secret
        ]
        return McpServer(
            name=name,
            command=self.command,
            args=tuple(self.args),
            env=env,
            folder=self.folder,
            url=self.url or '',
            headers=headers,
            oauth=oauth,
            tools=tuple(self.tools),
            approvals=self.approvals,
            start=self.start,
            seconds=self.seconds,
            task_seconds=self.task_seconds,
            most_text=self.most_text,
            secrets=tuple(sorted({value for value in hidden if len(value) >= 6}, key=len, reverse=True)),
        )
