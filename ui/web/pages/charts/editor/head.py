"""The header of the editor: what is open, whether it is saved, and what can be done with it."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from engine import EngineError, InvalidInput
from engine.charts.library import ChartVersion
from engine.errors import EntryChanged, UnknownPattern
from ui.app.backend import Backend
from ui.formatting.values import ago
from ui.web.components.dialogs import confirm, notify_error, notify_errors
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import Box, Text, set_attributes, text_input, text_link
from ui.web.pages.charts.checking import problems_of
from ui.web.pages.charts.editor.conflict import Choice, ask_conflict
from ui.web.pages.charts.editor.opening import Opened
from ui.web.pages.charts.editor.versions import show_versions
from ui.web.pages.charts.editor.view import EditorView
from ui.web.routing import AUTHOR, chart_path, launch_path, show_address, show_title, simulator_path


class EditorHead:
    """Saves what the editor holds, and leads to running it."""

    def __init__(self, backend: Backend, opened: Opened) -> None:
        """Draw it; `bind` gives it the editor."""
        self._backend, self._opened = backend, opened
        self._name, self._base, self._saved = opened.name, opened.base, opened.text
        self._is_new = not (opened.base or opened.is_python)
        self._busy = False
        self._view: EditorView | None = None
        with Box('editor-head', 'header'):
            text_link('/charts', '← Charts', 'small back')
            self._title = Text('h1', opened.title, dir='auto')
            self._version = Text('span', '', 'chip')
            self._state = Text('span', '', 'muted small', role='status')
            Box('grow', 'span')
            with Box('editor-actions'):
                self._draw_actions()
        with Box('editor-notices'):
            self._draw_notices()
        self._show_version(opened.version)

    def _draw_actions(self) -> None:
        opened = self._opened
        if not opened.readonly:
            self._note = text_input(placeholder='What changed? (optional)', maxlength='500')
            set_attributes(self._note, aria_label='Note on this version')
        self._versions = button('Versions', icon='history')
        self._versions.on('click', partial(show_versions, self._backend, self._name))
        if opened.is_earlier:
            restore = button('Make current', icon='restore', requires='charts.restore')
            restore.on('click', self._restore)
        version = opened.base if opened.is_earlier else ''
        simulate = button('Simulate', icon='skip_next')
        simulate.on('click', partial(self._go, simulator_path(self._name, version)))
        self._change = button('Describe a change', icon='auto_awesome', requires='start')
        self._change.on('click', partial(self._go, launch_path(AUTHOR, base=self._name)))
        run = button('Run', icon='play_arrow', requires='start')
        run.on('click', partial(self._go, launch_path(self._name, version=version)))
        if not opened.readonly:
            self._save_button = button(
                'Save', icon='save', kind='primary editor-wide', requires='charts.save'
            )
            self._save_button.on('click', self.save)

    def _draw_notices(self) -> None:
        if self._opened.readonly:
            text_notice('info', 'lock', self._opened.readonly)
        else:
            Text('p', 'To change it, use a wider window.', 'muted small editor-narrow')

    def bind(self, view: EditorView) -> None:
        """Save what this editor holds."""
        self._view = view
        view.text.on_save(self.save)
        self.show_changes()

    @property
    def is_changed(self) -> bool:
        """Whether anything would be lost."""
        return self._is_new or bool(self._view and self._view.text.text != self._saved)

    def show_changes(self) -> None:
        """Say whether the text is saved."""
        if self._opened.readonly or self._view is None:
            return
        changed = self.is_changed
        self._state.show('Not saved' if self._is_new else 'Unsaved changes' if changed else 'Saved')
        self._note.set_visibility(changed and not self._is_new)
        if changed:
            self._save_button.props(remove='disabled')
        else:
            self._save_button.props('disabled')

    def _show_version(self, version: ChartVersion | None) -> None:
        self._versions.set_visibility(not (self._is_new or self._opened.is_python))
        has_author = AUTHOR in self._backend().catalog.patterns
        self._change.set_visibility(has_author and not (self._is_new or self._opened.is_earlier))
        self._version.set_visibility(version is not None)
        if version is not None:
            self._version.show(f'Version {version.number}')
            author = f' by {version.author}' if version.author else ''
            note = f': {version.note}' if version.note else ''
            when = ago(version.saved, self._backend().clock.now())
            set_attributes(self._version, title=f'Saved {when}{author}{note}')

    async def save(self) -> bool:
        """Save the text as a new version, and return whether that worked."""
        if self._view is None or self._busy or self._opened.readonly or not self.is_changed:
            return not self.is_changed
        self._busy = True
        try:
            return await self._save(self._view, self._base)
        finally:
            self._busy = False

    async def _save(self, view: EditorView, base: str) -> bool:
        text, note = view.text.text, str(self._note.value or '')
        try:
            version = await self._backend().charts.save(self._name, text, base=base, note=note)
        except InvalidInput as error:
            view.show_problems(list(problems_of(error.problems)))
            ui.notify('Not saved: the text has errors.', type='warning')
        except EntryChanged:
            return await self._settle(view)
        except EngineError as error:
            notify_error(error)
        else:
            self._on_saved(view, text, version)
            return True
        return False

    def _on_saved(self, view: EditorView, text: str, version: ChartVersion) -> None:
        self._base, self._saved = version.version, text
        view.text.mark_saved(text)
        self._note.set_value('')
        if self._is_new:
            self._is_new = False
            show_address(chart_path(self._name))
        if view.checked.text == text and view.checked.pattern:
            self._title.show(view.checked.pattern.title)
            show_title(view.checked.pattern.title)
        self._show_version(version)
        self.show_changes()

    async def _settle(self, view: EditorView) -> bool:
        """Ask what to do with a text that somebody else has changed meanwhile."""
        try:
            theirs = await self._backend().charts.get(self._name)
        except UnknownPattern:
            text = 'Its earlier versions are kept. Saving brings it back, with this text.'
            again = await confirm('It was removed meanwhile', text, yes='Save', no='Go on editing')
            return again and await self._save(view, '')
        except EngineError as error:
            notify_error(error)
            return False
        match await ask_conflict(theirs, view.text.text):
            case Choice.OVERWRITE:
                return await self._save(view, theirs.version)
            case Choice.TAKE:
                view.text.replace(theirs.text)
                self._base, self._saved = theirs.version, theirs.text
                view.text.mark_saved(theirs.text)
                self._show_version(theirs.saved)
                self.show_changes()
        return False

    async def _go(self, path: str) -> None:
        """Go to a page that works with the saved version."""
        if self._opened.readonly or await self.save():
            ui.navigate.to(path)

    async def _restore(self) -> None:
        restored: Any = await notify_errors(self._backend().charts.restore(self._name, self._opened.base))
        if restored is not None:
            ui.navigate.to(chart_path(self._name))
