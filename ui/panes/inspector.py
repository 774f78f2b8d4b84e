"""The inspector: what a step was, why that edge and no other, what it changed, and all of memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from engine import Change, Transition, View
from ui.elements import Tree
from ui.panes.around import Around
from ui.panes.criteria import show_criteria
from ui.panes.spending import SpendingTable
from ui.panes.tabs import Tabs
from ui.presenters.reading import Way, befores, headline, place, short, span, ways
from ui.replay.marks import marks_of
from ui.stepping.desk import Desk
from ui.stepping.panel import BreakpointsPanel
from ui.stepping.words import stopped_words
from ui.theme import empty, notice

DEEDS = ('pause', 'human', 'restart', 'budget')
"""Kinds of marks that say what was done to the run, which the name of the event does not."""
LONGEST = 400
BREAKPOINTS = 'Breakpoints'


class Inspector:
    """One step of a run, and the data after it."""

    def __init__(
        self,
        around: Around,
        follow: Callable[[str], Awaitable[None]],
        desk: Desk,
    ) -> None:
        """Draw the panel; `follow` goes to the next change of a place in the run's data."""
        self._shape, self._named, self._reasons = around.shape, around.named, around.reasons
        self._pending: tuple[View | None, list[str]] = (None, [])
        with ui.element('section').classes('panel inspector').props('aria-label="Inspector"'):
            self._tabs = Tabs('Step, memory, spending or breakpoints', on_change=self._fill)
            with self._tabs.panel('Step'):
                self._step = ui.element('div').classes('step')
                self.below = ui.element('div').classes('ghost')
                """What stays below the step while it changes."""
            with self._tabs.panel('Memory'):
                self._tree = Tree({}, on_follow=follow)
            with self._tabs.panel('Spending'):
                self._spending = SpendingTable(around.named)
            with self._tabs.panel(BREAKPOINTS):
                self.breakpoints = BreakpointsPanel(desk.stepper, desk.setting)

    def show(self, view: View, since: float | None) -> None:
        """Tell of the step that the page stands at, and show the data after it.

        Args:
            view: the run after the step.
            since: seconds since the step before.
        """
        step = self._reasons.step
        self._step.clear()
        with self._step:
            if step is None:
                empty('footprint', 'The run has not taken a step yet.')
            else:
                self._describe(view, step, since)
        changed = [change.path for change in step.changes] if step else []
        self._pending = (view, changed)
        self._fill()

    def open_breakpoints(self) -> None:
        """Open the list of breakpoints."""
        self._tabs.open(BREAKPOINTS)

    def _fill(self) -> None:
        # The whole document is sent only to who looks at it.
        view, changed = self._pending
        if view and self._tabs.shown == 'Memory':
            self._tree.show({'memory': view.memory, 'agents': view.agents}, changed)
        if view and self._tabs.shown == 'Spending':
            self._spending.show(view)

    def _describe(self, view: View, step: Transition, since: float | None) -> None:
        ui.label(f'Step {step.seq}').classes('step-number num')
        ui.label(headline(step)).classes('step-title')
        facts = [f'raised by step {step.seq - 1}'] if step.raised else []
        facts += [f'{span(since)} after the step before'] if since is not None else []
        facts += [f'attempt {step.event.attempt}'] if step.event.attempt > 1 else []
        ui.label(' · '.join(facts)).classes('muted small')
        if step.event.data.get('error'):
            with notice('fail', 'error_outline'):
                ui.label(str(step.event.data['error']))
        for mark in marks_of(step, {}):
            if mark.kind in DEEDS:
                ui.label(stopped_words(mark.text)).classes(f'step-reason mark-{mark.kind}')
        self._moves(step)
        show_criteria(view, step, self._shape, self._named)
        found = ways(step, self._shape)
        if found:
            ui.label('Why this way').classes('step-section')
            for way in found:
                self._way(way)
        ui.label(f'Changes ({len(step.changes)})').classes('step-section')
        if not step.changes:
            ui.label('Nothing was written.').classes('muted small')
        replaced = befores(self._reasons.before, step.changes)
        for change, before in zip(step.changes, replaced, strict=True):
            self._change(change, before)

    def _moves(self, step: Transition) -> None:
        with ui.element('div').classes('moves'):
            for edge in step.edges:
                with ui.element('div').classes('move'):
                    ui.label(place(edge.source)).classes('chip')
                    ui.icon('arrow_forward').props('size="16px" aria-label="to"')
                    ui.label(place(edge.dest) or 'stays').classes('chip strong')
            if not step.edges:
                ui.label(
                    'No state was left or entered.'
                    if step.active or not step.left
                    else 'Every state was left.'
                ).classes('muted small')

    def _way(self, way: Way) -> None:
        with ui.element('div').classes(f'way {"taken" if way.taken else ""}'):
            ui.icon('check_circle' if way.taken else 'radio_button_unchecked').props('size="16px"')
            with ui.element('div'):
                ui.label(f'to {place(way.edge.dest) or "itself"}{_terms(way)}').classes('way-dest')
                ui.label(way.reason).classes('muted small')
                for guard in way.guards:
                    needs = '' if guard.wanted else ' (must be false)'
                    said = f'{guard.name.replace("_", " ")} = {str(guard.value).lower()}{needs}'
                    ui.label(said).classes('guard mono ' + ('ok' if guard.value is guard.wanted else 'no'))
                    self._reasons.draw(way.edge, guard.name)

    def _change(self, change: Change, before: Any) -> None:
        with ui.element('div').classes('change'):
            ui.label(change.path.replace('/', ' / ').strip(' /')).classes('mono change-path')
            if change.op != 'add' and before not in (None, ''):
                ui.label(short(before, LONGEST)).classes('before').props('role="group" aria-label="before"')
            if change.op == 'remove':
                ui.label('removed').classes('muted small')
            else:
                ui.label(short(change.value, LONGEST) or '(empty)').classes('after').props(
                    'role="group" aria-label="after"'
                )


def _terms(way: Way) -> str:
    """What an edge asks for."""
    terms = [
        f'{word} {", ".join(names)}'
        for word, names in (('if', way.edge.conditions), ('unless', way.edge.unless))
        if names
    ]
    return ''.join(f' {term}' for term in terms).replace('_', ' ')
