"""Ways to do the same work beside each other: outputs, steps, tokens, time and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from engine import View
from ui.elements import Conversation
from ui.panes.around import Around
from ui.panes.tabs import Tabs
from ui.parts import Text
from ui.presenters.spending import UNKNOWN, dollars
from ui.presenters.words import took
from ui.theme import empty, notice

TITLE = 'Comparison'
Side = Mapping[str, Any]
ROWS: tuple[tuple[str, Callable[[Side], float | None], Callable[[float], str]], ...] = (
    ('Steps', lambda side: side.get('steps', 0), lambda value: f'{value:,}'),
    ('Tool calls', lambda side: side.get('tool_calls', 0), lambda value: f'{value:,}'),
    ('Tokens in', lambda side: side.get('input_tokens', 0), lambda value: f'{value:,}'),
    ('Tokens out', lambda side: side.get('output_tokens', 0), lambda value: f'{value:,}'),
    ('Time', lambda side: side.get('seconds', 0.0), took),
    ('Cost', lambda side: side.get('cost'), dollars),
    ('Output', lambda side: len(str(side.get('output', ''))), lambda value: f'{value:,} characters'),
)
"""What is measured: its name, its value (None is not known), and how it is said."""


class Comparison:
    """A tab, offered where a run works in several ways to compare them."""

    def __init__(self, around: Around, tabs: Tabs) -> None:
        self._field, self._tabs = around.shape.compared, tabs
        self._shown: object = None
        with tabs.panel(TITLE):
            self._root = ui.element('div').classes('comparison')
        tabs.offer(TITLE, bool(self._field))

    def show(self, view: View) -> None:
        """Show the ways as they stand at this step."""
        value = view.memory.get(self._field) if self._field else None
        sides = [side for side in value or () if isinstance(side, Mapping)]
        if sides == self._shown:
            return
        self._shown = sides
        if sides:
            self._tabs.suggest(TITLE)
        self._root.clear()
        with self._root:
            if not sides:
                empty('balance', 'The ways stand beside each other here as soon as all have ended.')
                return
            _table(sides)
            with ui.element('div').classes('compared-outputs'):
                for side in sides:
                    _output(side)


def _table(sides: Sequence[Side]) -> None:
    with ui.element('table').classes('compared'):
        Text('caption', 'How each way did', 'visually-hidden')
        with ui.element('thead'), ui.element('tr'):
            Text('td', '')
            for side in sides:
                Text('th', _name(side), scope='col')
        with ui.element('tbody'):
            with ui.element('tr'):
                Text('th', 'Result', scope='row')
                for side in sides:
                    done = bool(side.get('done'))
                    Text(
                        'td', 'complete' if done else 'failed', 'compared-done' if done else 'compared-failed'
                    )
            for name, measured, said in ROWS:
                values = [measured(side) for side in sides]
                known = [value for value in values if value is not None]
                least = min(known) if len(known) > 1 and len(set(known)) > 1 and name != 'Output' else None
                with ui.element('tr'):
                    Text('th', name, scope='row')
                    for value in values:
                        with ui.element('td').classes('num'):
                            Text('span', UNKNOWN if value is None else said(value))
                            if value is not None and value == least:
                                Text('span', 'less' if len(sides) == 2 else 'least', 'compared-least')
            with ui.element('tr'):
                Text('th', 'Artifacts', scope='row')
                for side in sides:
                    Text('td', ', '.join(map(str, side.get('artifacts', ()))) or 'none', 'compared-names')


def _output(side: Side) -> None:
    with ui.element('section').classes('compared-output') as section:
        section.props('tabindex="0"').props['aria-label'] = f'Output: {_name(side)}'
        Text('h3', _name(side))
        if side.get('problem'):
            with notice('fail', 'error_outline'):
                ui.label(str(side['problem']))
        if side.get('output'):
            block = {'kind': 'text', 'text': str(side['output'])}
            Conversation([block], label=f'Output: {_name(side)}', follow=False)
        else:
            Text('p', 'It made no output.', 'muted')


def _name(side: Side) -> str:
    return str(side.get('way', '')).replace('_', ' ').capitalize()
