"""`[mcp.<name>]` of the configuration: an MCP server as a user writes it down."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict, Field

from engine.mcp.server import Server
from engine.options import Approvals


class McpSection(BaseModel):
    """A program that is started, with `command`, or one behind an address, with `url`."""

    model_config = ConfigDict(extra='forbid')

    command: str = ''
    args: list[str] = []
    env: dict[str, str] = {}
    """Values may be `env:NAME` or `keyring:SERVICE/USER`; so in `headers`."""
    folder: str | None = None
    url: str | None = Field(None, pattern=r'^https?://')
    headers: dict[str, str] = {}
    tools: list[str] = ['*']
    approvals: Approvals = 'marked'
    start: float = Field(30.0, gt=0)
    seconds: float = Field(120.0, gt=0)
    most_text: int = Field(20_000, ge=100)
    off: bool = False

    def wrong(self) -> str:
        """What is wrong with it, or ''."""
        if bool(self.command) == bool(self.url):
            return 'it needs either command or url'
        return 'env: only a program that is started has variables' if self.url and self.env else ''

    def server(self, name: str, secrets: Callable[[Mapping[str, str]], dict[str, str]]) -> Server:
        """The server; `secrets` finds values where they are."""
        env, headers = secrets(self.env), secrets(self.headers)
        hidden = [
            *(value for key, value in env.items() if value != self.env[key]),
            *headers.values(),
            *(value.rpartition(' ')[2] for value in headers.values()),  # `Bearer` is no secret
        ]
        return Server(
            name=name,
            command=self.command,
            args=tuple(self.args),
            env=env,
            folder=self.folder,
            url=self.url or '',
            headers=headers,
            tools=tuple(self.tools),
            approvals=self.approvals,
            start=self.start,
            seconds=self.seconds,
            most_text=self.most_text,
            secrets=tuple(sorted({value for value in hidden if len(value) >= 6}, key=len, reverse=True)),
        )
