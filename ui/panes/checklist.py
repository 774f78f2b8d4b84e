"""The plan of a run as a checklist: each step with who does it, how it stands, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from engine import Shape, View
from ui.elements import Conversation
from ui.parts import Text, fold
from ui.presenters.reading import gist, speaker

MARKS = {
    'pending': 'radio_button_unchecked',
    'in progress': 'pending',
    'completed': 'check_circle',
    'failed': 'cancel',
    'blocked': 'schedule',
}
"""An icon for each state; the word stands beside it."""
ENDED = ('completed', 'failed')
DEEPEST = 6
"""Levels of steps within steps that are shown."""


class Checklist:
    """A panel under the diagram; it is there when the run has a plan."""

    def __init__(self, shape: Shape) -> None:
        self._field = shape.plan
        self._shown: object = None
        self._opened: set[str] = set()
        with ui.element('section').classes('checklist').props('aria-label="Plan" tabindex="0"') as self._root:
            with ui.element('div').classes('checklist-head'):
                Text('h2', 'Plan')
                self._count = Text('span', '', 'muted small num')
            self._list = ui.element('div')
        self._root.set_visibility(False)

    def show(self, view: View) -> None:
        """Show the plan as it is in `view`."""
        steps = steps_of(view.memory.get(self._field)) if self._field else []
        self._root.set_visibility(bool(steps))
        if steps == self._shown:
            return
        self._shown = [dict(step) for step in steps]
        ended = sum(step.get('state') in ENDED for step in steps)
        self._count.show(f'{ended} of {len(steps)}')
        self._list.clear()
        with self._list:
            self._draw(steps, '', 1)

    def _draw(self, steps: Sequence[Mapping[str, Any]], inside: str, depth: int) -> None:
        with ui.element('ol').classes('plan-steps'):
            for number, step in enumerate(steps, start=1):
                self._step(step, f'{inside}/{step.get("id", number)}', depth, stands(step, steps))

    def _step(self, step: Mapping[str, Any], path: str, depth: int, stands: str) -> None:
        state, result = str(step.get('state', '')), str(step.get('result', ''))
        name = state.replace(' ', '-')
        with ui.element('li').classes(f'plan-step {name}'):
            ui.icon(MARKS.get(state, 'help')).classes('plan-mark').props('aria-hidden="true"')
            with ui.element('div').classes('plan-body'):
                Text('span', str(step.get('title', '')), 'plan-title')
                with ui.element('div').classes('plan-facts'):
                    Text('span', stands, f'plan-state {name}')
                    if step.get('role'):
                        Text('span', speaker(str(step['role'])), 'chip')
                    Text('span', str(step.get('id', '')), 'muted small mono')
                if result:
                    self._result(path, result)
                inner = steps_of(step.get('steps'))
                if inner and depth < DEEPEST:
                    self._draw(inner, path, depth + 1)

    def _result(self, path: str, result: str) -> None:
        with fold(self._opened, path, gist(result, 120), 'plan-result', 'plan-text'):
            Conversation([{'kind': 'text', 'text': result}], label='Result', follow=False)


def steps_of(value: Any) -> list[Mapping[str, Any]]:
    """The steps in a field of memory, whatever a pattern has put there."""
    return [step for step in value if isinstance(step, Mapping)] if isinstance(value, (list, tuple)) else []


def stands(step: Mapping[str, Any], siblings: Sequence[Mapping[str, Any]]) -> str:
    """How a step stands, in words: one that is blocked waits for others of its list, or is stuck."""
    state, after = str(step.get('state', '')), step.get('after')
    if state == 'blocked' and isinstance(after, (list, tuple)):
        over = {other.get('id') for other in siblings if other.get('state') in ENDED}
        left = [str(name) for name in after if name not in over]
        return f'waits for {", ".join(left)}' if left else state
    return state
