"""What differs in the memory and in the files of two runs at a row."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from nicegui import ui

from engine import Unlike, View, unlike
from ui.beside.side import Side
from ui.panes.changes import Changes
from ui.parts import Choice, Text, attach
from ui.presenters.reading import place, short
from ui.theme import empty

LONGEST = 400
MOST = 200


class MemoryPane:
    """The places of memory at which both differ."""

    def __init__(self) -> None:
        self._root = ui.element('div').classes('unlike')

    async def show(self, views: Sequence[View]) -> None:
        """Show where these two differ."""
        found = await asyncio.to_thread(unlike, views[0].memory, views[1].memory, most=MOST + 1)
        if self._root.is_deleted:
            return
        self._root.clear()
        with self._root:
            Text('p', f'After step {views[0].seq} of A and step {views[1].seq} of B', 'muted small')
            if not found:
                empty('done_all', 'They remember the same.')
                return
            table(found[:MOST], 'Where memory differs')
            if len(found) > MOST:
                Text('p', f'There are more: these are the first {MOST}.', 'muted')


def table(found: Sequence[Unlike], caption: str) -> None:
    """Places and both values, as a table."""
    with ui.element('table').classes('compared unlike-table'):
        Text('caption', caption, 'visually-hidden')
        with ui.element('thead'), ui.element('tr'):
            for name in ('Where', 'A', 'B'):
                Text('th', name, scope='col')
        with ui.element('tbody'):
            for one in found:
                with ui.element('tr'):
                    Text('th', one.path.strip('/').replace('/', ' / '), 'mono', scope='row')
                    for side in 'ab':
                        value, absent = getattr(one, side), one.only not in ('', side)
                        Text('td', '– nothing –' if absent else _value(value), 'muted' if absent else '')


def _value(value: Any) -> str:
    return '“”' if value == '' else short(value, LONGEST)


class FilesPane:
    """One agent's folder in A against that in B."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._sides = sides
        self._views: Sequence[View] = ()
        self._read: object = None
        with ui.element('div').classes('files') as self._body:
            with ui.element('div').classes('files-head'):
                self._agent = Choice({'': ''}, value='', on_change=self._chosen)
                attach(self._agent, aria_label='Whose files')
                self._where = Text('span', '', 'muted small')
            self._changes = Changes()
        with ui.element('div') as self._none:
            empty('folder_open', 'No agent has written a file in either run up to here.')

    async def show(self, views: Sequence[View]) -> None:
        """Show the files after these steps."""
        self._views = views
        agents = sorted({*views[0].files, *views[1].files})
        self._body.set_visibility(bool(agents))
        self._none.set_visibility(not agents)
        if not agents:
            return
        if self._agent.value not in agents:
            self._agent.value = agents[0]
        self._agent.offered = {}
        self._agent.offer({agent: place(agent) for agent in agents})
        await self._load()

    async def _chosen(self) -> None:
        if self._views and self._agent.value:
            await self._load()

    async def _load(self) -> None:
        first, second = (view.files.get(self._agent.value, '') for view in self._views)
        self._where.show(f'From step {self._views[0].seq} of A to step {self._views[1].seq} of B')
        if (wanted := (first, second)) == self._read:
            return
        self._read = wanted
        workspaces = self._sides[0].conductor.workspaces
        await self._changes.show(workspaces.diff(self._sides[0].run, first, second, other=self._sides[1].run))
