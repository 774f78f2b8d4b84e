"""The title of a run, edited in place; star, pin, and its size on disk."""

from __future__ import annotations

from typing import Unpack

from nicegui import ui

from engine import Conductor, EngineError
from engine.records import MAX_TITLE, Annotation, RunInfo
from ui.formatting.values import byte_size
from ui.web.components.dialogs import notify_errors
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, set_class, text_input
from ui.web.routing import show_title

MEASURE_INTERVAL = 10.0
"""Seconds between measurements of the size on disk."""
POLL_SECONDS = 2.0
"""Seconds between looks at the summary, which another page may have changed."""
DONE = '(event) => { if (event.key === "Enter") emit(event.target.value); }'


class RunTitle:
    """The heading of the run page."""

    def __init__(self, conductor: Conductor, info: RunInfo) -> None:
        self._conductor, self._info = conductor, info
        with Box('run-title-bar'):
            self._heading = Box(tag='h1')
            with self._heading:
                self._name = ui.label(info.title).props('dir=auto')
            self._place = Box('ghost')
            self._marks = Box('run-marks')
            with self._marks:
                self._edit = button(
                    '', icon='edit', kind='quiet small', label='Rename the run', requires='annotate'
                )
                self._edit.on('click', self._rename)
                self._star = button(
                    '', icon='star_outline', kind='quiet small', label='Star', requires='annotate'
                )
                self._star.on('click', lambda: self._annotate(starred=not self._info.starred))
                self._pin = button('', icon='push_pin', kind='quiet small', label='Pin', requires='annotate')
                self._pin.on('click', lambda: self._annotate(pinned=not self._info.pinned))
            self._bytes = Text('span', '', 'num muted small run-weight')
            self._deleted = Box('ghost', 'span')
        self.show(info)

    def show(self, info: RunInfo) -> None:
        """Show the run's title and marks, also in the browser's tab, after its count of questions."""
        if info.title != self._info.title:
            show_title(info.title)
        self._info = info
        self._name.set_text(info.title)
        _draw_pressed(
            self._star, 'Starred' if info.starred else '', 'star' if info.starred else 'star_outline'
        )
        _draw_pressed(self._pin, 'Pinned' if info.pinned else '', 'push_pin')
        set_class(self._marks, 'set', on=info.starred or info.pinned)
        self._deleted.clear()
        if info.deleted:
            with self._deleted:
                Text('span', 'deleted', 'chip wait')
                button('Restore', icon='restore_from_trash', kind='small', requires='restore').on(
                    'click', self._restore
                )

    def track_size(self) -> None:
        """Keep showing the size on disk, and titles and marks that were given elsewhere."""
        ui.timer(MEASURE_INTERVAL, self._show_size)
        ui.timer(POLL_SECONDS, self._refresh, immediate=False)

    async def _refresh(self) -> None:
        try:
            info = await self._conductor.info(self._info.id)
        except EngineError:
            return
        old = self._info
        same = (old.title, old.starred, old.pinned, old.deleted) == (
            *(info.title, info.starred, info.pinned, info.deleted),
        )
        if not same and not self._name.is_deleted:
            self.show(info)

    async def _show_size(self) -> None:
        try:
            info = await self._conductor.info(self._info.id)
            weight = (await self._conductor.disk_usage([info]))[info.id]
        except EngineError:
            return
        if not self._bytes.is_deleted:
            self._bytes.show(byte_size(weight.total))
            parts = {'history': weight.history, 'files': weight.files, 'recording': weight.recording}
            set_attributes(
                self._bytes, title=', '.join(f'{name} {byte_size(number)}' for name, number in parts.items())
            )

    def _rename(self) -> None:
        self._heading.classes('visually-hidden')  # a page keeps its heading
        self._edit.set_visibility(False)
        with self._place:
            field = text_input(self._info.title, maxlength=str(MAX_TITLE), aria_label='Title of the run')
            field.classes('run-rename').props('autofocus')
            field.on('keydown', lambda event: self._on_rename(str(event.args)), js_handler=DONE)
            field.on('keydown.esc', self._close)
            button('Save', kind='small primary').on('click', lambda: self._on_rename(str(field.value or '')))

    async def _on_rename(self, title: str) -> None:
        if title.strip() not in ('', self._info.title):
            await self._annotate(title=title)
        self._close()

    def _close(self) -> None:
        self._place.clear()
        self._heading.classes(remove='visually-hidden')
        self._edit.set_visibility(True)

    async def _annotate(self, **changes: Unpack[Annotation]) -> None:
        info = await notify_errors(self._conductor.annotate(self._info.id, **changes))
        if info:
            self.show(info)

    async def _restore(self) -> None:
        info = await notify_errors(self._conductor.restore(self._info.id))
        if info:
            self.show(info)


def _draw_pressed(control: ui.element, on: str, icon: str) -> None:
    """Show whether a button is pressed, by its icon and a word."""
    control.clear()
    with control:
        ui.icon(icon)
        if on:
            ui.label(on)
    set_class(control, 'icon', on=not on)
    set_attributes(control, aria_pressed='true' if on else 'false')
