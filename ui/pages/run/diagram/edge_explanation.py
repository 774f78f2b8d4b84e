"""A popover on an edge of the diagram: why it was taken or not, and its breakpoints."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui
from nicegui.events import KeyEventArguments

from engine.records import EdgeShape
from ui.components.diagram.overlays import Decoration, visible_edge
from ui.components.diagram.rendering import edge_id
from ui.components.elements import Diagram
from ui.components.theme import button
from ui.components.widgets import Text, set_attributes
from ui.formatting.steps import EdgeOutcome, edge_outcomes, path_text
from ui.formatting.values import count
from ui.pages.run.context import RunContext
from ui.replay.index import Index

More = Callable[[EdgeShape], None]
"""Draws more about an edge into the popover."""


class EdgeExplanation:
    """A popover that stays with one edge from step to step, until it is closed.

    Args:
        context: the run.
        index: the index of the run's steps.
        seek: goes to a step.
    """

    def __init__(self, context: RunContext, index: Index, seek: Callable[[int], Awaitable[None]]) -> None:
        self._shape, self._reasons, self._index, self._seek = context.shape, context.reasons, index, seek
        self._ways: dict[EdgeShape, EdgeOutcome] = {}
        self._name = ''
        self._pinned = False
        self.folded: frozenset[str] = frozenset()
        """The folded states: a drawn edge may stand for several."""
        self.more: list[More] = []
        """Draws more under each edge."""
        with ui.element('div').classes('why').props('role="dialog"') as self._root:
            pass
        self._root.set_visibility(False)
        self._root.on('keydown.escape.stop', lambda: self.close(back=True))
        ui.keyboard(on_key=self._key, ignore=['input', 'select', 'textarea'])
        self._drawing: Diagram | None = None

    def of(self, drawing: Diagram) -> None:
        """Attach to the edges of this drawing."""
        self._drawing = drawing
        drawing.on_edge(self._on_edge)

    def _on_edge(self, name: str, how: str) -> None:
        """Handle an event of an edge (`ui.components.elements.Diagram`)."""
        if how == 'close' or (how == 'leave' and not self._pinned):
            self.close()
        elif how == 'press' or (name and (not self._pinned or not self._name)):
            self._name, self._pinned = name, how == 'press'
            self._draw()
            if self._drawing:
                self._drawing.run_method('hang', self._root.html_id, name, how == 'press')

    def close(self, *, back: bool = False) -> None:
        """Close; `back` returns the focus to the edge."""
        if back and self._drawing and self._name:
            self._drawing.run_method('refocus', self._name)
        self._name, self._pinned = '', False
        self._root.set_visibility(False)

    def _key(self, event: KeyEventArguments) -> None:
        if self._pinned and event.action.keydown and event.key.escape:  # what had the focus was redrawn
            self.close(back=True)

    def show(self) -> None:
        """Update the open popover to the step that is shown."""
        step = self._reasons.step
        self._ways = {way.edge: way for way in edge_outcomes(step, self._shape)} if step else {}
        if self._name:
            self._draw()

    @property
    def spots(self) -> dict[str, Decoration]:
        """An overlay of the edges that the step considered and did not take."""
        found: dict[str, Decoration] = {}
        for edge, way in self._ways.items():
            if edge.dest and not way.taken:
                blocked = any(guard.value is not guard.wanted for guard in way.guards)
                classes = 'barred' if blocked else 'barred unasked'
                found[edge_id(edge)] = {'classes': classes, 'badge': '✗' if blocked else '–'}
        for edge, way in self._ways.items():
            if way.taken:
                found.pop(edge_id(edge), None)
        return found

    @property
    def is_open(self) -> bool:
        """Whether something is said of an edge."""
        return bool(self._name)

    def _draw(self) -> None:
        edges = [
            edge
            for edge in self._shape.edges
            if edge.dest and visible_edge(edge_id(edge), self.folded) == self._name
        ]
        source, _, dest = self._name.partition('>')
        set_attributes(self._root, aria_label=f'Transition from {path_text(source)} to {path_text(dest)}')
        self._root.clear()
        self._root.set_visibility(True)
        with self._root:
            with ui.element('div').classes('why-head'):
                Text('b', f'{path_text(source)} → {path_text(dest)}', 'grow')
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
        if any(way.guards for way in found):
            return f'{here}: evaluated, not taken.'
        if found:
            reason = found[0].reason.replace(':', ';')
            return f'{here}: {reason}.'
        if not step.edges:
            return f'{here}: no transition was evaluated.'
        return f'{here}: not evaluated. It is for another event or from another state.'

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
                ('chevron_left', 'Previous', before),
                ('chevron_right', 'Next', after),
            ):
                for to in found:
                    go = button(f'Step {to}', icon=icon, kind='small')
                    set_attributes(go, aria_label=f'{label} time taken: step {to}')
                    go.on('click', lambda to=to: self._seek(to))

    def _edge(self, edge: EdgeShape, *, named: bool) -> None:
        way = self._ways.get(edge)
        with ui.element('div').classes('why-terms'):
            Text('span', edge.trigger.replace('_', ' '), 'chip strong')
            if named:
                Text('span', f'{path_text(edge.source)} → {path_text(edge.dest)}', 'muted small')
            if way:
                Text('span', way.reason, 'small')
        asked = {(guard.name, guard.wanted): guard for guard in way.guards} if way else {}
        for names, wanted in ((edge.conditions, True), (edge.unless, False)):
            for name in names:
                guard = asked.get((name, wanted))
                self._reasons.draw(edge, name, wanted=wanted, value=guard.value if guard else None)
        if not edge.conditions and not edge.unless:
            Text('div', 'No conditions.', 'muted small')
