"""A popover on an edge of the diagram: why it was taken or not, and its breakpoints."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from nicegui import ui
from nicegui.element import Element
from nicegui.events import KeyEventArguments

from engine.records import EdgeShape
from ui.formatting.diagram.overlays import Decoration, visible_edge
from ui.formatting.steps import EdgeOutcome, edge_name, edge_outcomes, path_text
from ui.formatting.values import count
from ui.web.components.elements import Diagram
from ui.web.components.menus import MenuEntry
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, draw_changes, set_attributes
from ui.web.pages.shared.run.context import RunContext
from ui.web.replay.index import Index


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the popover, redrawn only when `shown` changes, so that a click on it is not lost."""

    shown: object
    draw: Callable[[], Element] = field(compare=False)


class EdgeExplanation:
    """A popover that stays with one edge from step to step, until it is closed.

    Args:
        context: the run.
        index: the index of the run's steps.
        seek: goes to a step.
        menu_entries: returns the menu entries for an edge.
    """

    def __init__(
        self,
        context: RunContext,
        index: Index,
        seek: Callable[[int], Awaitable[None]],
        menu_entries: Callable[[EdgeShape], Sequence[MenuEntry]],
    ) -> None:
        self._shape, self._reasons, self._index, self._seek = context.shape, context.reasons, index, seek
        self._menu_entries = menu_entries
        self._outcomes: dict[EdgeShape, EdgeOutcome] = {}
        self._name = ''
        self._pinned = False
        self.folded: frozenset[str] = frozenset()
        """The folded states: a drawn edge may stand for several."""
        self._drawn: dict[str, tuple[_Part, Element]] = {}
        self._root = Box('why', role='dialog')
        self._root.set_visibility(False)
        self._root.on('keydown.escape.stop', lambda: self.close(restore_focus=True))
        ui.keyboard(on_key=self._on_key, ignore=['input', 'select', 'textarea'])
        self._drawing: Diagram | None = None

    def attach_to(self, drawing: Diagram) -> None:
        """Explain the edges of this drawing when they are pointed at or clicked."""
        self._drawing = drawing
        drawing.on_edge(self._on_edge)

    def _on_edge(self, name: str, how: str) -> None:
        """Handle an event of an edge (`ui.web.components.elements.Diagram`)."""
        if how == 'close' or (how == 'leave' and not self._pinned):
            self.close()
        elif how == 'press' or (name and (not self._pinned or not self._name)):
            self._name, self._pinned = name, how == 'press'
            self._draw()
            self._place(focus=how == 'press')

    def close(self, *, restore_focus: bool = False) -> None:
        """Close the popover; `restore_focus` returns the focus to the edge."""
        if restore_focus and self._drawing and self._name:
            self._drawing.run_method('focusEdge', self._name)
        self._name, self._pinned = '', False
        self._root.set_visibility(False)

    def reposition(self) -> None:
        """Stay next to the edge after a new layout, or close if its states are folded away."""
        if self._name and not self._edges():
            self.close()
        elif self._name:
            self._draw()
            self._place()

    def _place(self, *, focus: bool = False) -> None:
        """Place it next to its edge; `focus` moves the focus into it."""
        if self._drawing:
            self._drawing.run_method('placePopover', self._root.html_id, self._name, focus)

    def _on_key(self, event: KeyEventArguments) -> None:
        if self._pinned and event.action.keydown and event.key.escape:  # the focused part was redrawn
            self.close(restore_focus=True)

    def show(self) -> None:
        """Update the open popover to the step that is shown."""
        step = self._reasons.step
        self._outcomes = (
            {outcome.edge: outcome for outcome in edge_outcomes(step, self._shape)} if step else {}
        )
        if self._name:
            self._draw()

    @property
    def decorations(self) -> dict[str, Decoration]:
        """An overlay of the edges that the step considered and did not take."""
        decorations: dict[str, Decoration] = {}
        for edge, outcome in self._outcomes.items():
            if edge.dest and not outcome.taken:
                blocked = any(guard.value is not guard.wanted for guard in outcome.guards)
                classes = 'not-taken' if blocked else 'not-taken not-evaluated'
                decorations[edge_name(edge)] = {'classes': classes, 'badge': '✗' if blocked else '–'}
        for edge, outcome in self._outcomes.items():
            if outcome.taken:
                decorations.pop(edge_name(edge), None)
        return decorations

    @property
    def is_open(self) -> bool:
        """Whether an edge is being explained."""
        return bool(self._name)

    def _edges(self) -> list[EdgeShape]:
        """Return the edges that the drawn one stands for."""
        drawn = [edge for edge in self._shape.edges if edge.dest]
        return [edge for edge in drawn if visible_edge(edge_name(edge), self.folded) == self._name]

    def _draw(self) -> None:
        source, _, dest = self._name.partition('>')
        set_attributes(self._root, aria_label=f'Transition from {path_text(source)} to {path_text(dest)}')
        self._root.set_visibility(True)
        draw_changes(self._root, self._drawn, dict(self._parts(self._edges())), lambda part: part.draw())

    def _parts(self, edges: Sequence[EdgeShape]) -> Iterator[tuple[str, _Part]]:
        verdict, times = self._verdict(edges), self._times(edges)
        yield 'head', _Part(self._name, self._draw_head)
        yield 'verdict', _Part(verdict, lambda: Text('p', verdict, 'why-verdict'))
        yield 'times', _Part(times, lambda: self._draw_times(*times))
        for edge in edges:
            yield f'why {edge}', _Part((self._name, self._reasons.step), partial(self._draw_edge, edge))
            if entries := self._menu_entries(edge):
                texts = [entry.text for entry in entries]
                yield f'acts {edge}', _Part(texts, partial(_draw_entries, entries))

    def _draw_head(self) -> Element:
        source, _, dest = self._name.partition('>')
        with Box('why-head') as head:
            Text('b', f'{path_text(source)} → {path_text(dest)}', 'grow')
            close = button('', icon='close', kind='quiet small', label='Close')
            close.on('click', lambda: self.close(restore_focus=True))
        return head

    def _verdict(self, edges: Sequence[EdgeShape]) -> str:
        step = self._reasons.step
        if step is None:
            return 'No steps yet.'
        here = f'At step {step.seq} ({step.event.name.replace("_", " ")})'
        outcomes = [self._outcomes[edge] for edge in edges if edge in self._outcomes]
        if any(outcome.taken for outcome in outcomes):
            return f'{here}: taken.'
        if any(outcome.guards for outcome in outcomes):
            return f'{here}: not possible.'
        if outcomes:
            reason = outcomes[0].reason
            return f'{here}: {reason[0].lower()}{reason[1:]}.'
        if not step.edges:
            return f'{here}: the step took no transition.'
        return f'{here}: not checked. It is for another event or from another state.'

    def _times(self, edges: Sequence[EdgeShape]) -> tuple[str, list[int], list[int]]:
        """Return how often they were taken, in words, and the nearest steps before and after this one."""
        taken = sorted({seq for edge in edges for seq in self._index.edge_steps.get(edge_name(edge), ())})
        here = self._reasons.step.seq if self._reasons.step else 0
        many = bisect_right(taken, here)
        last = f', last at step {taken[many - 1]}' if many else ''
        text = f'Taken {count(many, "time")} up to this step{last}.' if many else 'Not taken up to this step.'
        return text, [seq for seq in taken if seq < here][-1:], taken[many : many + 1]

    def _draw_times(self, text: str, before: Sequence[int], after: Sequence[int]) -> Element:
        with Box('why-times') as times:
            Text('span', text, 'muted small grow')
            for icon, label, steps in (
                ('chevron_left', 'Previous', before),
                ('chevron_right', 'Next', after),
            ):
                for to in steps:
                    go = button(f'Step {to}', icon=icon, kind='small')
                    set_attributes(go, aria_label=f'{label} time taken: step {to}')
                    go.on('click', lambda to=to: self._seek(to))
        return times

    def _draw_edge(self, edge: EdgeShape) -> Element:
        outcome = self._outcomes.get(edge)
        guards = {(guard.name, guard.wanted): guard for guard in outcome.guards} if outcome else {}
        with Box('why-edge') as part:
            with Box('why-terms'):
                Text('span', edge.trigger.replace('_', ' '), 'chip strong')
                if edge_name(edge) != self._name:
                    Text('span', f'{path_text(edge.source)} → {path_text(edge.dest)}', 'muted small')
                if outcome:
                    Text('span', outcome.reason, 'small')
            for names, expected in ((edge.conditions, True), (edge.unless, False)):
                for name in names:
                    guard = guards.get((name, expected))
                    value = guard.value if guard else None
                    self._reasons.draw(edge, name, expected=expected, value=value)
            if not edge.conditions and not edge.unless:
                Text('div', 'No conditions.', 'muted small')
        return part


def _draw_entries(entries: Sequence[MenuEntry]) -> Element:
    with Box('why-actions') as part:
        for entry in entries:
            button(entry.text, icon=entry.icon, kind='small').on('click', entry.act)
    return part
