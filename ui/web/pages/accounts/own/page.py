"""The user's own account: password, tokens and sessions."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError
from engine.operations import Role
from ui.app.access.access import Access, AuthenticatedIdentity
from ui.app.access.caller import IDENTITY, Caller
from ui.app.access.own_account import own_account
from ui.app.backend import Backend
from ui.web.components.copy_buttons import copy_text
from ui.web.components.dialogs import await_answer, confirm, dialog_frame, notify_error, notify_errors
from ui.web.components.theme import button, frame, page_head
from ui.web.components.widgets import Box, NativeSelect, Text, label
from ui.web.pages.shared.account_parts import ACCOUNT, card_form, field, moment, table
from ui.web.routing import serve_page

DAYS = {'30': '30 days', '90': '90 days', '365': '1 year', '': 'Never'}


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page(ACCOUNT, 'Your account', offered=lambda: backend.access is not None)
    async def account() -> None:
        identity = IDENTITY.get()
        with frame():
            if backend.access is None or not isinstance(identity, AuthenticatedIdentity):
                Text('h1', 'Your account')
                Text(
                    'p', 'This server has no accounts. Create the first one with hemicycle user add.', 'muted'
                )
                return
            caller = await identity.check()
            page_head(caller.name, f'Role: {caller.role}. Logged in by {caller.via}.')
            page = AccountPage(backend.access, caller, identity)
            page.draw()
            await page.refresh()


class AccountPage:
    """The page on which people manage their own account: password, browsers and tokens."""

    def __init__(self, access: Access, caller: Caller, identity: AuthenticatedIdentity) -> None:
        self._account, self._caller = own_account(access, identity), caller
        self._session, self._now = identity.key, access.now

    def draw(self) -> None:
        """Draw the sections, empty."""
        with Box('section', 'section', aria_labelledby='password'):
            Text('h2', 'Password', id='password')
            with card_form('Change password', self._set_password, 'Change password'):
                self._old = field('Current password', kind='password', autocomplete='current-password')
                self._new = field(
                    'New password, at least 12 characters', kind='password', autocomplete='new-password'
                )
                self._revoke = ui.checkbox('Revoke my tokens')
        with Box('section', 'section'):
            Text('h2', 'Tokens')
            Text('p', 'Programs with a token act as you. For the command line, set HEMICYCLE_TOKEN.', 'muted')
            self._tokens = Box()
            with card_form('New token', self._add_token, 'Create token'):
                self._label = field('Description')
                with Box('field'):
                    roles = {role.value: role.value for role in Role if self._caller.role.includes(role)}
                    self._role = NativeSelect(roles, value=self._caller.role.value)
                    label('Role', self._role)
                with Box('field'):
                    self._days = NativeSelect(DAYS, value='90')
                    label('Expires after', self._days)
        with Box('section', 'section'):
            with Box('section-head'):
                Text('h2', 'Sessions')
                Box('grow')
                with Box(tag='form', method='post', action='/logout?everywhere=1'):
                    button('Log out everywhere', type='submit')
            self._sessions = Box()

    async def refresh(self) -> None:
        """Refresh the tokens and sessions."""
        now = self._now()
        tokens, sessions = (
            await self._account.tokens(),
            await self._account.sessions(),
        )
        self._tokens.clear()
        with self._tokens:
            if not tokens:
                Text('p', 'You have no tokens.', 'muted')
            else:
                with table(('Description', 'Role', 'Expires', 'Last used', ''), 'Tokens') as drawn:
                    for token in tokens:
                        expires, used = moment(token.expires, 0), moment(token.used, now)
                        with drawn.row(token.label, token.role.value, expires, used), drawn.actions():
                            button('Revoke').on('click', lambda _, id=token.id: self._revoke_token(id))
        self._sessions.clear()
        columns = ('Browser', 'Address', 'Logged in', 'Last seen', '')
        with self._sessions, table(columns, 'Sessions') as drawn:
            for session in sessions:
                here = self._session.startswith(session.id)
                name = f'{browser_name(session.agent)}{" (this one)" if here else ""}'
                times = moment(session.created, now), moment(session.seen, now)
                with drawn.row(name, session.address or 'unknown', *times), drawn.actions():
                    if not here:
                        button('Log out').on('click', lambda _, id=session.id: self._end_session(id))

    async def _set_password(self) -> None:
        try:
            working = await self._account.set_password(
                old=self._old.value, new=self._new.value, revoke_tokens=self._revoke.value
            )
        except EngineError as error:
            notify_error(error)
            return
        self._old.value = self._new.value = ''
        self._revoke.value = False
        tokens = f' Your tokens still work ({working}).' if working else ''
        ui.notify(f'Password changed. All other sessions were logged out.{tokens}', type='positive')
        await self.refresh()

    async def _add_token(self) -> None:
        days = float(self._days.value) if self._days.value else None
        added = await notify_errors(
            self._account.add_token(label=self._label.value, role=Role(self._role.value), days=days)
        )
        if added is None:
            return
        self._label.value = ''
        await self.refresh()
        with dialog_frame('Copy this token now') as dialog:
            Text('p', 'It is shown only once, because the server stores a hash.')
            Text('code', added.secret, 'token-secret')
            with Box('dialog-actions'):
                button('Copy', icon='content_copy').on('click', lambda: copy_text(added.secret))
                button('Done', kind='primary').on('click', lambda: dialog.submit(None))
        await await_answer(dialog)

    async def _revoke_token(self, id: str) -> None:
        if await confirm(
            'Revoke this token?', 'Programs that use it lose access immediately.', yes='Revoke', no='Cancel'
        ):
            await notify_errors(self._account.revoke_token(id))
            await self.refresh()

    async def _end_session(self, id: str) -> None:
        await notify_errors(self._account.end_session(id))
        await self.refresh()


def browser_name(agent: str) -> str:
    """Return a user agent as `Firefox on Linux`, or its start if it is not recognized."""
    browsers = {
        'Edg/': 'Edge',
        'OPR/': 'Opera',
        'Firefox/': 'Firefox',
        'Chrome/': 'Chrome',
        'Safari/': 'Safari',
    }
    systems = {
        'Android': 'Android',
        'iPhone': 'iPhone',
        'Windows': 'Windows',
        'Mac OS': 'macOS',
        'Linux': 'Linux',
    }
    browser = next((name for sign, name in browsers.items() if sign in agent), '')
    system = next((name for sign, name in systems.items() if sign in agent), '')
    return f'{browser} on {system}' if browser and system else agent[:40] or 'unknown'
