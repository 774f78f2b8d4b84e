"""Why an edge was taken or not, beside the edge in the diagram; what else can be done with it, too."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui
from nicegui.events import KeyEventArguments

from engine import EdgeShape
from ui.drawing.diagram import edge_id
from ui.drawing.overlays import Spot, standing_edge
from ui.elements import Diagram
from ui.panes.around import Around
from ui.parts import Text, attach
from ui.presenters.reading import Way, place, ways
from ui.presenters.words import count
from ui.replay.index import Index
from ui.theme import button

More = Callable[[EdgeShape], None]
"""Draws more about an edge: into the popover, where it is called."""


class Why:
    """A popover that follows one edge from step to step, until it is closed.

    Args:
        around: the run.
        index: what the run's steps say.
        seek: goes to a step.
    """

    def __init__(self, around: Around, index: Index, seek: Callable[[int], Awaitable[None]]) -> None:
        self._shape, self._reasons, self._index, self._seek = around.shape, around.reasons, index, seek
        self._ways: dict[EdgeShape, Way] = {}
        self._name = ''
        self._pinned = False
        self.folded: frozenset[str] = frozenset()
        """Which states are drawn as one: an edge may stand for several."""
        self.more: list[More] = []
        """What is drawn under each edge besides."""
        with ui.element('div').classes('why').props('role="dialog"') as self._root:
            pass
        self._root.set_visibility(False)
        self._root.on('keydown.escape.stop', lambda: self.close(back=True))
        ui.keyboard(on_key=self._key, ignore=['input', 'select', 'textarea'])
        self._drawing: Diagram | None = None

    def of(self, drawing: Diagram) -> None:
        """Stand beside the edges of this drawing."""
        self._drawing = drawing
        drawing.on_edge(self.heard)

    def heard(self, name: str, how: str) -> None:
        """Something was done to an edge (`ui.elements.Diagram`)."""
        if how == 'close' or (how == 'leave' and not self._pinned):
            self.close()
        elif how == 'press' or (name and (not self._pinned or not self._name)):
            self._name, self._pinned = name, how == 'press'
            self._draw()
            if self._drawing:
                self._drawing.run_method('hang', self._root.html_id, name, how == 'press')

    def close(self, *, back: bool = False) -> None:
        """Go away; `back` gives the focus back to the edge."""
        if back and self._drawing and self._name:
            self._drawing.run_method('refocus', self._name)
        self._name, self._pinned = '', False
        self._root.set_visibility(False)

    def _key(self, event: KeyEventArguments) -> None:
        if self._pinned and event.action.keydown and event.key.escape:  # what had the focus was drawn anew
            self.close(back=True)

    def show(self) -> None:
        """Say of what is open how it is at the step that is shown now."""
        step = self._reasons.step
        self._ways = {way.edge: way for way in ways(step, self._shape)} if step else {}
        if self._name:
            self._draw()

    @property
    def spots(self) -> dict[str, Spot]:
        """The edges that the step considered and did not take, as an overlay."""
        found: dict[str, Spot] = {}
        for edge, way in self._ways.items():
            if edge.dest and not way.taken:
                blocked = any(guard.value is not guard.wanted for guard in way.guards)
                found[edge_id(edge)] = {'classes': 'barred', 'badge': '✗' if blocked else '–'}
        for edge, way in self._ways.items():
            if way.taken:
                found.pop(edge_id(edge), None)
        return found

    def _draw(self) -> None:
        edges = [
            edge
            for edge in self._shape.edges
            if edge.dest and standing_edge(edge_id(edge), self.folded) == self._name
        ]
        source, _, dest = self._name.partition('>')
        attach(self._root, aria_label=f'Edge from {place(source)} to {place(dest)}')
        self._root.clear()
        self._root.set_visibility(True)
        with self._root:
            with ui.element('div').classes('why-head'):
                Text('b', f'{_end(source)} → {_end(dest)}', 'grow')
                close = button('', icon='close', kind='quiet small', label='Close')
                close.on('click', lambda: self.close(back=True))
            Text('p', self._verdict(edges), 'why-verdict')
            self._times(edges)
            for edge in edges:
                with ui.element('div').classes('why-edge'):
                    self._edge(edge, named=edge_id(edge) != self._name)
                    for more in self.more:
                        more(edge)

    def _verdict(self, edges: Sequence[EdgeShape]) -> str:
        step = self._reasons.step
        if step is None:
            return 'The run has not taken a step yet.'
        here = f'At step {step.seq} ({step.event.name.replace("_", " ")})'
        found = [self._ways[edge] for edge in edges if edge in self._ways]
        if any(way.taken for way in found):
            return f'{here}: taken.'
        if found:
            return f'{here}: considered, and not taken.'
        if not step.edges:
            return f'{here}: nothing moved, and no edge was asked about.'
        return f'{here}: not asked about. It is for another event, or leaves another state.'

    def _times(self, edges: Sequence[EdgeShape]) -> None:
        taken = sorted({seq for edge in edges for seq in self._index.walked.get(edge_id(edge), ())})
        here = self._reasons.step.seq if self._reasons.step else 0
        many = bisect_right(taken, here)
        last = f', last at step {taken[many - 1]}' if many else ''
        said = f'Taken {count(many, "time")} up to this step{last}.' if many else 'Not taken up to this step.'
        before, after = [seq for seq in taken if seq < here][-1:], taken[many : many + 1]
        with ui.element('div').classes('why-times'):
            Text('span', said, 'muted small grow')
            for icon, label, found in (
                ('chevron_left', 'The time before', before),
                ('chevron_right', 'The next time', after),
            ):
                for to in found:
                    go = button(f'Step {to}', icon=icon, kind='small')
                    attach(go, aria_label=f'{label} that it is taken: step {to}')
                    go.on('click', lambda to=to: self._seek(to))

    def _edge(self, edge: EdgeShape, *, named: bool) -> None:
        way = self._ways.get(edge)
        with ui.element('div').classes('why-terms'):
            Text('span', edge.trigger.replace('_', ' '), 'chip strong')
            if named:
                Text('span', f'{_end(edge.source)} → {_end(edge.dest)}', 'muted small')
            if way:
                Text('span', way.reason, 'small')
        asked = {(guard.name, guard.wanted): guard for guard in way.guards} if way else {}
        for names, wanted in ((edge.conditions, True), (edge.unless, False)):
            for name in names:
                guard = asked.get((name, wanted))
                was = 'not evaluated' if guard is None else f'was {str(guard.value).lower()}'
                fits = '' if guard is None else 'ok' if guard.value is guard.wanted else 'no'
                wants = f'{name.replace("_", " ")}: wanted {str(wanted).lower()}, {was}'
                Text('div', wants, f'guard mono {fits}')
                if guard is not None:
                    self._reasons.draw(edge, name)
        if not edge.conditions and not edge.unless:
            Text('div', 'It has no conditions.', 'muted small')


def _end(path: str) -> str:
    return 'start' if path == '[*]' else place(path)
