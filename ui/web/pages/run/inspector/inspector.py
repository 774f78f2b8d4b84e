"""The inspector: a step with its transition, reasons and changes; memory, usage and breakpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nicegui import ui
from typing_extensions import override

from engine import EngineError, Transition
from engine.agents import GUARD_PHRASES
from engine.records import Change, Shape, View
from ui.formatting.changes import change_title, value_html, wordings
from ui.formatting.sentences import FAILURES, MAX_CAUSE, step_facts, step_sentence
from ui.formatting.steps import edge_outcomes, previous_values
from ui.formatting.values import with_list_ends, with_times
from ui.web.components.debounce import create_page_task
from ui.web.components.elements import Engagement, JsonTree
from ui.web.components.tabs import Tabs
from ui.web.components.theme import button, empty_state, text_notice
from ui.web.components.widgets import Box, Text
from ui.web.pages.run.debugger.panel import BreakpointsPanel
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.run.player.player import Player
from ui.web.pages.shared.run.transition_reasons import draw_reasons
from ui.web.pages.shared.run.usage_table import UsageTable

BREAKPOINTS = 'Breakpoints'


class Inspector(Pane):
    """One step of a run, and the data after it."""

    place = 'column'
    faces = ('debug',)

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        context, debugger = page.context, page.debugger
        debugger.on_reveal(self.open_breakpoints)
        self._shape, self._name_of, self._reasons = context.shape, context.name_of, context.reasons
        self._pending: tuple[View | None, list[str]] = (None, [])
        self._reading: asyncio.Task[None] | None = None
        self._engaged = False
        """Whether the focus or the selection is in a text."""
        self._postponed: Moment | None = None
        """A newer step, which is shown once nobody is reading this one."""
        with Box('panel inspector', 'section', aria_label='Inspector'):
            Engagement(self._set_engaged)
            self._tabs = Tabs('Step, memory, usage or breakpoints', on_change=self._on_open)
            with self._tabs.panel('Step'):
                self._step = Box('step')
                with Box('ghost'):
                    page.draw('below step')
            with self._tabs.panel('Memory'):
                self._tree = JsonTree({}, on_follow=self._go_to_change)
            with self._tabs.panel('Usage'):
                self._usage = UsageTable(context.name_of, context.conductor.catalog.registry.cache_saving)
            with self._tabs.panel(BREAKPOINTS):
                self._breakpoints = BreakpointsPanel(debugger.controller, debugger.breakpoints)
            self._follow = button('', kind='follow')
            self._follow_text = Text('span', '')
            self._follow_text.move(self._follow)
            self._follow.classes(remove='icon').on('click', lambda: self._set_engaged(False))
            self._follow.set_visibility(False)

    @override
    def show_step(self, moment: Moment) -> None:
        """Show the step and the data after it; a new one waits while somebody is reading another."""
        view, step = moment.view, moment.step
        self._breakpoints.show_step(moment.at)
        if moment.live and self._engaged:
            self._postponed = moment
            self._follow_text.show(f'Show step {view.seq}')
            self._follow.set_visibility(True)
            return
        self._postponed = None
        self._follow.set_visibility(False)
        self._step.clear()
        with self._step:
            if step is None:
                empty_state('hourglass_empty', 'No steps yet.')
            else:
                self._draw_step(view, step, moment.since)
        changed = [change.path for change in step.changes] if step else []
        self._pending = (view, changed)
        self._fill()

    @property
    def tab(self) -> str:
        """The open tab as named in the address; '' is the first."""
        return '' if self._tabs.shown == self._tabs.titles[0] else self._tabs.shown.lower()

    def open(self, tab: str) -> None:
        """Open the tab named in the address."""
        titles = {title.lower(): title for title in self._tabs.titles}
        title = titles.get(tab, self._tabs.titles[0])
        if title != self._tabs.shown:
            self._tabs.open(title)

    def _on_open(self) -> None:
        self._fill()
        self.page.show_address()

    async def _go_to_change(self, place: str) -> None:
        await self.page.find(Player).jump_to_change(place)

    def open_breakpoints(self) -> None:
        """Switch to the tab of breakpoints."""
        self._tabs.open(BREAKPOINTS)

    def _set_engaged(self, engaged: bool) -> None:
        self._engaged = engaged
        if self._postponed and not engaged:
            self.show_step(self._postponed)

    def _fill(self) -> None:
        # The whole document is sent only while its tab is open.
        view, _ = self._pending
        if view and self._tabs.shown == 'Memory' and (self._reading is None or self._reading.done()):
            self._reading = create_page_task(self._step, self._show_memory(), 'show memory')
        if view and self._tabs.shown == 'Usage':
            self._usage.show(view)

    async def _show_memory(self) -> None:
        """Show the memory of the pending step, then of the latest one that arrived meanwhile."""
        latest = None
        while (view := self._pending[0]) and view is not latest and self._tabs.shown == 'Memory':
            changed = self._pending[1]
            # In a thread: long lists are only now read from earlier snapshots, and other pages must not wait.
            try:
                document, words = await asyncio.to_thread(_document_of, view)
            except EngineError as error:
                document, words = {'memory': f'It cannot be read: {error}'}, {}
            if self._tree.is_deleted:
                return
            self._tree.show(document, changed, words)
            latest = view

    def _draw_step(self, view: View, step: Transition, since: float | None) -> None:
        ui.label(f'Step {step.seq}').classes('step-number num')
        failing = 'failing' if step.event.name in FAILURES else ''
        Text('div', step_sentence(step, self._shape), f'step-title {failing}')
        if facts := step_facts(step, since):
            Text('div', facts, 'muted small')
        error = str(step.event.data.get('error') or '')
        if len(error) > MAX_CAUSE:  # the sentence has only its beginning
            text_notice('fail', 'error_outline', error)
        draw_reasons(edge_outcomes(step, self._shape), self._reasons)
        draw_criteria(view, step, self._shape, self._name_of)
        ui.label(f'Changes ({len(step.changes)})').classes('step-section')
        if not step.changes:
            ui.label('No changes.').classes('muted small')
        replaced = previous_values(self._reasons.before, step.changes)
        for change, before in zip(step.changes, replaced, strict=True):
            self._draw_change(change, before)

    def _draw_change(self, change: Change, before: Any) -> None:
        name = change.path.rpartition('/')[2]
        value, before = with_times(change.value, name), with_times(before, name)
        with Box('change'):
            Text('div', change_title(change.path), 'change-path', title=change.path)
            if change.op != 'add' and before not in (None, ''):
                _draw_value(before, name, 'before')
            if change.op == 'remove':
                ui.label('removed').classes('muted small')
            else:
                _draw_value(value, name, 'after')


def _draw_value(value: Any, name: str, when: str) -> None:
    element = ui.html(value_html(value, name), sanitize=False)  # one element, however many lines it has
    element.classes(when).props(f'role="group" aria-label="{when}"')


def _document_of(view: View) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the document shown in the tree, and its constants in words. Blocks."""
    document: dict[str, Any] = with_times(with_list_ends({'memory': view.memory, 'agents': view.agents}))
    return document, wordings(document)


def draw_criteria(view: View, step: Transition, shape: Shape, named: Callable[[str], str]) -> None:
    """Draw the completion criteria of all agents that have any."""
    for path, criteria in _criteria_by_agent(view, shape):
        met = sum(holds is True for _, holds, _ in criteria)
        Text('h2', f'{named(path)} is complete when', 'step-section')
        Text('p', f'{met} of {len(criteria)} met', 'criteria-count muted small num')
        evaluated = {guard.name for guard in step.guards if guard.source.startswith(f'{path}.')}
        with Box('criteria', 'ul', role='list'):
            for name, holds, missing in criteria:
                _draw_criterion(name, holds, missing, evaluated=name in evaluated)


def _criteria_by_agent(
    view: View, shape: Shape
) -> Iterator[tuple[str, Sequence[tuple[str, bool | None, str]]]]:
    """Yield each agent with its criteria: name, whether it holds (None if not evaluated), what is missing."""
    criteria = {str(state.path): state.criteria for state in shape.states if state.criteria}
    for path in dict.fromkeys([*criteria, *view.agents]):
        judgements = _list_judgements(view.agents.get(path, {}).get('criteria'))
        if judgements:
            yield path, judgements
        elif path in criteria:
            yield path, [(name, None, '') for name in criteria[path]]


def _list_judgements(value: Any) -> list[tuple[str, bool | None, str]]:
    if not isinstance(value, (list, tuple)):
        return []
    return [
        (str(item.get('name', '')), bool(item.get('holds')), str(item.get('missing', '')))
        for item in value
        if isinstance(item, Mapping)
    ]


def _draw_criterion(name: str, holds: bool | None, missing: str, *, evaluated: bool) -> None:
    icon, word, kind = {
        True: ('check_circle', 'met', 'holds'),
        False: ('radio_button_unchecked', f'missing: {missing}', 'missing')
        if missing
        else ('remove_circle_outline', 'not needed', 'open'),
        None: ('schedule', 'not checked yet', 'open'),
    }[holds]
    with Box(f'criterion {kind}', 'li'):
        ui.icon(icon, size='16px')
        with Box():
            Text('span', (GUARD_PHRASES.get(name) or name.replace('_', ' ')).capitalize(), 'criterion-name')
            Text('span', word, 'visually-hidden' if holds else 'criterion-word')
            if evaluated:
                Text('span', 'checked at this step', 'muted small')
