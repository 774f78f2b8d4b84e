"""Memory and file differences between two runs at a row."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from nicegui import ui

from engine.history import JsonDifference, json_differences
from engine.records import View
from ui.formatting.changes import change_title, value_html
from ui.formatting.steps import path_text
from ui.formatting.values import with_times
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, NativeSelect, Text, set_attributes, table_head
from ui.web.pages.compare.side import Side
from ui.web.pages.shared.file_changes import FileChanges

MAX_DIFFERENCES = 200


class MemoryPane:
    """The parts of memory that differ."""

    def __init__(self) -> None:
        self._root = Box('compare-memory')

    async def show(self, views: Sequence[View]) -> None:
        """Show the differences of these two views."""
        differences = await asyncio.to_thread(
            json_differences, views[0].memory, views[1].memory, most=MAX_DIFFERENCES + 1
        )
        if self._root.is_deleted:
            return
        self._root.clear()
        with self._root:
            Text('p', f'After step {views[0].seq} of A and step {views[1].seq} of B', 'muted small')
            if not differences:
                empty_state('done_all', 'Memory is identical.')
                return
            difference_table(differences[:MAX_DIFFERENCES], 'Differences in memory')
            if len(differences) > MAX_DIFFERENCES:
                Text('p', f'Only the first {MAX_DIFFERENCES} are shown.', 'muted')


def difference_table(differences: Sequence[JsonDifference], caption: str) -> None:
    """Draw a table of paths with both values."""
    with Box('table compared difference-table', 'table'):
        Text('caption', caption, 'visually-hidden')
        table_head(('Field', 'A', 'B'))
        with Box(tag='tbody'):
            for difference in differences:
                with Box(tag='tr'):
                    Text('th', change_title(difference.path), scope='row', title=difference.path)
                    for side in 'ab':
                        _draw_value(
                            getattr(difference, side),
                            difference.path,
                            absent=difference.only not in ('', side),
                        )


def _draw_value(value: Any, path: str, *, absent: bool) -> None:
    with Box('muted' if absent else 'lines', 'td'):
        if absent:
            Text('span', 'not set')
        else:
            name = path.rpartition('/')[2]
            ui.html(value_html(with_times(value, name), name), sanitize=False)


class FilesPane:
    """One agent's folder in A compared with its folder in B."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._sides = sides
        self._views: Sequence[View] = ()
        self._loaded: object = None
        with Box('files') as self._body:
            with Box('files-head'):
                self._agent = NativeSelect({'': ''}, value='', on_change=self._on_choice)
                set_attributes(self._agent, aria_label='Agent')
                self._position = Text('span', '', 'muted small')
            self._changes = FileChanges()
        with Box() as self._none:
            empty_state('folder_open', 'No agent has written a file in either run up to this row.')

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
        self._agent.set_options({agent: path_text(agent) for agent in agents})
        await self._load()

    async def _on_choice(self) -> None:
        if self._views and self._agent.value:
            await self._load()

    async def _load(self) -> None:
        first, second = (view.files.get(self._agent.value, '') for view in self._views)
        self._position.show(f'From step {self._views[0].seq} of A to step {self._views[1].seq} of B')
        if (sides := (first, second)) == self._loaded:
            return
        self._loaded = sides
        workspaces = self._sides[0].conductor.workspaces
        await self._changes.show(workspaces.diff(self._sides[0].run, first, second, other=self._sides[1].run))
