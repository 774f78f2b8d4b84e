"""A coder's seat: a person edits files in its folder, and submits them for testing."""

from __future__ import annotations

from nicegui import ui

from engine.errors import WorkspaceError
from engine.records import Shape, View
from engine.workspace import FileVersion, is_own_work
from ui.formatting.steps import role_title
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, label, text_area, text_input
from ui.web.pages.run.pane import Moment
from ui.web.pages.run.review.contest import read_candidates
from ui.web.pages.run.review.debates import CODER
from ui.web.pages.shared.run.context import RunContext

NEW_FILE = ''
"""The choice of a file that does not exist yet."""


def coder_turn(view: View, shape: Shape) -> str:
    """Return the coder in whose seat a person has to work now; '' if there is none."""
    states = (shape.state(leaf) for leaf in view.active)
    return next((state.parent.rpartition('.')[2] for state in states if state and state.waits == CODER), '')


class CoderSeat:
    """The form for a person in a coder's seat. Edits stay in it until they are submitted."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self.name = ''
        """The coder whose seat a person has, or ''."""
        self._visit: object = None
        self._files: dict[str, FileVersion] = {}
        self._edits: dict[str, str | None] = {}
        self._loading = False
        self.root = Box('seat coder-seat', 'section', aria_label='Your work')
        self.root.set_visibility(False)

    def show(self, moment: Moment) -> None:
        """Show the form while it is a person's turn; typed text stays until it is over."""
        view = moment.view
        name = coder_turn(view, self._context.shape) if moment.may_answer else ''
        leaf = next((leaf for leaf in view.active if leaf.endswith(f'{name}.person')), '') if name else ''
        visit = (name, view.entered.get(leaf)) if name else None
        if visit == self._visit:
            return
        again = self._visit is not None and visit is not None and self.name == name
        self._visit, self.name = visit, name
        if not again:
            self._edits = {}
        self.root.clear()
        self.root.set_visibility(bool(name))
        if name:
            with self.root:
                self._draw(view)

    def _draw(self, view: View) -> None:
        with Box('seat-head'):
            ui.icon('front_hand', size='20px')
            Text('h2', f'Your turn as {role_title(self.name).lower()}')
        candidate = read_candidates(view, self._context.shape).get(self.name)
        if candidate and candidate.problem:
            Text('p', candidate.problem, 'candidate-problem', role='alert')
        with Box('coder-seat-files'):
            with Box('field'):
                self._choice = NativeSelect({NEW_FILE: 'New file'}, value=NEW_FILE, on_change=self._open_file)
                label('File', self._choice)
            with Box('field'):
                self._path = text_input(placeholder='module.py')
                label('Path', self._path)
                self._path.on_value_change(self._store_edit)
        with Box('field'):
            self._text = text_area(spellcheck='false').classes('mono')
            label('Content', self._text)
            self._text.on_value_change(self._store_edit)
        self._changed = Text('p', '', 'muted small', role='status')
        with Box('field'):
            self._message = text_area(maxlength='20000')
            label('Message to the reviewers', self._message)
        with Box('seat-actions'):
            button('Submit', icon='send', kind='primary').on('click', self._submit)
            button('Remove file', icon='delete').on('click', self._remove)
            button('Return seat', icon='undo').on(
                'click', lambda: self._context.send('hand_back', '', {'seat': self.name})
            )
        self._show_edits()
        snapshot = view.files.get(self.name)
        if snapshot:
            ui.timer(0, lambda: self._load_files(snapshot), once=True)

    async def _load_files(self, snapshot: str) -> None:
        try:
            files = await self._context.conductor.workspaces.files(self._context.run, snapshot)
        except WorkspaceError:
            return
        self._files = {file.path: file for file in files if file.target is None and is_own_work(file)}
        self._choice.set_options({NEW_FILE: 'New file', **{path: path for path in self._files}})

    async def _open_file(self) -> None:
        path = self._choice.value
        text = self._edits.get(path)
        if path and text is None and path in self._files:
            digest = self._files[path].digest
            content = await self._context.conductor.workspaces.content(self._context.run, digest)
            text = content.decode(errors='replace')
        self._loading = True
        self._path.value, self._text.value = path, text or ''
        self._loading = False

    def _store_edit(self) -> None:
        path = str(self._path.value or '').strip()
        if path and self._text.value and not self._loading:
            self._edits[path] = str(self._text.value)
            self._show_edits()

    def _remove(self) -> None:
        path = str(self._path.value or '').strip()
        if path in self._files:
            self._edits[path] = None
        else:
            self._edits.pop(path, None)
        self._loading = True
        self._path.value = self._text.value = ''
        self._loading = False
        self._show_edits()

    def _show_edits(self) -> None:
        names = [f'{path} (removed)' if text is None else path for path, text in sorted(self._edits.items())]
        self._changed.show(f'To submit: {", ".join(names)}' if names else 'No files changed yet.')

    async def _submit(self) -> None:
        files = [{'path': path, 'text': text} for path, text in self._edits.items()]
        summary = str(self._message.value or '').strip()
        await self._context.send('hand_in', '', {'seat': self.name, 'files': files, 'said': summary})
