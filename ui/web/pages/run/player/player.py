"""The player: the bar of time that controls the whole page, with playback, jumps and keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui
from nicegui.events import KeyEventArguments
from typing_extensions import override

from ui.app.presence import Viewer
from ui.formatting.sentences import step_sentence
from ui.formatting.steps import duration
from ui.web.components.debounce import create_page_task
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, set_attributes
from ui.web.pages.run.agents.agents import AgentPanes
from ui.web.pages.run.diagram.chart import ChartPane
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.run.panels.tabs import RunTabs
from ui.web.pages.run.player.jump_menu import JumpMenu
from ui.web.pages.shared.run.lane_bar import LaneBar, LaneHandlers, LaneMoment
from ui.web.replay.marks import JUMPS, Mark

COPY = """async () => {
    const link = new URL(path_prefix + document.querySelector('.track').dataset.link, location.href).href;
    try { await navigator.clipboard.writeText(link); emit([true, link]); } catch { emit([false, link]); }
}"""
RECORDED = 'Replay shows what was recorded: no model is called.'

MAX_WAIT = 1.5
"""Maximum wait in seconds when idle time is skipped."""
MIN_WAIT = 0.05
"""Minimum seconds per step at normal speed: many are recorded at the same moment."""
FRAME = 1 / 30
"""Minimum seconds between two positions: at high speed, steps in between are skipped."""
SPEEDS = {0.25: '¼×', 0.5: '½×', 1: '1×', 2: '2×', 4: '4×', 8: '8×', 16: '16×', 32: '32×', 64: '64×'}

MAX_VIEWERS = 3
"""Maximum number of viewers shown individually."""


class Player(Pane):
    """Moves the page through a run. Playing shows the recording and never calls a model."""

    place = 'foot'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        follower = self._follower = page.follower
        self._at: int | None = None
        self._target: int | None = None
        """The step that is loading: further key presses count from it."""
        self._playing: asyncio.Task[None] | None = None
        with Box('player', 'footer', aria_label='Replay'):
            with Box('player-buttons'):
                self._draw_button('chevron_left', 'Previous step (←)', lambda: self._go(self._origin - 1))
                self._play = self._draw_button('play_arrow', 'Play (Space)', self.toggle)
                self._draw_button('chevron_right', 'Next step (→)', lambda: self._go(self._origin + 1))
            with Box('player-track'):
                self._track = LaneBar(
                    follower.index,
                    follower.shape,
                    LaneHandlers(
                        slide=self._go, pick=self._jump_to, open=self._open_agent, grab=self._preload
                    ),
                )
            speeds = {str(speed): text for speed, text in SPEEDS.items()}
            self._speed = NativeSelect(speeds, value='1').classes('speed').props('aria-label="Speed"')
            fold = button('', icon='unfold_less', kind='quiet', label='Fold or unfold the lanes')
            fold.on('click', lambda: self._track.toggle('folded'))
            self._draw_jumps()
            self._live = button('Live', icon='sensors', kind='live', label='Go live (L)')
            self._live.on('click', lambda: self._jump_to(None))
            self._viewers = Viewers(page.viewer, page.seek)
        self._announcer = ui.label().classes('visually-hidden').props('role="status"')
        # A focused button handles the space bar itself, but not the other keys.
        ui.keyboard(on_key=self._on_key, ignore=['input', 'select', 'textarea'])
        ui.keyboard(on_key=self._on_space)

    @property
    def step(self) -> int:
        """The step that is shown: the chosen one, or the newest while following the run."""
        return self._follower.head if self._at is None else self._at

    @property
    def _origin(self) -> int:
        return self.step if self._target is None else self._target

    @override
    def follow(self, moment: Moment) -> None:
        head, at, ended = self._follower.head, moment.at, moment.newest.status.ended
        self._at = at
        if self._target == self.step:
            self._target = None
        link = self.page.address(moment.view.seq)
        ran = duration(moment.view.ran)
        title = f': {step_sentence(moment.step, self.context.shape)}' if moment.step else ''
        text = f'Step {self.step} of {head}, after {ran}{title}'
        self._track.move_to(
            LaneMoment(at=self.step, head=head, ran=ran, text=text, link=link, going=not ended)
        )
        # Hidden, it keeps its space: the bar must not shrink while it is dragged.
        present = 'off' if ended else '' if at is not None else 'on'
        self._live.classes(add=present, remove=' '.join({'on', 'off'} - {present}))

    @override
    def look(self) -> None:
        self._viewers.look()

    def show_notes(self, marks: Sequence[Mark]) -> None:
        """Show notes as flags."""
        self._track.set_notes(marks)
        self._jumps.set_notes([mark.seq for mark in marks])

    async def jump_to_change(self, pointer: str) -> None:
        """Go to the next change of a value in the run's data, and follow it from now on."""
        self.stop()
        await self._jumps.jump_to_change(pointer)

    async def toggle(self) -> None:
        """Start or stop playing."""
        if self._playing:
            self.stop()
            return
        if self._at is None or self._at >= self._follower.head:
            await self.page.seek(1)
        self._playing = create_page_task(self._track, self._run(), 'replay')
        self._show_playing(True)

    def stop(self) -> None:
        """Stop playback, if it is running; the step shown remains."""
        if self._playing:
            self._playing.cancel()
            self._playing = None
            self._show_playing(False)

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        before, seconds = clock(), 0.0
        while not self._track.is_deleted:
            times, at, folded = self._follower.index.times, self.step, bool(self._skip_idle.value)
            if at >= len(times):
                if not self._loop.value or len(times) < 2:
                    break
                at, seconds = 1, 0.0
                await self.page.seek(at, add_history=False)
            speed = float(self._speed.value)
            await asyncio.sleep(seconds_until_next(times, at, seconds, speed, folded=folded))
            now = clock()
            to, seconds = advance(times, at, seconds + (now - before) * speed, folded=folded)
            before = now
            if to != at:
                with self._track:
                    await self.page.seek(to, add_history=False)
        self._playing = None
        with self._track:
            self._show_playing(False)

    def _show_playing(self, playing: bool) -> None:
        self._play.clear()
        with self._play:
            ui.icon('pause' if playing else 'play_arrow')
            ui.tooltip('Stop (Space)' if playing else 'Play (Space)')
        set_attributes(self._play, aria_label='Stop' if playing else 'Play (Space)')

    async def _go(self, step: int | None) -> None:
        await self._move(step, add_history=False)

    async def _jump_to(self, step: int | None) -> None:
        await self._move(step, add_history=True)

    async def _move(self, step: int | None, *, add_history: bool) -> None:
        self.stop()
        self._target = None if step is None else min(max(step, 1), max(self._follower.head, 1))
        await self.page.seek(self._target, add_history=add_history)

    async def _on_key(self, event: KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        moves: dict[str, Callable[[], Awaitable[None]]] = {
            'ArrowLeft': lambda: self._go(self._origin - 1),
            'ArrowRight': lambda: self._go(self._origin + 1),
            'Home': lambda: self._go(1),
            'End': lambda: self._go(self._follower.head),
            'l': lambda: self._jump_to(None),
        }
        name, on = event.key.name, not event.modifiers.shift
        if name in moves:
            await moves[name]()
        elif name.lower() == 'm':
            self.stop()
            await self._jumps.jump_to_change(forward=on)
        elif name.lower() in JUMPS:
            self.stop()
            await self._jumps.jump_to_mark(name.lower(), forward=on)

    async def _on_space(self, event: KeyEventArguments) -> None:
        if event.action.keydown and not event.action.repeat and event.key.space:
            await self.toggle()

    def _draw_jumps(self) -> None:
        with button('', icon='more_vert', kind='quiet', label='Marks and options') as opener:
            set_attributes(opener, aria_haspopup='dialog')
            with (
                ui.menu()
                .classes('popover')
                .props('role="dialog" anchor="top right" self="bottom right"') as popover
            ):
                set_attributes(popover, aria_label='Marks and options')
                self._jumps = JumpMenu(
                    self._follower.index, lambda: self._origin, self._jump_to, self._announce
                )
                with Box('jump-options'):
                    self._skip_idle = ui.checkbox('Skip idle time', value=True)
                    self._loop = ui.checkbox('Loop')
                    equal = button('Equal steps or scale of time', icon='swap_horiz', kind='quiet')
                    equal.on('click', lambda: self._track.toggle('equal'))
                    copy = button('Copy link to this step', icon='link', kind='quiet')
                    copy.on('click', self._on_copy, js_handler=COPY)
                    Text('p', RECORDED, 'muted small')
            popover.on('show', self._update_jumps)

    def _draw_button(self, icon: str, label: str, act: Callable[[], Awaitable[None]]) -> ui.element:
        return button('', icon=icon, kind='quiet', label=label).on('click', act)

    def _update_jumps(self) -> None:
        self._jumps.update(self.page.moment.view)

    async def _open_agent(self, agent: str, step: int) -> None:
        """Show an agent as it was at a step."""
        await self._jump_to(step)
        if agent:
            self.page.find(RunTabs).open('')
            self.page.find(AgentPanes).reveal(agent)

    def _preload(self) -> None:
        """Prepare the diagram for a person who drags the bar."""
        self.page.find(ChartPane).preload()

    def _on_copy(self, event: object) -> None:
        there, link = event.args  # type: ignore[attr-defined]
        if there:
            ui.notify('Link copied.', type='positive')
        else:
            ui.notify(f'Copy this link: {link}', timeout=15_000, close_button='Close')

    def _announce(self, sentence: str) -> None:
        self._announcer.set_text(sentence)
        ui.notify(sentence, timeout=2_500, group='jump', badgeClass='hidden')  # only the latest matters


def wait_after(times: Sequence[float], at: int, *, folded: bool) -> float:
    """Return the seconds of the recording from step `at` to the next one; 0 after the last.

    Args:
        times: the times of the steps in seconds; that of step n is at index n - 1.
        at: a step, or 0 before the first.
        folded: whether idle time is skipped.
    """
    if not 0 < at < len(times):
        return 0.0
    wait = max(times[at] - times[at - 1], MIN_WAIT)
    return min(wait, MAX_WAIT) if folded else wait


def advance(times: Sequence[float], at: int, seconds: float, *, folded: bool) -> tuple[int, float]:
    """Return where a replay is `seconds` of recording after showing step `at`.

    Returns:
        The step, and the remaining seconds, which count towards the next one.
    """
    while at < len(times) and seconds >= (wait := wait_after(times, at, folded=folded)):
        at, seconds = at + 1, seconds - wait
    return at, seconds


def seconds_until_next(
    times: Sequence[float], at: int, seconds: float, speed: float, *, folded: bool
) -> float:
    """Return the real seconds until the next step, `seconds` of recording after `at`; at least a frame."""
    return max((wait_after(times, at, folded=folded) - seconds) / speed, FRAME)


class Viewers:
    """The other pages on this run."""

    def __init__(self, viewer: Viewer, seek: Callable[[int | None], Awaitable[None]]) -> None:
        self._viewer = viewer
        self._buttons: list[ui.element] = []
        self._names: list[Text] = []
        with Box('viewers', 'span', role='group', aria_label='Also viewing') as self._root:
            for index in range(MAX_VIEWERS):
                with Box('viewer', 'button', type='button') as element:
                    ui.icon('visibility', size='14px')
                    self._names.append(Text('span', ''))
                element.on('click', lambda index=index: self._go(index, seek))
                self._buttons.append(element)
            self._more = Text('span', '', 'muted small num')
        self._show()

    def look(self) -> None:
        """Update the viewers if any have joined, left or moved."""
        if self._viewer.outdated:
            self._viewer.outdated = False
            self._show()

    def _show(self) -> None:
        others = self._viewer.others
        for index, element in enumerate(self._buttons):
            element.set_visibility(index < len(others))
            if index < len(others):
                brief, description = _brief(others[index]), self._describe(others[index])
                self._names[index].show(brief)
                set_attributes(element, aria_label=f'{brief}, {description}', title=description)
        self._more.show(f'+{len(others) - MAX_VIEWERS}' if len(others) > MAX_VIEWERS else '')
        self._root.set_visibility(bool(others))

    def _describe(self, other: Viewer) -> str:
        own = other.name == self._viewer.name
        who = other.name if not own else 'You, in another window' if other.name else 'Another window'
        return f'{who}: at ' + ('the newest step' if other.at is None else f'step {other.at}')

    async def _go(self, index: int, seek: Callable[[int | None], Awaitable[None]]) -> None:
        others = self._viewer.others
        if index < len(others):
            await seek(others[index].at)


def _brief(other: Viewer) -> str:
    """Return initials and step; the newest step is named only for a viewer without a name."""
    at = '' if other.at is None and other.name else 'latest' if other.at is None else str(other.at)
    return f'{other.name[:2].upper()} {at}'.strip()
