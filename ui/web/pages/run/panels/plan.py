"""The plan of a run as a checklist: each step with its agent, status and result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from nicegui import app, ui
from typing_extensions import override

from ui.formatting.steps import excerpt, role_title
from ui.web.components.elements import draw_markdown
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text, disclosure
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.replay.history import ENDED

PLAN = 'plan'
"""Its name in `Shape.panels`."""
MARKS = {
    'pending': 'radio_button_unchecked',
    'in progress': 'pending',
    'completed': 'check_circle',
    'failed': 'cancel',
    'blocked': 'schedule',
    'stopped': 'stop_circle',
}
"""An icon for each status, shown next to the word."""
STORAGE_KEY = 'plan'
"""Storage key for whether a person wants the plan open or closed."""
COLLAPSE_IF_LOW = 'if (innerHeight < 820) getHtmlElement(%d).open = false'
"""Collapses the plan to one line in a low window; runs only if nobody has chosen."""
ON_TOGGLE = """(event) => {
    const drawer = event.currentTarget.parentElement, plan = drawer.parentElement;
    plan.classList.remove('undecided');
    plan.classList.toggle('closed', drawer.open);
    emit(!drawer.open);
}"""
"""Runs on click, before the plan opens or closes, so that the panel resizes immediately."""
MAX_DEPTH = 6
"""Maximum nesting depth of the steps shown."""


class PlanChecklist(Pane):
    """A panel under the diagram: shown from the start, with a constant height."""

    place = 'below diagram'
    panel = PLAN

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._field, self._history = page.context.shape.field(PLAN), page.context.history
        self._opened: set[str] = set()
        chosen = app.storage.user.get(STORAGE_KEY, 'undecided')
        with (
            Box(f'checklist {chosen}', 'section', aria_label='Plan') as self._root,
            Box(tag='details').props('' if chosen == 'closed' else 'open') as self._drawer,
        ):
            with Box('checklist-head', 'summary') as head:
                Text('h2', 'Plan')
                self._count = Text('span', '', 'muted small num')
                self._now = Text('span', '', 'checklist-now muted small')
            head.on('click', lambda event: self._choose(opened=event.args), js_handler=ON_TOGGLE)
            self._list = CachedElement('checklist-steps', tabindex='0')
        if chosen == 'undecided':
            ui.run_javascript(COLLAPSE_IF_LOW % self._drawer.id)

    def _choose(self, *, opened: bool) -> None:
        chosen = app.storage.user[STORAGE_KEY] = 'opened' if opened else 'closed'
        self._root.classes(add=chosen, remove='undecided closed' if opened else 'undecided opened')
        self._drawer.props(add='open' if opened else '', remove='' if opened else 'open')

    @override
    def show(self, moment: Moment) -> None:
        view = moment.view
        steps = settled_steps(plan_steps(view.memory.get(self._field)), ended=view.status.ended)
        empty = '' if steps else 'Empty: no steps were planned.' if view.status.ended else 'No steps yet.'
        if not self._list.clear_if_changed((steps, empty)):
            return
        ended = sum(step.get('state') in ENDED for step in steps)
        self._count.show(f'{ended} of {len(steps)}' if steps else '')
        at_work = (str(step.get('title', '')) for step in steps if step.get('state') == 'in progress')
        self._now.show(next(at_work, ''))
        with self._list:
            if steps:
                self._draw(steps, '', 1)
            else:
                Text('p', empty, 'muted small')

    def _draw(self, steps: Sequence[Mapping[str, Any]], inside: str, depth: int) -> None:
        with Box('plan-steps', 'ol'):
            for number, step in enumerate(steps, start=1):
                self._draw_step(step, f'{inside}/{step.get("id", number)}', depth, step_status(step, steps))

    def _draw_step(self, step: Mapping[str, Any], path: str, depth: int, status: str) -> None:
        state, result = str(step.get('state', '')), str(step.get('result', ''))
        name = state.replace(' ', '-')
        with Box(f'plan-step {name}', 'li'):
            ui.icon(MARKS.get(state, 'help')).classes('plan-mark').props('aria-hidden="true"')
            with Box('plan-body'):
                Text('span', str(step.get('title', '')), 'plan-title')
                with Box('plan-facts'):
                    Text('span', status, f'plan-state {name}')
                    if step.get('role'):
                        Text('span', role_title(str(step['role'])), 'chip')
                    Text('span', str(step.get('id', '')), 'muted small mono')
                    if state in ENDED:
                        name = str(step.get('id', ''))
                        show = button('', icon='forum', kind='quiet small', label=f'Show the work on {name}')
                        show.on('click', partial(self._go_to_end, name))
                with Box('plan-result'):
                    if result:
                        self._draw_result(path, result)
                inner = plan_steps(step.get('steps'))
                if inner and depth < MAX_DEPTH:
                    self._draw(inner, path, depth + 1)

    async def _go_to_end(self, name: str) -> None:
        """Go to the step at which an entry ended: its agent's conversation is complete there."""
        if name in self._history.finished:
            await self.page.seek(self._history.finished[name])

    def _draw_result(self, path: str, result: str) -> None:
        with disclosure(self._opened, path, excerpt(result), '', 'plan-text'):
            draw_markdown(result, 'Result')


def plan_steps(value: Any) -> list[Mapping[str, Any]]:
    """Return the steps in a field of memory, dropping anything malformed."""
    return [step for step in value if isinstance(step, Mapping)] if isinstance(value, (list, tuple)) else []


def settled_steps(steps: Sequence[Mapping[str, Any]], *, ended: bool) -> list[Mapping[str, Any]]:
    """Return the steps; those still in progress when the run ended are marked as stopped."""
    if not ended:
        return [dict(step) for step in steps]
    entries: list[Mapping[str, Any]] = []
    for step in steps:
        inner = settled_steps(plan_steps(step.get('steps')), ended=True)
        state = 'stopped' if step.get('state') == 'in progress' else step.get('state', '')
        entries.append({**step, 'state': state} | ({'steps': inner} if inner else {}))
    return entries


def step_status(step: Mapping[str, Any], siblings: Sequence[Mapping[str, Any]]) -> str:
    """Return the status of a step in words; for a blocked one, the steps it still waits for."""
    state, after = str(step.get('state', '')), step.get('after')
    if state == 'blocked' and isinstance(after, (list, tuple)):
        over = {other.get('id') for other in siblings if other.get('state') in ENDED}
        left = [str(name) for name in after if name not in over]
        return f'waits for {", ".join(left)}' if left else state
    return state
