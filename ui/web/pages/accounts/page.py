"""All accounts, for administrators: add, remove, change role or password."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from nicegui import ui

from engine import EngineError
from engine.errors import NotAllowed
from engine.host.clock import Clock
from engine.operations import Role
from ui.app.access.caller import IDENTITY, Identity
from ui.app.access.operations import AccountOperations
from ui.app.backend import Backend
from ui.web.components.dialogs import await_answer, confirm, dialog_frame, draw_dialog_actions, notify_error
from ui.web.components.theme import button, frame, page_head, text_notice
from ui.web.components.widgets import Box, NativeSelect, Text, label, set_attributes
from ui.web.pages.shared.account_parts import ACCOUNTS, administers, card_form, field, moment, table
from ui.web.routing import serve_page

ROLES = {
    Role.VIEWER.value: 'viewer: sees runs',
    Role.OPERATOR.value: 'operator: also starts, steers and answers',
    Role.ADMIN.value: 'admin: everything',
}


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page(ACCOUNTS, 'Accounts', offered=partial(administers, backend))
    async def accounts() -> None:
        identity = IDENTITY.get()
        with frame():
            page_head('Accounts', 'Who can log in and what they can do. Changes take effect immediately.')
            if refused := await refusal(backend, identity):
                text_notice('fail', 'block', refused)
                return
            page = AccountList(backend.accounts, backend.root.clock)
            page.draw()
            await page.refresh()


async def refusal(backend: Backend, identity: Identity | None) -> str:
    """Return why the caller may not see a page for administrators, or ''."""
    if backend.access is None or identity is None:
        return 'This server has no accounts. Create the first one with hemicycle user add.'
    try:
        (await identity.check()).require(Role.ADMIN, 'accounts')
    except NotAllowed as error:
        return str(error)
    return ''


class AccountList:
    """The list of accounts, and the form to add one."""

    def __init__(self, accounts: AccountOperations, clock: Clock) -> None:
        self._accounts, self._clock = accounts, clock

    def draw(self) -> None:
        """Draw the page, with an empty list."""
        self._list = Box()
        with card_form('New account', self._add, 'Add account', level=2):
            self._name = field('Name', autocomplete='off', autocapitalize='none')
            self._password = field(
                'Password, at least 12 characters', kind='password', autocomplete='new-password'
            )
            with Box('field'):
                self._role = NativeSelect(ROLES, value=Role.OPERATOR.value)
                label('Role', self._role)

    async def refresh(self) -> None:
        """Reload the accounts and redraw the table."""
        accounts, now = await self._accounts.list(), self._clock.now()
        self._list.clear()
        with self._list, table(('Name', 'Login method', 'Created', 'Role', ''), 'Accounts') as drawn:
            for account in accounts:
                by = account.issuer or ('password' if account.has_password else 'tokens only')
                with drawn.row(account.name, by, moment(account.created, now)):
                    with drawn.cell():
                        role = NativeSelect(
                            {role.value: role.value for role in Role}, value=account.role.value
                        )
                        role.on_value_change(
                            lambda event, name=account.name: self._set_role(name, str(event.value))
                        )
                        set_attributes(role, aria_label=f'Role of {account.name}')
                    with drawn.actions():
                        button('Password…').on('click', lambda _, name=account.name: self._set_password(name))
                        button('Remove…').on('click', lambda _, name=account.name: self._remove(name))

    async def _perform(self, work: Awaitable[object]) -> bool:
        """Return whether the work was done; report why not."""
        try:
            await work
        except EngineError as error:
            notify_error(error)
            return False
        else:
            return True
        finally:
            await self.refresh()

    async def _add(self) -> None:
        name, role = self._name.value.strip(), Role(self._role.value)
        work = self._accounts.add(name, role, self._password.value)
        if await self._perform(work):
            self._name.value = self._password.value = ''
            ui.notify(f'{name} can log in', type='positive')

    async def _set_role(self, name: str, role: str) -> None:
        await self._perform(self._accounts.set_role(name, Role(role)))

    async def _set_password(self, name: str) -> None:
        with dialog_frame(f'New password for {name}') as dialog:
            Text('p', 'All sessions of this account will end. Its tokens work until they are revoked.')
            new = field('Password, at least 12 characters', kind='password', autocomplete='new-password')
            revoke = ui.checkbox('Revoke its tokens')
            draw_dialog_actions(dialog, 'Set password', lambda: dialog.submit(True))
        if await await_answer(dialog):
            revoke_tokens = bool(revoke.value)
            await self._perform(
                self._accounts.set_password(name, str(new.value), revoke_tokens=revoke_tokens)
            )

    async def _remove(self, name: str) -> None:
        text = 'The account is logged out and its tokens are revoked. Its runs are kept.'
        if await confirm(f'Remove {name}?', text, yes='Remove', no='Cancel'):
            await self._perform(self._accounts.remove(name))
