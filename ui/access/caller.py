"""Who asks: a person or a program with a role, and the identity by which a request came."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from engine.errors import NotAllowed
from engine.records import RunInfo


class Role(StrEnum):
    """What an account may do; each role may do what those before it may."""

    VIEWER = 'viewer'
    """Sees runs, and exports them."""
    OPERATOR = 'operator'
    """Also starts, steers and answers runs."""
    ADMIN = 'admin'
    """Everything: models, accounts, retention, removing runs for good."""

    def includes(self, other: Role) -> bool:
        """Whether this role may do what the other one may."""
        return ROLES.index(self) >= ROLES.index(other)


ROLES = tuple(Role)


@dataclass(frozen=True, slots=True)
class Caller:
    """A person or a program, as it is known at this moment."""

    name: str
    """The account's; '' where nobody logs in."""
    role: Role
    via: str = ''
    """`password`, the name of an identity provider, or `token` with the token's name."""

    def require(self, role: Role, deed: str) -> None:
        """Raise `NotAllowed` unless the caller has this role or a higher one."""
        if not self.role.includes(role):
            raise NotAllowed(f'this needs the role {role}, and {self.name} has the role {self.role} ({deed})')

    def sees(self, info: RunInfo) -> bool:
        """Whether the caller may see a run."""
        return not info.private or info.author == self.name or self.role is Role.ADMIN


ANYONE = Caller('', Role.ADMIN)
"""Whoever reaches a server that has no accounts."""


class Identity(Protocol):
    """By what a caller is known: a session or a token. It can end at any time."""

    @property
    def known(self) -> Caller:
        """The caller as last seen."""

    async def check(self) -> Caller:
        """The caller as of now. Raises `SignedOut`."""


class FixedIdentity:
    """An identity that does not end."""

    def __init__(self, caller: Caller) -> None:
        self.known = caller

    async def check(self) -> Caller:
        """The caller."""
        return self.known


IDENTITY: ContextVar[Identity | None] = ContextVar('identity', default=None)
"""Of the request, the socket or the page that is served here."""
ADDRESS: ContextVar[str] = ContextVar('address', default='')
"""The network address of the request or the socket that is served here."""
