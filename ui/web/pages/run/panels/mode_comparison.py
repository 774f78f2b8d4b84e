"""Modes of working compared: outputs, steps, tokens, time and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from nicegui import ui
from typing_extensions import override

from engine.history import Piece, diff_words_async
from engine.records import View
from ui.formatting.usage import UNKNOWN, dollars
from ui.formatting.values import short_duration
from ui.web.components.elements import DiffText, draw_markdown
from ui.web.components.theme import button, empty_state, text_notice
from ui.web.components.widgets import Box, Text, table_head
from ui.web.pages.run.pane import Moment, Panel, RunPage

Side = Mapping[str, Any]
SIDES = ('A', 'B')
"""The marks of two sides whose texts are compared."""
ROWS: tuple[tuple[str, Callable[[Side], float | None], Callable[[float], str]], ...] = (
    ('Steps', lambda side: side.get('steps', 0), lambda value: f'{value:,}'),
    ('Tool calls', lambda side: side.get('tool_calls', 0), lambda value: f'{value:,}'),
    ('Tokens in', lambda side: side.get('input_tokens', 0), lambda value: f'{value:,}'),
    ('Tokens out', lambda side: side.get('output_tokens', 0), lambda value: f'{value:,}'),
    ('Time', lambda side: side.get('seconds', 0.0), short_duration),
    ('Cost', lambda side: side.get('cost'), dollars),
    ('Output', lambda side: len(str(side.get('output', ''))), lambda value: f'{value:,} characters'),
)
"""A measure: its name, its value (None if unknown), and its format."""


class ModeComparison(Panel):
    """A panel for runs that do the same work in several modes."""

    title = 'Comparison'
    panel = 'comparison'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._field = page.context.shape.field('comparison')
        self._shown: list[Side] = []
        self._marks = False
        self._root = Box('comparison')

    def relevance(self, view: View) -> int:
        """Return 1 once there is something to compare."""
        return int(bool(self._sides(view)))

    def _sides(self, view: View) -> list[Side]:
        return [side for side in view.memory.get(self._field) or () if isinstance(side, Mapping)]

    @override
    def show(self, moment: Moment) -> None:
        sides = self._sides(moment.view)
        if sides == self._shown and self._root.default_slot.children:
            return
        self._shown, self._marks = sides, False
        self._draw([])

    def _draw(self, pieces: Sequence[Sequence[Piece]]) -> None:
        """Draw everything; with `pieces`, the outputs are plain text in which the differences are marked."""
        sides = self._shown
        self._root.clear()
        with self._root:
            if not sides:
                empty_state('balance', 'The comparison appears here once all modes have ended.')
                return
            _draw_table(sides)
            if len(sides) == len(SIDES) and all(side.get('output') for side in sides):
                with Box('compared-actions'):
                    title = 'Show formatted' if self._marks else 'Mark differences'
                    button(title, icon='difference').on('click', self._toggle)
            with Box('compared-outputs'):
                for letter, side, parts in zip_longest(SIDES, sides, pieces):
                    if side is not None:
                        _draw_output(side, letter, parts)

    async def _toggle(self) -> None:
        sides, pieces = self._shown, None
        if not self._marks:
            first, other = (str(side.get('output', '')) for side in sides)
            pieces = await diff_words_async(first, other)
            if pieces is None:
                ui.notify('These texts are too long to be compared word by word.')
                return
        if sides == self._shown and not self._root.is_deleted:
            self._marks = not self._marks
            self._draw(pieces or [])


def _draw_table(sides: Sequence[Side]) -> None:
    with Box('table compared', 'table'):
        Text('caption', 'Modes compared', 'visually-hidden')
        table_head(('', *map(_name, sides)))
        with Box(tag='tbody'):
            with Box(tag='tr'):
                Text('th', 'Result', scope='row')
                for side in sides:
                    done = bool(side.get('done'))
                    Text(
                        'td', 'complete' if done else 'failed', 'compared-done' if done else 'compared-failed'
                    )
            for name, measured, text in ROWS:
                values = [measured(side) for side in sides]
                numbers = [value for value in values if value is not None]
                least = (
                    min(numbers) if len(numbers) > 1 and len(set(numbers)) > 1 and name != 'Output' else None
                )
                with Box(tag='tr'):
                    Text('th', name, scope='row')
                    for value in values:
                        with Box('num', 'td'):
                            Text('span', UNKNOWN if value is None else text(value))
                            if value is not None and value == least:
                                Text('span', 'less' if len(sides) == 2 else 'least', 'compared-least')
            with Box(tag='tr'):
                Text('th', 'Artifacts', scope='row')
                for side in sides:
                    Text('td', ', '.join(map(str, side.get('artifacts', ()))) or 'none', 'compared-names')


def _draw_output(side: Side, letter: str | None, pieces: Sequence[Piece] | None) -> None:
    with Box('compared-output', 'section') as section:
        section.props('tabindex="0"').props['aria-label'] = f'Output: {_name(side)}'
        Text('h3', _name(side))
        if side.get('problem'):
            text_notice('fail', 'error_outline', str(side['problem']))
        if pieces and letter:
            DiffText(pieces, letter)
        elif side.get('output'):
            draw_markdown(str(side['output']), f'Output: {_name(side)}')
        else:
            Text('p', 'No output.', 'muted')


def _name(side: Side) -> str:
    return str(side.get('way', '')).replace('_', ' ').capitalize()
