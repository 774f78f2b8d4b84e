"""The page of charts: those that are files, and patterns in Python to look at as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nicegui import ui
from pydantic import BaseModel, Field, create_model
from typing_extensions import override

from engine import InvalidInput
from engine.charts import ChartPattern
from engine.charts.library import ChartInfo
from ui.app.backend import Backend
from ui.formatting.values import ago, count, first_sentence
from ui.web.components.dialogs import ask_event, confirm
from ui.web.components.theme import button, frame, page_head
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.shared.resource_list import Action, RowList
from ui.web.permission import is_permitted
from ui.web.routing import AUTHOR, DESCRIBE, chart_path, launch_path, serve_page

NAME = re.compile('[a-z][a-z0-9]*(-[a-z0-9]+)*')
BLANK = 'A small example'


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page('/charts', 'Charts')
    async def charts() -> None:
        with frame(here='/charts'):
            page_head('Charts', 'Workflows as text and diagram: write one here, check it, run it. No code.')
            listed = ChartList(backend)
            _draw_python(backend)
        await listed.refresh()


class ChartList(RowList):
    """The charts that are files."""

    PART, TITLE, ID, ICON = 'charts', 'Chart files', 'chart-files', 'account_tree'
    EMPTY = 'No charts yet. A new one begins as a small example that runs.'

    @override
    def draw_controls(self) -> None:
        if AUTHOR in self.backend().catalog.patterns:
            text_link(launch_path(AUTHOR), DESCRIBE, 'btn', icon='auto_awesome')
        new = button('New chart', icon='add', kind='primary', requires='charts.save')
        new.on('click', self._create)

    @override
    async def read(self) -> Sequence[ChartInfo]:
        return await self.backend().charts.list()

    @override
    def draw(self, item: ChartInfo) -> None:
        with Box('row-summary'):
            with Box('chips', 'span'):
                if item.removed:
                    Text('b', item.name)
                    Text('span', 'removed', 'chip')
                else:
                    text_link(chart_path(item.name), item.title or item.name, 'strong')
                    Text('span', item.name, 'mono muted small')
            Text('span', ' · '.join(self._facts(item)), 'muted small')
            for fault in item.faults:
                where = f'Line {fault.line}: ' if fault.line else ''
                Text(
                    'span', f'{where}{fault.problem}. The last version without errors is used.', 'chart-fault'
                )
        self.draw_actions(item.title or item.name, self._actions(item))

    def _facts(self, item: ChartInfo) -> list[str]:
        facts = []
        pattern = self.backend().catalog.patterns.get(item.name)
        if pattern and issubclass(pattern, ChartPattern):
            facts.append(count(len(pattern.source.states), 'state'))
        if version := item.version:
            facts.append(f'version {version.number}')
            facts.append(ago(version.saved, self.backend().clock.now()))
            facts += [f'by {version.author}'] if version.author else []
        return [*facts, *([item.folder] if item.folder else [])]

    def _actions(self, item: ChartInfo) -> Mapping[str, Action]:
        actions: dict[str, Action] = {}
        if item.removed:
            if is_permitted('charts.restore'):
                actions['Restore'] = lambda: self._restore(item.name)
            return actions
        if is_permitted('start') and item.version:
            actions['Run'] = lambda: _go(launch_path(item.name))
        if is_permitted('charts.remove') and not item.folder:
            actions['Remove'] = lambda: self._remove(item)
        return actions

    async def _restore(self, name: str) -> None:
        newest, *_ = await self.backend().charts.versions(name)
        await self.backend().charts.restore(name, newest.version)

    async def _remove(self, item: ChartInfo) -> None:
        text = 'Its versions and its runs are kept: it can be restored.'
        if await confirm(f'Remove {item.title or item.name}?', text, yes='Remove', no='Cancel'):
            await self.backend().charts.remove(item.name)

    async def _create(self) -> None:
        charts = await self.backend().charts.list()
        known = {info.name for info in charts} | self.backend().catalog.patterns.keys()
        templates = {'': BLANK}
        templates |= {
            info.name: f'The chart {info.title or info.name}' for info in charts if not info.removed
        }
        for name, pattern in self.backend().catalog.patterns.items():
            templates.setdefault(name, f'The pattern {pattern.title}')

        async def create(values: dict[str, str]) -> None:
            name = values['name'].strip()
            if not NAME.fullmatch(name):
                raise InvalidInput(
                    {'name': 'must be lower-case words with hyphens between, as in two-writers'}
                )
            if name in known:
                raise InvalidInput({'name': f'there is already a chart or a pattern {name!r}'})
            await _go(chart_path(name, new='1', template=values['template']))

        await ask_event('new chart', _new_model(templates), create)


def _new_model(templates: Mapping[str, str]) -> type[BaseModel]:
    choice: Any = Literal[tuple(templates)]
    labels: Any = {'labels': dict(templates)}
    return create_model(
        'NewChart',
        __doc__='Nothing is stored until you save it.',
        name=(str, Field(min_length=1, max_length=60, title='Name')),
        template=(choice, Field('', title='Begin with', json_schema_extra=labels)),
    )


async def _go(path: str) -> None:
    ui.navigate.to(path)


def _draw_python(backend: Backend) -> None:
    patterns = [item for item in backend().catalog.patterns.values() if not issubclass(item, ChartPattern)]
    if not patterns:
        return
    with Box('section', 'section', aria_labelledby='python'):
        Text('h2', 'Patterns in Python', id='python')
        Text('p', 'Written in an editor elsewhere. Look at one as text, or begin a chart with it.', 'muted')
        with Box('card rows', 'ul'):
            for pattern in patterns:
                with Box(tag='li'), Box('row-summary'):
                    text_link(chart_path(pattern.name), pattern.title, 'strong')
                    Text('span', first_sentence(pattern.summary), 'muted small')
