"""The player: one slider that moves everything, marks on it, play at the recorded timing, keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from nicegui import background_tasks, ui
from nicegui.events import KeyEventArguments, ValueChangeEventArguments

from ui.elements import Marks
from ui.live import Follower
from ui.reading import span
from ui.theme import button

LONGEST_PAUSE = 1.5
"""Seconds that a wait of the recording takes at most: idle time is folded."""
MOST_MARKS = 200
SPEEDS = {0.5: '½×', 1: '1×', 2: '2×', 5: '5×', 20: '20×'}

Seek = Callable[[int | None], Awaitable[None]]
"""Goes to a step; None is the present."""


class Player:
    """Moves the page through a run. Playing calls no model: it shows what was recorded."""

    def __init__(self, follower: Follower, seek: Seek) -> None:
        self._follower, self._seek = follower, seek
        self._at: int | None = None
        self._wish: int | None = None
        """Where a move is under way to: quick keys count on from there."""
        self._moving = False
        self._playing: asyncio.Task[None] | None = None
        with ui.element('footer').classes('player').props('aria-label="Replay"'):
            with ui.element('div').classes('player-buttons'):
                self._button('first_page', 'First step (Home)', lambda: self._go(1))
                self._button('chevron_left', 'One step back (←)', lambda: self._go(self._from - 1))
                self._play = self._button('play_arrow', 'Play what was recorded (Space)', self.toggle)
                self._button('chevron_right', 'One step on (→)', lambda: self._go(self._from + 1))
                self._button('last_page', 'Last step (End)', lambda: self._go(follower.head))
            with ui.element('div').classes('player-track'):
                self._marks = Marks(self._go)
                self._slider = ui.slider(min=0, max=1, value=0, on_change=self._slid)
                self._slider.props('aria-label="Step" tabindex="-1" dense track-size="6px" thumb-size="16px"')
            self._count = ui.label().classes('num player-count')
            self._speed = ui.select(SPEEDS, value=1).props(
                'dense borderless options-dense aria-label="Speed"'
            )
            self._live = button('Live', icon='sensors', kind='live', label='Back to the present (L)')
            self._live.on('click', lambda: self._go(None))
        # A button that has the focus takes the space bar for itself, but not the other keys.
        ui.keyboard(on_key=self._key, ignore=['input', 'select', 'textarea'])
        ui.keyboard(on_key=self._space)

    @property
    def step(self) -> int:
        """The step that is shown."""
        return self._follower.head if self._at is None else self._at

    @property
    def _from(self) -> int:
        return self.step if self._wish is None else self._wish

    def show(self, at: int | None, *, ended: bool) -> None:
        """Stand at a step (None is the present)."""
        head = self._follower.head
        self._at = at
        if self._wish == self.step:
            self._wish = None
        self._moving = True
        self._slider.props(f'max={max(head, 1)}')
        self._slider.set_value(self.step)
        self._moving = False
        first = self._follower.times[0] if self._follower.times else 0.0
        now = self._follower.times[self.step - 1] if 0 < self.step <= len(self._follower.times) else first
        self._count.set_text(f'{self.step} / {head} · {span(now - first)}')
        self._live.set_visibility(not ended or at is not None)
        self._live.classes(add='on' if at is None else '', remove='' if at is None else 'on')
        self._marks.show(self._worth(), head)

    async def toggle(self) -> None:
        """Play, or stop playing."""
        if self._playing:
            self.stop()
            return
        if self._at is None or self._at >= self._follower.head:
            await self._seek(1)
        self._playing = background_tasks.create(self._run(), name='replay')
        self._show_playing(True)

    def stop(self) -> None:
        """Stop playing."""
        if self._playing:
            self._playing.cancel()
            self._playing = None
        self._show_playing(False)

    async def _run(self) -> None:
        times = self._follower.times
        while self._at is not None and self._at < len(times):
            pause = min(LONGEST_PAUSE, times[self._at] - times[self._at - 1])
            await asyncio.sleep(max(pause, 0.05) / float(self._speed.value or 1))
            with self._slider:
                await self._seek(self._at + 1)
        self._playing = None
        with self._slider:
            self._show_playing(False)

    def _show_playing(self, playing: bool) -> None:
        self._play.clear()
        with self._play:
            ui.icon('pause' if playing else 'play_arrow')

    async def _go(self, step: int | None) -> None:
        self.stop()
        self._wish = None if step is None else min(max(step, 1), max(self._follower.head, 1))
        await self._seek(self._wish)

    def _slid(self, event: ValueChangeEventArguments[float | None]) -> Awaitable[None] | None:
        # Not a coroutine function: that would run when `_moving` says nothing any more about this change.
        if self._moving or event.value is None or int(event.value) == self.step:
            return None
        return self._go(int(event.value))

    async def _key(self, event: KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        moves: dict[str, Callable[[], Awaitable[None]]] = {
            'ArrowLeft': lambda: self._go(self._from - 1),
            'ArrowRight': lambda: self._go(self._from + 1),
            'Home': lambda: self._go(1),
            'End': lambda: self._go(self._follower.head),
            'l': lambda: self._go(None),
        }
        move = moves.get(event.key.name)
        if move:
            await move()

    async def _space(self, event: KeyEventArguments) -> None:
        if event.action.keydown and not event.action.repeat and event.key.space:
            await self.toggle()

    def _button(self, icon: str, label: str, act: Callable[[], Awaitable[None]]) -> ui.element:
        made = button('', icon=icon, kind='quiet', label=label)
        made.on('click', act)
        return made

    def _worth(self) -> list[dict[str, Any]]:
        """The marks that are drawn: where there are too many, revisions give way to the rarer kinds."""
        marks = self._follower.marks
        if len(marks) > MOST_MARKS:
            marks = [mark for mark in marks if mark.kind != 'revision'][-MOST_MARKS:]
        return [asdict(mark) for mark in marks]
