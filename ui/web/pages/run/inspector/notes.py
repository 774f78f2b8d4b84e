"""Notes on the step that is shown: adding, editing and deleting them."""

from __future__ import annotations

from nicegui import ui
from typing_extensions import override

from engine import EngineError
from engine.records import Note
from ui.formatting.values import exact
from ui.web.components.dialogs import notify_errors
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, label, set_attributes
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.run.player.player import Player
from ui.web.pages.shared.run_list.undo import Undo
from ui.web.permission import is_permitted
from ui.web.replay.marks import Mark

SAVE = (
    '(event) => { if ((event.ctrlKey || event.metaKey) && event.key === "Enter") emit(event.target.value); }'
)


class StepNotes(Pane):
    """Notes of a step. A note being written stays visible while the page moves on."""

    place = 'below step'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._conductor, self._run = page.context.conductor, page.context.run
        self._notes: list[Note] = []
        self._step = 0
        self._drawn: tuple[int, tuple[Note, ...]] | None = None
        with Box('step-notes', 'section', aria_label='Notes on this step') as self._box:
            self._list = Box('note-list', 'ul')
            self._editor = Box('ghost')
            self._add = button('Add note', icon='edit_note', kind='small', requires='write_note')
            self._add.on('click', lambda: self._open_editor(Note(run=self._run, seq=self._step, text='')))
        self._undo = Undo()

    @override
    async def load(self) -> None:
        """Read the run's notes again, and redraw those of the step."""
        try:
            self._notes = await self._conductor.notes(self._run)
        except EngineError:
            return  # the run is deleted or unreadable, which the page reports
        if not self._box.is_deleted:
            self._show_notes(self._step)
            self.page.find(Player).show_notes(
                [Mark(seq=note.seq, kind='note', text=note.text) for note in self._notes]
            )

    @override
    def show(self, moment: Moment) -> None:
        self._show_notes(moment.view.seq)

    def _show_notes(self, step: int) -> None:
        """Show the notes on a step; step 0 cannot have any."""
        self._step = step
        here = tuple(note for note in self._notes if note.seq == step)
        if self._drawn == (step, here):
            return
        self._drawn = (step, here)
        self._box.set_visibility(step > 0)
        self._list.clear()
        with self._list:
            for note in here:
                self._draw(note)

    def _draw(self, note: Note) -> None:
        with Box('step-note', 'li'):
            Text('p', note.text, 'note-text')
            with Box('note-foot'):
                edited = ', edited' if note.edited else ''
                Text('span', f'{exact(note.created)}{edited}', 'muted small')
                Box('grow', 'span')
                if not is_permitted('write_note'):
                    return
                change = button('', icon='edit', kind='quiet small', label='Edit note')
                change.on('click', lambda: self._open_editor(note))
                remove = button('', icon='delete', kind='quiet small', label='Delete note')
                remove.on('click', lambda: self._delete(note))

    def _open_editor(self, note: Note) -> None:
        self._editor.clear()
        self._add.set_visibility(False)
        with self._editor, Box('note-editor'):
            name = f'Note on step {note.seq}'
            text = (
                ui.textarea(value=note.text)
                .props('borderless dense autogrow autofocus')
                .classes('input area')
            )
            set_attributes(text, maxlength='10000')
            label(name, text, 'label small')
            text.on('keydown', lambda event: self._save(note, str(event.args)), js_handler=SAVE)
            text.on('keydown.esc', self._close_editor)
            with Box('note-foot'):
                button('Save', kind='small primary').on(
                    'click', lambda: self._save(note, str(text.value or ''))
                )
                button('Cancel', kind='small').on('click', self._close_editor)
                Text('span', 'Ctrl+Enter saves', 'muted small')

    def _close_editor(self) -> None:
        self._editor.clear()
        self._add.set_visibility(True)

    async def _save(self, note: Note, text: str) -> None:
        if await notify_errors(self._conductor.write_note(self._run, text, at=note.seq, note=note.id)):
            self._close_editor()
            await self.load()

    async def _delete(self, note: Note) -> None:
        async def again() -> None:
            await notify_errors(self._conductor.write_note(self._run, note.text, at=note.seq))
            await self.load()

        try:
            await self._conductor.delete_note(self._run, note.id)
        except EngineError as error:
            ui.notify(str(error), type='negative')
        else:
            self._undo.offer('Note deleted.', again)
        await self.load()
