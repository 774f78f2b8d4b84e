"""What people may do with their own account, on their page alone: password, tokens and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine import InvalidInput
from engine.operations import Role, implement, operation
from ui.app.access.access import Access, AuthenticatedIdentity
from ui.app.access.accounts import NewToken, Session, Token
from ui.app.access.guard import Guard


class OwnAccount(Protocol):
    """A person's own account. All raise `InvalidInput`, which names the field."""

    @operation(Role.VIEWER)
    async def tokens(self) -> Sequence[Token]:
        """List the tokens, newest first."""

    @operation(Role.VIEWER)
    async def sessions(self) -> Sequence[Session]:
        """List the browsers in which the person is logged in, latest first."""

    @operation(Role.VIEWER, logged=True)
    async def set_password(self, *, old: str, new: str, revoke_tokens: bool = False) -> int:
        """Change the password: all other sessions end. Returns how many tokens still work."""

    @operation(Role.VIEWER, logged=True)
    async def add_token(self, *, label: str, role: Role, days: float | None) -> NewToken:
        """Add a token, whose role may not be higher than the person's. Raises `NotAllowed`."""

    @operation(Role.VIEWER, logged=True)
    async def revoke_token(self, id: str) -> Token:
        """Revoke a token; programs that use it lose access immediately."""

    @operation(Role.VIEWER, logged=True)
    async def end_session(self, id: str) -> None:
        """Log out one of the browsers."""


def own_account(access: Access, identity: AuthenticatedIdentity) -> OwnAccount:
    """Return the account of a caller; changes are in the audit log."""
    guard = Guard(
        protocol=OwnAccount,
        target=_OwnAccount(access, identity),
        identity=identity,
        record=access.audit.write,
        path='account.',
    )
    return implement(OwnAccount, guard)


class _OwnAccount:
    def __init__(self, access: Access, identity: AuthenticatedIdentity) -> None:
        self._access, self._accounts, self._identity = access, access.accounts, identity

    @property
    def _name(self) -> str:
        return self._identity.last_caller.name

    async def tokens(self) -> Sequence[Token]:
        return await self._accounts.tokens(self._name)

    async def sessions(self) -> Sequence[Session]:
        return await self._accounts.sessions(self._name)

    async def set_password(self, *, old: str, new: str, revoke_tokens: bool = False) -> int:
        if await self._accounts.password_hash(self._name) and not await self._access.is_password(
            self._identity.last_caller, old
        ):
            raise InvalidInput({'current password': 'is wrong'})
        session = self._identity.key[:16]
        return await self._accounts.set_password(self._name, new, keep=session, revoke_tokens=revoke_tokens)

    async def add_token(self, *, label: str, role: Role, days: float | None) -> NewToken:
        self._identity.last_caller.require(role, 'account.add_token')
        return await self._accounts.add_token(self._name, label, role, days)

    async def revoke_token(self, id: str) -> Token:
        return await self._accounts.revoke_token(id, self._name)

    async def end_session(self, id: str) -> None:
        if any(session.id == id for session in await self.sessions()):
            await self._accounts.end_session(id)
