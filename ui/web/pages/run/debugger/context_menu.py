"""The context menu of a state or an edge in the diagram: breakpoints and step controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from engine import Breakpoint
from engine.records import EdgeShape, Shape
from engine.runtime import region_of
from ui.formatting.debugger import CONTROLS, STEPS, DebugAction
from ui.formatting.diagram.overlays import visible_edge
from ui.formatting.steps import edge_name, edge_text, path_text
from ui.web.components.menus import ContextMenu, MenuEntry
from ui.web.pages.run.debugger.breakpoint_store import BreakpointStore
from ui.web.pages.shared.run.debug_controller import DebugController

MAX_EDGES = 6
"""Maximum number of edges behind one line that get their own entries."""


class DebugMenu:
    """The menu of a state, an edge or the background."""

    def __init__(
        self, controller: DebugController, setting: BreakpointStore, show_all: Callable[[], Any]
    ) -> None:
        """`show_all` opens the list of all breakpoints."""
        self._controller, self._breakpoints, self._show_all = controller, setting, show_all
        self._menu = ContextMenu()

    def open(self, target: Mapping[str, Any], folded: frozenset[str]) -> None:
        """Open it for an element of the diagram; `folded` states are drawn as one."""
        kind, name = str(target.get('kind', '')), str(target.get('name', ''))
        title, entries = self._entries(kind, name, folded)
        self._menu.open(target, title, entries)

    def _entries(self, kind: str, name: str, folded: frozenset[str]) -> tuple[str, list[MenuEntry]]:
        shape = self._controller.shape
        entries: list[MenuEntry] = []
        if kind == 'edge':
            title, names = f'Transition {edge_text(name)}', edges_of(shape, name, folded)
            for edge in names[:MAX_EDGES] if self._controller.can_control else ():
                entries += self._breakpoint_entries(
                    Breakpoint(edge=edge), edge_text(edge) if len(names) > 1 else 'it is taken'
                )
        elif kind == 'state' and shape.state(name):
            title = f'State {path_text(name)}'
            entries += self.state_entries(name)
        else:
            view = self._controller.view
            title = 'Breakpoints'
            for leaf in (view.active if view else ())[:MAX_EDGES]:
                entries += self._breakpoint_entries(Breakpoint(leave=leaf), f'{path_text(leaf)} is left')
        if self._controller.can_control:
            entries.append(
                MenuEntry(
                    'add',
                    'Add breakpoint…',
                    lambda: self._breakpoints.add(_new_breakpoint(kind, name, shape)),
                )
            )
        return title, [*entries, MenuEntry('list', 'All breakpoints', self._show_all)]

    def state_entries(self, path: str) -> list[MenuEntry]:
        """Return entries for breakpoints at a state, and step controls for its region."""
        controller = self._controller
        if not controller.can_control or controller.view is None:
            return []
        entries = [
            *self._breakpoint_entries(Breakpoint(enter=path), 'it is entered'),
            *self._breakpoint_entries(Breakpoint(leave=path), 'it is left'),
        ]
        region = region_of(controller.shape, path)
        if not region or region not in controller.view.entered:
            return entries
        actions: Sequence[DebugAction] = ('resume', *STEPS) if controller.is_paused(region) else ('pause',)
        return entries + [
            MenuEntry(
                CONTROLS[action].icon,
                f'{CONTROLS[action].name}: {path_text(region)}',
                partial(controller.perform, action, region),
            )
            for action in actions
            if not controller.refusal(action, region)
        ]

    def edge_entries(self, edge: EdgeShape) -> list[MenuEntry]:
        """Return entries for breakpoints at an edge."""
        item = Breakpoint(edge=edge_name(edge))
        return self._breakpoint_entries(item, 'it is taken') if self._controller.can_control else []

    def _breakpoint_entries(self, item: Breakpoint, words: str) -> list[MenuEntry]:
        """Return an entry that adds a breakpoint here, or removes those that are here."""
        breakpoints = self._controller.view.breakpoints if self._controller.view else ()
        there = [
            other
            for other in breakpoints
            if (other.enter, other.leave, other.edge) == (item.enter, item.leave, item.edge)
        ]
        if there:
            numbers = ', '.join(other.id for other in there)
            return [
                MenuEntry(
                    'remove_circle_outline',
                    f'Remove breakpoint {numbers}: {words}',
                    lambda: self._breakpoints.remove(there),
                )
            ]
        return [MenuEntry('adjust', f'Break when {words}', lambda: self._breakpoints.insert(item))]


def edges_of(shape: Shape, name: str, folded: frozenset[str]) -> list[str]:
    """Return the edges that a line in the drawing stands for."""
    names = dict.fromkeys(edge_name(edge) for edge in shape.edges if edge.dest)
    return [edge for edge in names if edge == name or visible_edge(edge, folded) == name]


def _new_breakpoint(kind: str, name: str, shape: Shape) -> Breakpoint:
    if kind == 'edge':
        return Breakpoint(edge=name)
    return Breakpoint(enter=name if shape.state(name) else shape.initial)
