"""Callers: a person or a program with a role, and the identity that a request carries."""

from __future__ import annotations

import getpass
import os
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from engine.errors import NotAllowed
from engine.operations import Role


class Owned(Protocol):
    """What may be private to its author, and to administrators."""

    @property
    def private(self) -> bool:
        """Whether it is."""

    @property
    def author(self) -> str:
        """The account of its author; '' without logins."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A person or a program, as currently known."""

    name: str
    """The account's name; '' on a server without accounts."""
    role: Role
    via: str = ''
    """`password`, the name of an identity provider, or `token` with the token's name."""

    @classmethod
    def at_terminal(cls) -> Caller:
        """Return the person at a terminal: anyone who can write the database may do anything."""
        try:
            name = getpass.getuser()
        except (KeyError, OSError):  # A container may run as a user who is only a number.
            name = f'uid-{os.getuid()}'
        return cls(f'{name}@terminal', Role.ADMIN, 'terminal')

    def require(self, role: Role, action: str) -> None:
        """Raise `NotAllowed` unless the caller has this role or a higher one."""
        if not self.role.includes(role):
            raise NotAllowed(
                f'this needs the role {role}, and {self.name} has the role {self.role} ({action})'
            )

    def can_see(self, info: Owned) -> bool:
        """Whether the caller may see a run, or an experiment."""
        return not info.private or info.author == self.name or self.role is Role.ADMIN


ANYONE = Caller('', Role.ADMIN)
"""Any caller of a server that has no accounts."""


class Identity(Protocol):
    """The identity of a caller: a session or a token. It can end at any time."""

    @property
    def last_caller(self) -> Caller:
        """The caller as of the last `check`; their role may have changed since."""

    async def check(self) -> Caller:
        """Return the current caller. Raises `SignedOut`."""


class TerminalIdentity:
    """The identity of the person at a terminal, which never ends."""

    def __init__(self) -> None:
        self.last_caller = Caller.at_terminal()

    async def check(self) -> Caller:
        """Return the caller."""
        return self.last_caller


IDENTITY: ContextVar[Identity | None] = ContextVar('identity', default=None)
"""The identity of the request, socket or page being served in this context."""
ADDRESS: ContextVar[str] = ContextVar('address', default='')
"""The network address of the request or socket being served in this context."""
