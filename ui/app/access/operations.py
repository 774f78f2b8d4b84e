"""What administrators may do with accounts and tokens; people change their own on their page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field

from engine.operations import Role, implement, operation
from ui.app.access.access import Access
from ui.app.access.accounts import Account, NewToken, Token
from ui.app.access.caller import Identity
from ui.app.access.guard import Guard

Name = Annotated[str, Field(max_length=200, description='The name of an account.')]


class AccountOperations(Protocol):
    """Accounts and tokens. All raise `InvalidInput`, which names the field."""

    @operation(Role.ADMIN, 'GET accounts', id='list_accounts', logged=False)
    async def list(self) -> list[Account]:
        """List the accounts, by name."""

    @operation(Role.ADMIN, 'POST accounts', id='add_account')
    async def add(
        self,
        name: Name,
        role: Role = Role.OPERATOR,
        password: Annotated[str, Field(description='Empty for tokens or an identity provider alone.')] = '',
    ) -> Account:
        """Add an account."""

    @operation(Role.ADMIN, 'PUT accounts/{name}/role', id='set_role')
    async def set_role(self, name: Name, role: Role) -> None:
        """Change the role of an account, immediately; not that of the last administrator."""

    @operation(Role.ADMIN, 'PUT accounts/{name}/password', id='set_password', result='tokens')
    async def set_password(
        self,
        name: Name,
        password: str,
        *,
        revoke_tokens: Annotated[bool, Field(description='Whether its tokens end, too.')] = False,
    ) -> int:
        """Give an account a new password: its sessions end. Returns how many of its tokens still work."""

    @operation(Role.ADMIN, 'DELETE accounts/{name}', id='remove_account')
    async def remove(self, name: Name) -> None:
        """Remove an account, its tokens and sessions; not the last administrator. Its runs are kept."""

    @operation(Role.ADMIN, 'GET tokens', id='list_tokens', logged=False)
    async def tokens(self, name: Name = '') -> Sequence[Token]:
        """List the tokens of an account, or all, newest first."""

    @operation(Role.ADMIN, 'POST tokens', id='add_token')
    async def add_token(
        self,
        name: Name,
        label: Annotated[str, Field(min_length=1, max_length=100, description='Its purpose.')],
        role: Annotated[Role, Field(description='Its maximum role.')] = Role.OPERATOR,
        days: Annotated[
            float | None, Field(gt=0, le=3_650, description='Until it expires; null means never.')
        ] = 90.0,
    ) -> NewToken:
        """Add a token; only this response shows its secret."""

    @operation(Role.ADMIN, 'DELETE tokens/{id}', id='revoke_token')
    async def revoke_token(self, id: Annotated[str, Field(max_length=100)]) -> Token:
        """Revoke a token; programs that use it lose access immediately."""


def guard_accounts(access: Access, identity: Identity) -> AccountOperations:
    """Return the accounts as this caller may change them; changes are in the audit log."""
    guard = Guard(
        protocol=AccountOperations,
        target=access.accounts,
        identity=identity,
        record=access.audit.write,
        path='account.',
    )
    return implement(AccountOperations, guard)
