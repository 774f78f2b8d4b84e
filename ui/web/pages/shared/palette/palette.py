"""Ctrl+K on every page: its actions, other pages, patterns and runs, found by a few letters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine import EngineError
from engine.charts import ChartPattern
from engine.records import RunInfo, RunQuery
from ui.app.backend import Backend
from ui.formatting.values import count, status_text
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, link, set_attributes
from ui.web.pages.shared.palette.matching import SCATTERED, match
from ui.web.permission import is_permitted
from ui.web.routing import PLACES, chart_path, launch_path

MAX_SHOWN, MAX_UNASKED = 30, 5
"""The most entries, and the most of each kind while nothing has been typed."""
MAX_RECENT, MAX_FOUND = 50, 10
"""The most runs whose titles are matched fuzzily, and the most that the journal is asked for."""
LIST = 'palette-list'
OPEN = '() => hemicycleOpenPalette()'


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something to go to or to do."""

    title: str
    note: str
    path: str = ''
    """Where it leads; '' for an action, the page's own button of this name."""


class Palette:
    """A dialog with one field and what it finds; `frame/palette.js` has its keys, and names the actions."""

    def __init__(self, backend: Backend) -> None:
        """Draw it closed, with the button that opens it."""
        self._backend = backend
        self._query: str | None = None
        button('', icon='search', kind='quiet wide-only', label='Search and commands (Ctrl K)').on(
            'click', js_handler=OPEN
        )
        with Box('card palette', 'dialog', id='palette', aria_label='Search and commands'):
            self._field = Box(
                'palette-field',
                'input',
                type='text',
                role='combobox',
                aria_label='Search patterns, runs, pages and actions',
                aria_controls=LIST,
                aria_expanded='true',
                aria_autocomplete='list',
                placeholder='Patterns, runs, pages, actions',
                autocomplete='off',
                spellcheck='false',
            )
            self._list = Box('palette-list', 'ul', id=LIST, role='listbox', aria_label='Found')
            self._status = Text('p', '', 'visually-hidden', role='status')
        self._field.on('ask', self._ask, js_handler='(event) => emit(event.detail)')

    async def _ask(self, event: Any) -> None:
        query, actions = str(event.args['query'])[:200], [str(name) for name in event.args['actions']]
        self._query = query
        entries = await find(self._backend, query, actions)
        if self._query != query or self._list.is_deleted:
            return  # more has been typed meanwhile
        self._list.clear()
        with self._list:
            for index, entry in enumerate(entries):
                _draw(index, entry)
        set_attributes(self._list, data_query=query)
        self._status.show(count(len(entries), 'entry', 'entries') if entries else 'Nothing found')


def _draw(index: int, entry: Entry) -> None:
    kind = 'palette-entry'
    element = link(entry.path, kind) if entry.path else Box(kind, data_action=entry.title)
    set_attributes(element, id=f'palette-{index}', role='option', tabindex='-1', aria_selected='false')
    with element:
        Text('span', entry.title, 'palette-title', dir='auto')
        Text('span', entry.note, 'muted small')


async def find(backend: Backend, query: str, actions: Sequence[str]) -> list[Entry]:
    """Return what answers `query`, the best first; without one, some of each kind."""
    groups = [
        [Entry(title=name, note='Action') for name in actions],
        list(_places()),
        list(_patterns(backend)),
        list(_charts(backend)),
        await _runs(backend, query),
    ]
    if not query.strip():
        return [entry for group in groups for entry in group[:MAX_UNASKED]]
    scored = [(_score(query, entry), entry) for group in groups for entry in group]
    ranked = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], len(pair[1].title)))
    return [entry for _, entry in ranked[:MAX_SHOWN]]


def _score(query: str, entry: Entry) -> float:
    """Words of the title count for more than what it is called, or what the journal found a run by."""
    if entry.path.startswith('/runs/'):
        return match(query, entry.title) or SCATTERED / 2
    return match(query, entry.title) or match(query, f'{entry.title} {entry.note}') / 2


def _places() -> Iterator[Entry]:
    for place in PLACES.values():
        if place.is_offered():
            yield Entry(title=place.title, note='Settings' if '#' in place.path else 'Page', path=place.path)


def _patterns(backend: Backend) -> Iterator[Entry]:
    if is_permitted('start'):
        for name, pattern in backend().catalog.patterns.items():
            yield Entry(title=pattern.title, note='Pattern', path=launch_path(name))


def _charts(backend: Backend) -> Iterator[Entry]:
    for name, pattern in backend().catalog.patterns.items():
        if issubclass(pattern, ChartPattern):
            yield Entry(title=pattern.title, note='Chart', path=chart_path(name))


async def _runs(backend: Backend, query: str) -> list[Entry]:
    """Return recent runs whose title answers the query, and those that the journal finds by it."""
    try:
        recent = (await backend().runs(RunQuery(limit=MAX_RECENT))).runs
        by_text = (await backend().runs(RunQuery(text=query.strip(), limit=MAX_FOUND))).runs
    except EngineError:
        return []  # the pages report it
    near = [info for info in recent if match(query, info.title)]
    return [_run(info) for info in {info.id: info for info in (*near, *by_text)}.values()]


def _run(info: RunInfo) -> Entry:
    return Entry(
        title=info.title or info.id,
        note=f'Run · {status_text(info.status, info.error)}',
        path=f'/runs/{info.id}',
    )
