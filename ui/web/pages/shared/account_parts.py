"""Shared parts of the account pages: tables, times, card forms, and the account menu of the top bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui

from engine import EngineError
from engine.operations import Role
from ui.app.backend import Backend
from ui.formatting.values import moment_text
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, label, set_attributes, text_input, text_link
from ui.web.routing import PLACES

ACCOUNT, ACCOUNTS, AUDIT = '/account', '/accounts', '/audit'


def administers(backend: Backend) -> bool:
    """Whether people log in here and the caller manages their accounts."""
    try:
        return backend.access is not None and backend.caller.role is Role.ADMIN
    except EngineError:
        return False


def draw_account_menu(backend: Backend) -> None:
    """Draw the account button and its menu, if the caller is logged in."""
    if backend.access is None:
        return
    try:
        caller = backend.caller
    except EngineError:
        return
    with button('', kind='quiet account').classes(remove='icon') as opener:
        Text('span', caller.name, 'account-name')
        Text('span', caller.name[:2].upper(), 'account-initials')
        with ui.menu().classes('popover account-menu').props('anchor="bottom right" self="top right"') as box:
            set_attributes(box, aria_label='Your account')
            with Box('account-who'):
                Text('strong', caller.name)
                Text('span', caller.role.value, 'muted small')
            with Box('account-links'):
                for path in (ACCOUNT, ACCOUNTS, AUDIT):
                    if (place := PLACES.get(path)) and place.is_offered():
                        text_link(place.path, place.title)
                with Box(tag='form', method='post', action='/logout'):
                    button('Log out', type='submit')
    set_attributes(opener, aria_label=f'Account of {caller.name}', aria_haspopup='dialog')


class Table:
    """Rows and cells of a table. On a narrow screen each row is a block and each cell names its column.

    ARIA roles are explicit because screen readers drop table semantics from elements laid out as blocks.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._drawn = 0

    @contextmanager
    def row(self, *texts: str, classes: str = '') -> Iterator[None]:
        """Draw a row of texts; cells drawn inside the context follow them."""
        with Box(classes, 'tr', role='row'):
            self._drawn = 0
            for text in texts:
                self.cell(text)
            yield

    def cell(self, text: str = '', classes: str = '') -> ui.element:
        """Draw the row's next cell; the first one is the row header."""
        column = self._columns[self._drawn]
        tag = 'td' if self._drawn else 'th'
        element = Text(tag, text, classes) if text else Box(classes, tag)
        if self._drawn:
            set_attributes(element, role='cell', data_column=column)
        else:
            set_attributes(element, role='rowheader', scope='row')
        self._drawn += 1
        return element

    def actions(self) -> ui.element:
        """Draw the row's last cell, for buttons."""
        return self.cell(classes='actions')


@contextmanager
def table(columns: Sequence[str], caption: str) -> Iterator[Table]:
    """Draw a table; rows are drawn inside the context. The last column may be '', for buttons."""
    with Box('records', tabindex='0', role='region', aria_label=caption), Box('table', 'table', role='table'):
        with Box(tag='thead', role='rowgroup'), Box(tag='tr', role='row'):
            for name in columns:
                if name:
                    Text('th', name, scope='col', role='columnheader')
                else:
                    Box(tag='td', role='cell')
        with Box(tag='tbody', role='rowgroup'):
            yield Table(columns)


def field(name: str, *, kind: str = 'text', **attributes: str) -> ui.input:
    """Draw a labelled text field."""
    with Box('field'):
        control = text_input(kind=kind, **attributes)
        label(name, control)
    return control


def moment(time: float, now: float) -> str:
    """Format a time for a table: 'never' for 0, 'now' within the last minute."""
    if not time:
        return 'never'
    if 0 <= now - time < 60:
        return 'now'
    return moment_text(time, 'UTC', seconds=False)


@contextmanager
def card_form(title: str, send: Callable[[], object], action: str, *, level: int = 3) -> Iterator[None]:
    """Draw a small form in a card, with a heading of this level; Enter submits it."""
    with Box('card account-form', 'form') as form:
        Text(f'h{level}', title)
        with Box('account-fields'):
            yield
        button(action, kind='primary', type='submit')
    form.on('submit', send, js_handler='(event) => { event.preventDefault(); emit(); }')
