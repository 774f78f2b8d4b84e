"""What is configured of an MCP server, and what is known of how it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.options import Approvals


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A program that offers tools: one that is started here, or one behind an address. Hides its secrets."""

    name: str
    command: str = ''
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Beside the few variables that any program needs; nothing else of the environment is passed on."""
    folder: str | None = None
    """Where it is started."""
    url: str = ''
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tools: tuple[str, ...] = ('*',)
    """Which of its tools are taken; `*` stands for any part of a name."""
    approvals: Approvals = 'marked'
    """Which wait for a person's word; `marked`: all but those of which it says that they destroy nothing."""
    start: float = 30.0
    """Seconds until it must have said what tools it has."""
    seconds: float = 120.0
    """Seconds that a call may take."""
    most_text: int = 20_000
    """Characters of a result that go back to the model."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def where(self) -> str:
        """Its address, or the program."""
        return self.url.partition('?')[0] or self.command

    def hide(self, text: str) -> str:
        """`text` without its secrets."""
        for secret in self.secrets:
            text = text.replace(secret, '[hidden]')
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHealth:
    """How an MCP server is."""

    server: str
    where: str
    tools: tuple[str, ...] = ()
    """Names as agents use them."""
    problem: str = ''
    """What is wrong with it, or ''."""
    connected: bool = False
