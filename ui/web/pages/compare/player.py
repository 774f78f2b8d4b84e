"""Navigation through the rows of a comparison: slider, buttons and keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui
from nicegui.events import KeyEventArguments, ValueChangeEventArguments

from engine.history import Row
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes

KEYS = (
    ('← →', 'Previous and next row'),
    ('Home End', 'First and last row'),
    ('D', 'Next difference; with Shift, the previous one'),
)
STRIPES = 240
"""Maximum number of stripes drawn over the slider."""
COLOURS = {'same': 'var(--line)', 'apart': 'var(--fail)', 'only-a': 'var(--run)', 'only-b': 'var(--wait)'}


class RowPlayer:
    """A slider over aligned rows. It shows what was recorded and never calls a model."""

    def __init__(self, go: Callable[[int], Awaitable[None]]) -> None:
        self._go = go
        self._rows: Sequence[Row] = ()
        self._at, self._updating = 0, False
        with Box('player', 'footer', aria_label='Rows'):
            with Box('player-buttons'):
                self._draw_button('first_page', 'First row (Home)', lambda: self.go_to(0))
                self._draw_button(
                    'skip_previous', 'Previous difference (Shift+D)', lambda: self.go_to_difference(-1)
                )
                self._draw_button('chevron_left', 'Previous row (←)', lambda: self.go_to(self._at - 1))
                self._draw_button('chevron_right', 'Next row (→)', lambda: self.go_to(self._at + 1))
                self._draw_button('skip_next', 'Next difference (D)', lambda: self.go_to_difference(1))
                self._draw_button('last_page', 'Last row (End)', lambda: self.go_to(len(self._rows) - 1))
            with Box('player-track'):
                self._strip = Box('row-strip', aria_hidden='true')
                self._slider = ui.slider(min=0, max=1, value=0, on_change=self._on_slide)
                self._slider.props('aria-label="Row" tabindex="-1" dense track-size="6px" thumb-size="16px"')
            self._count = Text('span', '', 'num player-count')
        ui.keyboard(on_key=self._on_key, ignore=['input', 'select', 'textarea'])

    def show(self, rows: Sequence[Row], at: int) -> None:
        """Show position `at` in these rows."""
        if rows is not self._rows:
            self._strip.style(f'background: {stripe_gradient(rows)}')
        self._rows, self._at = rows, at
        self._updating = True
        set_attributes(self._slider, max=str(max(len(rows), 2)), min='1')
        self._slider.set_value(at + 1)
        self._updating = False
        row = rows[at] if rows else None
        steps = f' · A {row.a or "–"} · B {row.b or "–"}' if row else ''
        self._count.show(f'{at + 1 if rows else 0} / {len(rows)}{steps}')

    async def go_to(self, place: int) -> None:
        """Go to a row, clamped to the first and the last."""
        if self._rows:
            await self._go(min(max(place, 0), len(self._rows) - 1))

    async def go_to_difference(self, direction: int) -> None:
        """Go to the next (1) or previous (-1) stretch of differences."""
        starts = difference_starts(self._rows)
        if direction > 0:
            starts = [place for place in starts if place > self._at][:1]
        else:
            starts = [place for place in starts if place < self._at][-1:]
        for place in starts:
            await self._go(place)

    def _on_slide(self, event: ValueChangeEventArguments[float | None]) -> Awaitable[None] | None:
        if self._updating or event.value is None or int(event.value) == self._at + 1:
            return None
        return self.go_to(int(event.value) - 1)

    async def _on_key(self, event: KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        match event.key.name:
            case 'ArrowLeft':
                await self.go_to(self._at - 1)
            case 'ArrowRight':
                await self.go_to(self._at + 1)
            case 'Home':
                await self.go_to(0)
            case 'End':
                await self.go_to(len(self._rows) - 1)
            case 'd' | 'D':
                await self.go_to_difference(-1 if event.modifiers.shift else 1)

    def _draw_button(self, icon: str, label: str, act: Callable[[], Awaitable[None]]) -> None:
        button('', icon=icon, kind='quiet', label=label).on('click', act)


def difference_starts(rows: Sequence[Row]) -> list[int]:
    """Return the first row of each stretch of differing rows.

    If the paths never differ, return the rows that differ in anything else.
    """
    starts = [
        place
        for place, row in enumerate(rows)
        if row.kind != 'same' and (not place or rows[place - 1].kind == 'same')
    ]
    return starts or [place for place, row in enumerate(rows) if row.facets]


def stripe_gradient(rows: Sequence[Row]) -> str:
    """Return the rows as a CSS gradient of stripes, each in the colour of its kind."""
    if not rows:
        return 'none'
    size = -(-len(rows) // STRIPES)
    kinds = [_most_different(rows[start : start + size]) for start in range(0, len(rows), size)]
    stops = []
    for place, kind in enumerate(kinds):
        ends = (f'{100 * edge / len(kinds):.2f}%' for edge in (place, place + 1))
        stops.append(f'{COLOURS[kind]} {" ".join(ends)}')
    return f'linear-gradient(to right, {", ".join(stops)})'


def _most_different(rows: Sequence[Row]) -> str:
    return next(
        (kind for kind in ('apart', 'only-a', 'only-b') if any(row.kind == kind for row in rows)), 'same'
    )
