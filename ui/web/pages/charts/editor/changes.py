"""Changes of a chart from its diagram by menus and dialogs: each an edit, and one step of undo."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from textwrap import shorten
from typing import Any, Literal

from nicegui import ui
from pydantic import Field, create_model

from engine import InvalidInput
from engine.charts.edits import (
    AddAgent,
    AddEdge,
    AddState,
    ChangeEdge,
    DeleteEdge,
    DeleteState,
    Edit,
    Rename,
    SetKey,
    edit_chart,
)
from engine.records import EdgeShape, StatePath
from ui.formatting.diagram.difference_words import when_words
from ui.formatting.diagram.overlays import visible_edge
from ui.formatting.steps import edge_name, edge_text, path_text
from ui.web.components.dialogs import ask_event
from ui.web.components.menus import ContextMenu, MenuEntry
from ui.web.pages.charts.checking import Checked
from ui.web.pages.charts.editor.text import ChartText

MAX_EDGES = 6
"""Maximum number of edges behind one line of the diagram that get their own entries."""
MAX_WHEN = 48
"""Maximum number of characters that say which of several edges an entry is about."""
KINDS = {'plain': 'Goes on at once', 'waits': 'Waits for a person', 'final': 'Ends what it is in'}
NAME: Any = Field(min_length=1, max_length=60, title='Name')
GUARDS: Any = 'Names of guards or expressions, such as memory.round >= 3'


class Changes:
    """Changes the text of an editor."""

    def __init__(
        self, text: ChartText, checked: Callable[[], Checked], folded: Callable[[], frozenset[str]]
    ) -> None:
        """`checked` returns the last text without errors, `folded` the states that are drawn as one."""
        self._text, self._checked, self._folded = text, checked, folded
        self._menu = ContextMenu()

    def open_menu(self, target: Mapping[str, Any], *, whole: bool = False) -> None:
        """Open the menu of a state, an edge or the background, by `kind` and `name`, at `x` and `y`.

        With `whole`, it has the entries of the background, too.
        """
        kind, name = str(target.get('kind', '')), str(target.get('name', ''))
        title, entries = 'Chart', list[MenuEntry]()
        if kind == 'edge' and (edges := self._edges(name)):
            title, entries = f'Transition {edge_text(name)}', list(self._edge_entries(edges))
        elif kind == 'state' and (path := self._written(name)):
            title, entries = f'State {path_text(path)}', list(self.state_entries(path))
        if whole or not entries:
            entries += self.chart_entries()
        self._menu.open(target, title, entries)

    def chart_entries(self, parent: str = '') -> Iterator[MenuEntry]:
        """Yield what may be added to the chart, or inside a state of it."""
        yield MenuEntry('add', 'Add agent…', partial(self._add_agent, parent))
        yield MenuEntry('add', 'Add state…', partial(self._add_state, parent))
        yield MenuEntry('trending_flat', 'Add transition…', self._add_edge)

    def state_entries(self, path: str) -> Iterator[MenuEntry]:
        """Yield what may be done with a state."""
        yield MenuEntry('trending_flat', 'Add transition from here…', partial(self._add_edge, path))
        if self._holds_states(path):
            yield from list(self.chart_entries(path))[:2]
        yield MenuEntry('edit', 'Rename…', partial(self._rename, 'state', path))
        if role := self._role(path):
            yield MenuEntry('edit', f'Rename the role {role}…', partial(self._rename, 'role', role))
        yield MenuEntry('schedule', 'Time limit…', partial(self._limit, path))
        delete = DeleteState(state=StatePath(path))
        yield MenuEntry(
            'delete', 'Delete', partial(self._apply_or_tell, delete, f'{path_text(path)} was deleted')
        )

    def _edge_entries(self, edges: list[EdgeShape]) -> Iterator[MenuEntry]:
        for edge in edges[:MAX_EDGES]:
            which = f' ({shorten(when_words(edge), MAX_WHEN, placeholder="…")})' if len(edges) > 1 else ''
            yield MenuEntry('rule', f'Change…{which}', partial(self._change_edge, edge))
            for guard in (*edge.conditions, *edge.unless):
                if guard in self._checked().places.guards:
                    yield MenuEntry('edit', f'Rename {guard}…', partial(self._rename, 'guard', guard))
            delete = DeleteEdge(
                trigger=edge.trigger, source=edge.source, dest=edge.dest, number=self._number(edge)
            )
            yield MenuEntry(
                'delete', f'Delete{which}', partial(self._apply_or_tell, delete, 'The transition was deleted')
            )

    def _edges(self, name: str) -> list[EdgeShape]:
        shape = self._checked().shape
        return [
            edge
            for edge in (shape.edges if shape else ())
            if edge.source != '[*]'
            and self._written(edge.source) == edge.source
            and (edge_name(edge) == name or visible_edge(edge_name(edge), self._folded()) == name)
        ]

    def _number(self, edge: EdgeShape) -> int:
        """Return which one of those with the same event and ends an edge is."""
        shape = self._checked().shape
        same = [
            other
            for other in (shape.edges if shape else ())
            if (other.trigger, other.source, other.dest) == (edge.trigger, edge.source, edge.dest)
        ]
        return next(at for at, other in enumerate(same) if other is edge or other == edge)

    def _written(self, path: str) -> str:
        """Return the state of the text that a state of the diagram is, or is inside; '' without one."""
        states = self._states()
        while path and path not in states:
            path = path.rpartition('.')[0]
        return path

    def _states(self) -> list[str]:
        return self._checked().places.states

    def _holds_states(self, path: str) -> bool:
        shape = self._checked().shape
        state = shape.state(path) if shape else None
        return bool(state and not state.role and state.kind in ('compound', 'parallel'))

    def _role(self, path: str) -> str:
        """Return the role of an agent that the text declares; '' for other states."""
        shape = self._checked().shape
        state = shape.state(path) if shape else None
        return state.role if state and state.role in self._checked().places.roles else ''

    def _parents(self) -> dict[str, str]:
        return {
            '': 'The chart',
            **{path: path_text(path) for path in self._states() if self._holds_states(path)},
        }

    async def _add_state(self, parent: str) -> None:
        async def add(values: dict[str, Any]) -> None:
            kind = values.pop('what')
            waits = values.pop('waits') or values['name']
            await self.apply(
                AddState(**values, final=kind == 'final', waits=waits if kind == 'waits' else '')
            )

        model = create_model(
            'State',
            __doc__='A state without an agent.',
            name=(str, NAME),
            what=(_choice(KINDS), Field('waits', title='What it does',
                                        json_schema_extra=_extra(labels=KINDS))),
            waits=(str, Field('', title='Waits for', description='The event that a person sends',
                              json_schema_extra=_extra(when={'what': ['waits']}))),
            **self._places(parent),
        )  # fmt: skip
        await ask_event('add state', model, add)

    async def _add_agent(self, parent: str) -> None:
        roles = self._checked().places.roles

        async def add(values: dict[str, Any]) -> None:
            await self.apply(AddAgent(**values))

        model = create_model(
            'Agent',
            __doc__='A state in which an agent works.',
            name=(str, NAME),
            role=(str, Field(min_length=1, title='Role', json_schema_extra=_extra(suggestions=roles))),
            instructions=(str, Field('', title='Instructions', description='Of the role, if it is new',
                                     json_schema_extra=_extra(multiline=True))),
            prompt=(str, Field(min_length=1, title='Task', description='A template: {{ memory.task }}',
                               json_schema_extra=_extra(multiline=True))),
            **self._places(parent),
        )  # fmt: skip
        await ask_event('add agent', model, add)

    def _places(self, parent: str) -> dict[str, Any]:
        """Return the fields that say where a new state is, and where it leads."""
        parents, dests = (
            self._parents(),
            {'': 'Nowhere yet', **{path: path_text(path) for path in self._states()}},
        )
        fields: dict[str, Any] = {
            'to': (_choice(dests), Field('', title='Leads to', json_schema_extra=_extra(labels=dests)))
        }
        if len(parents) > 1:
            fields['parent'] = (
                _choice(parents), Field(parent, title='Inside', json_schema_extra=_extra(labels=parents))
            )  # fmt: skip
        return fields

    async def _add_edge(self, source: str = '') -> None:
        states = {path: path_text(path) for path in self._states()}
        first = source or next(iter(states), '')

        async def add(values: dict[str, Any]) -> None:
            await self.apply(AddEdge(**values))

        model = create_model(
            'Edge',
            __doc__='A transition: what leads from one state to another.',
            trigger=(
                str,
                Field(
                    'done', min_length=1, title='Event', json_schema_extra=_extra(suggestions=self._events())
                ),
            ),
            source=(_choice(states), Field(first, title='From', json_schema_extra=_extra(labels=states))),
            dest=(_choice(states), Field(first, title='To', json_schema_extra=_extra(labels=states))),
            conditions=(list[str], Field([], title='Only if', description=GUARDS)),
        )
        await ask_event('add transition', model, add)

    async def _rename(self, what: Literal['state', 'role', 'guard'], old: str) -> None:
        async def rename(values: dict[str, Any]) -> None:
            await self.apply(Rename(what=what, old=old, new=values['new']))

        name = old.rpartition('.')[2]
        model = create_model(
            'Name',
            __doc__=f'Renames {path_text(old)} everywhere: in transitions, guards, stubs and templates.',
            new=(str, Field(name, min_length=1, max_length=60, title='Name')),
        )
        await ask_event('rename', model, rename)

    async def _limit(self, path: str) -> None:
        shape = self._checked().shape
        state = shape.state(path) if shape else None

        async def limit(values: dict[str, Any]) -> None:
            await self.apply(SetKey(state=StatePath(path), key='within', value=values['within']))

        model = create_model(
            'Limit',
            __doc__=f'After this time, {path_text(path)} gets the event expired.',
            within=(
                float | None,
                Field(state.within if state else None, gt=0, title='Seconds', description='Empty: no limit'),
            ),
        )
        await ask_event('time limit', model, limit)

    async def _change_edge(self, edge: EdgeShape) -> None:
        dests = {edge.dest: path_text(edge.dest) or 'Nowhere: the state stays'}
        dests |= {path: path_text(path) for path in self._states()}
        now = {
            'trigger': edge.trigger, 'dest': edge.dest, 'conditions': [*edge.conditions],
            'unless': [*edge.unless],
        }  # fmt: skip

        async def change(values: dict[str, Any]) -> None:
            new = {name: value if value != now[name] else None for name, value in values.items()}
            await self.apply(
                ChangeEdge(
                    trigger=edge.trigger,
                    source=edge.source,
                    dest=edge.dest,
                    number=self._number(edge),
                    new_trigger=new['trigger'],
                    new_dest=new['dest'],
                    conditions=new['conditions'],
                    unless=new['unless'],
                )
            )

        model = create_model(
            'Transition',
            __doc__=f'What leads out of {path_text(edge.source)}. If it has several sources, all change.',
            trigger=(
                str,
                Field(edge.trigger, min_length=1, title='Event',
                      json_schema_extra=_extra(suggestions=self._events())),
            ),
            dest=(_choice(dests), Field(edge.dest, title='To', json_schema_extra=_extra(labels=dests))),
            conditions=(list[str], Field(now['conditions'], title='Only if', description=GUARDS)),
            unless=(list[str], Field(now['unless'], title='Unless', description=GUARDS)),
        )  # fmt: skip
        await ask_event('change transition', model, change)

    def _events(self) -> list[str]:
        return ['done', 'failed', 'expired', 'always', *self._checked().places.inputs]

    async def apply(self, edit: Edit) -> None:
        """Change the text. Raises `InvalidInput`: why that is not possible, by field."""
        before = self._text.text
        after = await asyncio.to_thread(edit_chart, before, edit)
        if self._text.text != before:
            raise InvalidInput({'': 'the text was changed meanwhile; try again'})
        self._text.replace(after)

    async def _apply_or_tell(self, edit: Edit, done: str) -> None:
        """Change the text, and say so or why not."""
        try:
            await self.apply(edit)
        except InvalidInput as error:
            ui.notify('; '.join(error.problems.values()), type='warning')
        else:
            ui.notify(f'{done}. Undo brings it back.')


def _choice(options: Mapping[str, str]) -> Any:
    return Literal[tuple(options)]


def _extra(**more: Any) -> Any:
    """Return what the schema of a field has beyond its type: `labels`, `suggestions`, `multiline`, `when`."""
    return more
