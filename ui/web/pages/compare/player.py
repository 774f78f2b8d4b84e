"""Navigation through the rows of a comparison: a bar of time for each run, buttons and keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui
from nicegui.events import KeyEventArguments

from engine.history import Comparison, Row
from ui.formatting.steps import duration
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text
from ui.web.pages.compare.side import RowPositions, Side
from ui.web.pages.shared.run.lane_bar import LaneBar, LaneHandlers, LaneMoment

KEYS = (
    ('← →', 'Previous and next row'),
    ('Home End', 'First and last row'),
    ('D', 'Next difference; with Shift, the previous one'),
)


class RowPlayer:
    """Two bars of time on one scale, over aligned rows: what was recorded; no model is called."""

    def __init__(self, sides: Sequence[Side], go: Callable[[int], Awaitable[None]]) -> None:
        self._sides, self._go = sides, go
        self._rows: Sequence[Row] = ()
        self._at = 0
        with Box('player', 'footer', aria_label='Rows'):
            with Box('player-buttons'):
                self._draw_button(
                    'skip_previous', 'Previous difference (Shift+D)', lambda: self.go_to_difference(-1)
                )
                self._draw_button('chevron_left', 'Previous row (←)', lambda: self.go_to(self._at - 1))
                self._draw_button('chevron_right', 'Next row (→)', lambda: self.go_to(self._at + 1))
                self._draw_button('skip_next', 'Next difference (D)', lambda: self.go_to_difference(1))
            with Box('player-track compare-bars'):
                self._bars = [self._draw_bar(side) for side in sides]
            self._count = Text('span', '', 'num player-count')
        ui.keyboard(on_key=self._on_key, ignore=['input', 'select', 'textarea'])

    def show(self, comparison: Comparison, at: int) -> None:
        """Show a row of this comparison."""
        rows = self._rows = comparison.rows
        self._at = at
        for side, bar, seq in zip(self._sides, self._bars, RowPositions(comparison).at(at), strict=True):
            view = side.stats.view
            ran = (
                duration(side.index.times[seq - 1] - side.index.times[0]) if 0 < seq <= side.index.seq else ''
            )
            text = f'Step {seq} of {view.seq}, after {ran or "no time"}'
            bar.move_to(LaneMoment(at=seq, head=view.seq, ran=ran, text=text))
        self._count.show(f'Row {at + 1 if rows else 0} / {len(rows)}')

    def show_scale(self, comparison: Comparison) -> None:
        """Draw both runs on one scale, and mark where they part."""
        times = [side.index.times for side in self._sides]
        seconds = max((line[-1] - line[0] for line in times if line), default=0.0)
        parted = comparison.divergence
        steps = (parted.a, parted.b) if parted else (None, None)
        for bar, step in zip(self._bars, steps, strict=True):
            bar.set_scale(seconds, [step.seq] if step else [])

    def _draw_bar(self, side: Side) -> LaneBar:
        def go_to_step(step: int) -> Awaitable[None]:
            steps = (row.a if side.name == 'A' else row.b for row in self._rows)
            places = (place for place, seq in enumerate(steps) if seq is not None and seq >= step)
            return self.go_to(next(places, len(self._rows) - 1))

        with Box('compare-bar'):
            Text('span', side.name, f'side-mark side-{side.name.lower()}', aria_hidden='true')
            return LaneBar(
                side.index,
                side.stats.shape,
                LaneHandlers(slide=go_to_step, pick=go_to_step),
                line=True,
                label=f'Step of {side.name}',
            )

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
