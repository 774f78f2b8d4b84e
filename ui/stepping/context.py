"""The menu of a state or of an edge in the diagram: sets a breakpoint there at once, or takes it away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import ui

from engine import Breakpoint, EdgeShape, Shape, region_of
from ui.drawing.overlays import standing_edge
from ui.menus import menu
from ui.parts import Text, attach
from ui.presenters.reading import edge_words, place
from ui.stepping.setting import Setting
from ui.stepping.stepper import Stepper
from ui.stepping.words import DEEDS, STEPS, Deed
from ui.theme import button

MOST = 6
"""Edges of one line of a folded drawing that get an entry each."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a menu."""

    icon: str
    text: str
    act: Callable[[], Awaitable[Any]]


class PlaceMenu:
    """The menu, made where it is asked for."""

    def __init__(self, stepper: Stepper, setting: Setting, show_all: Callable[[], Any]) -> None:
        """`show_all` opens the list of all breakpoints."""
        self._stepper, self._setting, self._show_all = stepper, setting, show_all
        self._anchor: ui.element | None = None

    def open(self, asked: Mapping[str, Any], folded: frozenset[str]) -> None:
        """Open it for what the diagram was asked at; `folded` states are drawn as one."""
        kind, name = str(asked.get('kind', '')), str(asked.get('name', ''))
        title, entries = self._entries(kind, name, folded)
        if self._anchor is not None:
            self._anchor.delete()  # not sooner: what an entry began is drawn from there, and outlasts it
        x, y = (max(0, round(float(asked.get(axis) or 0))) for axis in ('x', 'y'))
        self._anchor = ui.element('div').classes('menu-anchor').style(f'left: {x}px; top: {y}px')
        with self._anchor, menu(title) as opened:
            Text('div', title, 'menu-title muted small')
            for entry in entries:
                draw_entry(entry)
        opened.open()

    def _entries(self, kind: str, name: str, folded: frozenset[str]) -> tuple[str, list[Entry]]:
        shape = self._stepper.shape
        entries: list[Entry] = []
        if kind == 'edge':
            title, names = f'Edge {edge_words(name)}', edges_of(shape, name, folded)
            for one in names[:MOST] if self._stepper.steerable else ():
                entries += self._at(
                    Breakpoint(edge=one), edge_words(one) if len(names) > 1 else 'it is taken'
                )
        elif kind == 'state' and shape.state(name):
            title = f'State {place(name)}'
            entries += self.of_state(name)
        else:
            view = self._stepper.view
            title = 'Breakpoints'
            for leaf in (view.active if view else ())[:MOST]:
                entries += self._at(Breakpoint(leave=leaf), f'{place(leaf)} is left')
        if self._stepper.steerable:
            entries.append(
                Entry('add', 'Add breakpoint …', lambda: self._setting.add(_begun(kind, name, shape)))
            )
        return title, [*entries, Entry('list', 'All breakpoints', self._all)]

    def of_state(self, path: str) -> list[Entry]:
        """Breakpoints at a state, and the deeds of step mode for the region that it is or is in."""
        stepper = self._stepper
        if not stepper.steerable or stepper.view is None:
            return []
        found = [
            *self._at(Breakpoint(enter=path), 'it is entered'),
            *self._at(Breakpoint(leave=path), 'it is left'),
        ]
        region = region_of(stepper.shape, path)
        if not region or region not in stepper.view.entered:
            return found
        deeds: Sequence[Deed] = ('resume', *STEPS) if stepper.held(region) else ('pause',)
        return found + [
            Entry(
                DEEDS[deed].icon,
                f'{DEEDS[deed].name}: {place(region)}',
                partial(stepper.do, deed, region),
            )
            for deed in deeds
            if not stepper.refusal(deed, region)
        ]

    def draw_edge(self, edge: EdgeShape) -> None:
        """Draw what can be set at an edge, where it is called."""
        if self._stepper.steerable:
            item = Breakpoint(edge=f'{edge.source}>{edge.dest or edge.source}')
            for entry in self._at(item, 'it is taken'):
                button(entry.text, icon=entry.icon, kind='small').on('click', entry.act)

    def _at(self, item: Breakpoint, words: str) -> list[Entry]:
        """Set one there, or take those away that are there."""
        known = self._stepper.view.breakpoints if self._stepper.view else ()
        there = [
            one for one in known if (one.enter, one.leave, one.edge) == (item.enter, item.leave, item.edge)
        ]
        if there:
            numbers = ', '.join(one.id for one in there)
            return [
                Entry(
                    'remove_circle_outline',
                    f'Remove breakpoint {numbers}: {words}',
                    lambda: self._setting.remove(there),
                )
            ]
        return [Entry('adjust', f'Stop when {words}', lambda: self._setting.put(item))]

    async def _all(self) -> None:
        self._show_all()


def edges_of(shape: Shape, name: str, folded: frozenset[str]) -> list[str]:
    """The edges that a line of the drawing stands for."""
    names = dict.fromkeys(f'{edge.source}>{edge.dest or edge.source}' for edge in shape.edges if edge.dest)
    return [one for one in names if one == name or standing_edge(one, folded) == name]


def draw_entry(entry: Entry) -> None:
    """One entry, in a menu."""
    with ui.element('button').classes('menu-item').props('type="button"') as element:
        attach(element, role='menuitem')
        ui.icon(entry.icon)
        Text('span', entry.text)
    element.on('click', entry.act)


def _begun(kind: str, name: str, shape: Shape) -> Breakpoint:
    if kind == 'edge':
        return Breakpoint(edge=name)
    return Breakpoint(enter=name if shape.state(name) else shape.initial)
