"""A dialog to add, test, edit or remove a section of the configuration file."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from nicegui import ui
from pydantic import AfterValidator, BaseModel

from engine import EngineError
from engine.operations import Endpoints, McpServers
from ui.app.backend import Backend
from ui.web.components.dialogs import await_answer, confirm, dialog_frame
from ui.web.components.forms.form import Form
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text


def must_match(pattern: str, problem: str) -> AfterValidator:
    """Return a validator that accepts empty or matching text; for any other, the field shows `problem`."""

    def check(text: str) -> str:
        if text and not re.fullmatch(pattern, text):
            raise ValueError(problem)
        return text

    return AfterValidator(check)


Name = Annotated[str, must_match(r'[a-z0-9_-]+', 'Enter lower-case letters, digits, - and _ only.')]
Address = Annotated[str, must_match(r'https?://.+', 'Enter an address that begins with http:// or https://.')]


class SectionDialog(ABC):
    """Adds or edits a section, then tests it and shows any problem."""

    TITLE: str
    """The title of the dialog for a new one."""

    def __init__(self, backend: Backend, on_done: Callable[[], Any]) -> None:
        """`on_done` is called when the configuration has changed."""
        self._backend, self._on_done = backend, on_done

    @abstractmethod
    def sections(self) -> Endpoints | McpServers:
        """Return the sections of this kind."""

    @abstractmethod
    def model(self) -> type[BaseModel]:
        """Return the form's model."""

    @abstractmethod
    def fill(self, name: str, section: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the form's values for an existing section."""

    @abstractmethod
    def values(self, form_values: Any, section: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return the name and the entries to write."""

    @abstractmethod
    async def test(self, name: str) -> tuple[str, str]:
        """Return the section's problem, or '', and the message for success."""

    async def open(self, name: str = '') -> None:
        """Open the dialog for a new section, or for the one of this name."""
        try:
            section = await self.sections().get(name) if name else {}
        except EngineError as error:
            ui.notify(str(error), type='negative', multi_line=True, close_button='Close')
            return
        with dialog_frame(f'Edit {name}' if name else self.TITLE) as dialog:
            Text('p', f'Saved in {self._backend().catalog.file}', 'muted small')
            form = Form(self.model(), on_change=lambda: None)
            form.set_values(self.fill(name, section) if name else {})
            message = Text('p', '', 'problem', role='status')

            async def save() -> None:
                submitted = form.submit()
                if submitted is None:
                    return
                new_name, values = self.values(submitted, section)
                try:
                    await self.sections().save(name or new_name, values)
                except EngineError as error:
                    message.show(str(error))
                    return
                message.show('Saved. Testing…')
                self._on_done()
                problem, well = await self.test(name or new_name)
                if dialog.is_deleted:
                    return
                if problem:
                    message.show(f'Saved, but the test failed: {problem}')
                else:
                    dialog.submit(new_name)
                    ui.notify(well, type='positive')

            with Box('dialog-actions'):
                if section:
                    button('Remove').on('click', lambda: dialog.submit('remove'))
                    Box('grow', 'span')
                button('Close').on('click', lambda: dialog.submit(None))
                button('Save and test', kind='primary').on('click', save)
        if await await_answer(dialog) == 'remove':
            await self._remove(name)

    async def _remove(self, name: str) -> None:
        text = 'Its section is removed from the configuration file. Runs that use it fail at their next call.'
        if await confirm(f'Remove {name}?', text, yes='Remove', no='Cancel'):
            try:
                await self.sections().remove(name)
            except EngineError as error:
                ui.notify(str(error), type='negative', multi_line=True, close_button='Close')
            self._on_done()
