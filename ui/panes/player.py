"""The player: one slider that moves everything, marks on it, play at any speed, jumps, keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from nicegui import background_tasks, ui
from nicegui.events import KeyEventArguments

from engine import View
from ui.panes.jumps import Jumps
from ui.parts import Text, attach
from ui.presenters.reading import span
from ui.replay.live import Follower
from ui.replay.marks import KINDS, UNDRAWN, Mark
from ui.replay.timing import SPEEDS, advance, due
from ui.replay.track import Track
from ui.theme import button

COPY = """async () => {
    const link = new URL(document.querySelector('.track').dataset.link, location.href).href;
    try { await navigator.clipboard.writeText(link); emit([true, link]); } catch { emit([false, link]); }
}"""
RECORDED = 'Recorded: no model is called'


class Seek(Protocol):
    """Goes to a step; None is the present. A leap is an entry of its own in the browser's history."""

    def __call__(self, at: int | None, *, leap: bool = True) -> Awaitable[None]:
        """Go there."""


class Player:
    """Moves the page through a run. Playing calls no model: it shows what was recorded."""

    def __init__(self, follower: Follower, seek: Seek) -> None:
        self._follower, self._seek = follower, seek
        self._at: int | None = None
        self._wish: int | None = None
        """Where a move is under way to: quick keys count on from there."""
        self._marked = 0
        """How many of the run's marks the slider has."""
        self._playing: asyncio.Task[None] | None = None
        self._view: View | None = None
        with ui.element('footer').classes('player').props('aria-label="Replay"'):
            with ui.element('div').classes('player-buttons'):
                self._button('first_page', 'First step (Home)', lambda: self._go(1))
                self._button('chevron_left', 'One step back (←)', lambda: self._go(self._from - 1))
                self._play = self._button('play_arrow', 'Play what was recorded (Space)', self.toggle)
                self._button('chevron_right', 'One step on (→)', lambda: self._go(self._from + 1))
                self._button('last_page', 'Last step (End)', lambda: self._go(follower.head))
            with ui.element('div').classes('player-track'):
                self._track = Track(on_slide=self._slid, on_pick=self._leap)
                with self._track:
                    self._chip = Text('span', RECORDED, 'player-chip')
            self._speed = ui.select(SPEEDS, value=1).props(
                'dense borderless options-dense aria-label="Speed"'
            )
            self._draw_jumps()
            self._link = self._button('link', 'Copy the link to this step', None)
            self._link.classes('player-link').on('click', self._copied, js_handler=COPY)
            self._live = button('Live', icon='sensors', kind='live', label='Back to the present (L)')
            self._live.on('click', lambda: self._leap(None))
        self._said = ui.label().classes('visually-hidden').props('role="status"')
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

    def show(self, view: View, at: int | None, *, ended: bool, link: str) -> None:
        """Stand at a step (None is the present); `link` is its address."""
        head, times = self._follower.head, self._follower.index.times
        self._at, self._view = at, view
        if self._wish == self.step:
            self._wish = None
        first = times[0] if times else 0.0
        now = times[self.step - 1] if 0 < self.step <= len(times) else first
        self._track.stand(self.step, head, span(now - first), link)
        past = at is not None or ended
        self._chip.classes(add='' if past else 'off', remove='off' if past else '')
        # It keeps its room where it is not shown: the slider must not shrink under a thumb that is dragged.
        present = '' if at is not None else 'off' if ended else 'on'
        self._live.classes(add=present, remove=' '.join({'on', 'off'} - {present}))
        marks = self._follower.index.marks
        self._track.add(mark for mark in marks[self._marked :] if mark.kind not in UNDRAWN)
        self._marked = len(marks)

    def note(self, marks: Sequence[Mark]) -> None:
        """Show notes (of the kind `note`) over the slider, and jump to them."""
        self._track.note(marks)
        self._jumps.note([mark.seq for mark in marks])

    async def change(self, pointer: str) -> None:
        """Go to the next change of a place in the run's data, and follow this place from now on."""
        self.stop()
        await self._jumps.change(pointer)

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
        clock = asyncio.get_running_loop().time
        before, seconds = clock(), 0.0
        while not self._track.is_deleted:
            times, at, folded = self._follower.index.times, self.step, bool(self._folded.value)
            if at >= len(times):
                if not self._again.value or len(times) < 2:
                    break
                at, seconds = 1, 0.0
                await self._seek(at, leap=False)
            speed = float(self._speed.value or 1)
            await asyncio.sleep(due(times, at, seconds, speed, folded=folded))
            now = clock()
            to, seconds = advance(times, at, seconds + (now - before) * speed, folded=folded)
            before = now
            if to != at:
                with self._track:
                    await self._seek(to, leap=False)
        self._playing = None
        with self._track:
            self._show_playing(False)

    def _show_playing(self, playing: bool) -> None:
        self._play.clear()
        with self._play:
            ui.icon('pause' if playing else 'play_arrow')
            ui.tooltip('Stop (Space)' if playing else 'Play what was recorded (Space)')
        attach(self._play, aria_label='Stop playing' if playing else 'Play what was recorded (Space)')

    async def _go(self, step: int | None) -> None:
        await self._move(step, leap=False)

    async def _leap(self, step: int | None) -> None:
        await self._move(step, leap=True)

    async def _move(self, step: int | None, *, leap: bool) -> None:
        self.stop()
        self._wish = None if step is None else min(max(step, 1), max(self._follower.head, 1))
        await self._seek(self._wish, leap=leap)

    async def _slid(self, step: int) -> None:
        await self._go(step)

    async def _key(self, event: KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        moves: dict[str, Callable[[], Awaitable[None]]] = {
            'ArrowLeft': lambda: self._go(self._from - 1),
            'ArrowRight': lambda: self._go(self._from + 1),
            'Home': lambda: self._go(1),
            'End': lambda: self._go(self._follower.head),
            'l': lambda: self._leap(None),
        }
        name, on = event.key.name, not event.modifiers.shift
        if name in moves:
            await moves[name]()
        elif name.lower() == 'm':
            self.stop()
            await self._jumps.change(on=on)
        for kind, sort in KINDS.items():
            if name.lower() == sort.key:
                self.stop()
                await self._jumps.jump(kind, on=on)

    async def _space(self, event: KeyEventArguments) -> None:
        if event.action.keydown and not event.action.repeat and event.key.space:
            await self.toggle()

    def _draw_jumps(self) -> None:
        with button('', icon='label_important', kind='quiet', label='Marks, and where to jump') as opener:
            attach(opener, aria_haspopup='dialog')
            with (
                ui.menu()
                .classes('popover')
                .props('role="dialog" anchor="top right" self="bottom right"') as popover
            ):
                attach(popover, aria_label='Marks, and where to jump')
                self._jumps = Jumps(self._follower.index, lambda: self._from, self._leap, self._say)
                with ui.element('div').classes('jump-ways'):
                    self._folded = ui.checkbox('Cut waits short', value=True)
                    self._again = ui.checkbox('Begin again at the end')
            popover.on('show', self._offer)

    def _button(self, icon: str, label: str, act: Callable[[], Awaitable[None]] | None) -> ui.element:
        made = button('', icon=icon, kind='quiet', label=label)
        if act:
            made.on('click', act)
        return made

    def _offer(self) -> None:
        if self._view is not None:
            self._jumps.offer(self._view)

    def _copied(self, event: object) -> None:
        there, link = event.args  # type: ignore[attr-defined]
        if there:
            ui.notify('The link to this step is copied.', type='positive')
        else:
            ui.notify(f'Copy it from here: {link}', timeout=15_000, close_button='Close')

    def _say(self, sentence: str) -> None:
        self._said.set_text(sentence)
        ui.notify(sentence, timeout=2_500, group='jump', badgeClass='hidden')  # the newest is enough
