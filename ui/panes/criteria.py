"""When an agent's work is complete: which of its criteria hold at a step, and which are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nicegui import ui

from engine import Shape, Transition, View
from ui.parts import Text


def show_criteria(view: View, step: Transition, shape: Shape, named: Callable[[str], str]) -> None:
    """Draw the criteria of all agents that have some; nothing where none has."""
    for path, judged in _agents(view, shape):
        held = sum(holds is True for _, holds, _ in judged)
        Text('h2', f'{named(path)} is complete when', 'step-section')
        Text('p', f'{held} of {len(judged)} hold', 'criteria-count muted small num')
        asked = {guard.name for guard in step.guards if guard.source.startswith(f'{path}.')}
        with ui.element('ul').classes('criteria').props('role="list"'):
            for name, holds, missing in judged:
                _criterion(name, holds, missing, asked=name in asked)


def _agents(view: View, shape: Shape) -> Iterator[tuple[str, Sequence[tuple[str, bool | None, str]]]]:
    """Each agent with its criteria: name, whether it holds (None: not judged yet), what is missing."""
    known = {str(state.path): state.criteria for state in shape.states if state.criteria}
    for path in dict.fromkeys([*known, *view.agents]):
        judged = _judged(view.agents.get(path, {}).get('criteria'))
        if judged:
            yield path, judged
        elif path in known:
            yield path, [(name, None, '') for name in known[path]]


def _judged(value: Any) -> list[tuple[str, bool | None, str]]:
    if not isinstance(value, (list, tuple)):
        return []
    return [
        (str(item.get('name', '')), bool(item.get('holds')), str(item.get('missing', '')))
        for item in value
        if isinstance(item, Mapping)
    ]


def _criterion(name: str, holds: bool | None, missing: str, *, asked: bool) -> None:
    icon, word, kind = {
        True: ('check_circle', 'holds', 'holds'),
        False: ('radio_button_unchecked', f'missing: {missing}' if missing else 'does not hold', 'missing'),
        None: ('schedule', 'not judged yet', 'open'),
    }[holds]
    with ui.element('li').classes(f'criterion {kind}'):
        ui.icon(icon).props('size="16px" aria-hidden="true"')
        with ui.element('div'):
            Text('span', name.replace('_', ' '), 'criterion-name')
            Text('span', word, 'criterion-word')
            if asked:
                Text('span', 'asked by this step', 'muted small')
