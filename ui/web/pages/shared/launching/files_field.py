"""The files that a run is started with: added, renamed and removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.events import UploadEventArguments

from engine import EngineError, InvalidInput
from engine.records import (
    MAX_FILE,
    MAX_FILES,
    MAX_FILES_SIZE,
    FileContent,
    RunInfo,
    check_files,
    file_bytes,
    file_content,
)
from engine.workspace import read_given_files
from ui.app.backend import Backend
from ui.formatting.values import as_sentence, byte_size, count, problem_sentence
from ui.web.components.forms.drop_zone import drop_zone
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, text_input

LIMITS = (
    'Agents with tools for files or commands find them in their folders, laid over a project if there is'
    f' one. Up to {MAX_FILES} files of {MAX_FILE >> 20} MB, {MAX_FILES_SIZE >> 20} MB together.'
)
UNUSED = 'No agent here has a tool for files or commands.'
NAMED = 2
"""Maximum number of files that the summary names."""


@dataclass(slots=True)
class _Given:
    path: str
    content: FileContent
    size: int
    problem: Text | None = None
    box: ui.input | None = None


class FilesField:
    """The section, drawn collapsed."""

    def __init__(self, backend: Backend, *, on_change: Callable[[], None]) -> None:
        """Draw it without files."""
        self._backend, self._on_change = backend, on_change
        self._given: list[_Given] = []
        self._reading: RunInfo | None = None
        """The run whose files are still being read."""
        self._used = True
        with Box('fold files-fold', 'details', aria_label='Files') as self._fold:
            with Box(tag='summary'):
                Text('span', 'Files')
                self._brief = Text('span', '', 'muted brief')
            with Box('form'):
                self._note = Text('p', LIMITS, 'muted small')
                self._rows = Box('file-rows')
                drop_zone(
                    self._on_upload,
                    max_bytes=MAX_FILE,
                    on_begin=lambda: self._show_problem(''),
                    on_problem=lambda name, problem: self._show_problem(
                        f'{name} did not arrive: {problem}.'
                        if name
                        else f'A file is larger than {MAX_FILE >> 20} MB: put it into a project.'
                    ),
                    multiple=True,
                )
                self._problem = Text('p', '', 'problem', role='alert')
        self._show_problem('')
        self._summarize()

    @property
    def chosen(self) -> dict[str, FileContent]:
        """The files by path, valid or not; of two with the same path, the last one."""
        return {given.path: given.content for given in self._given}

    @property
    def raw(self) -> list[list[Any]]:
        """The paths and contents, valid or not."""
        return [[given.path, given.content] for given in self._given]

    def fill(self, raw: Sequence[Sequence[Any]]) -> None:
        """Restore the content of `raw`."""
        self._reading = None
        self._given = [_Given(path, content, len(file_bytes(content))) for path, content in raw]
        self._redraw()

    def set_files(self, files: Mapping[str, FileContent]) -> None:
        """Show these files."""
        self.fill([*files.items()])

    def read_from(self, info: RunInfo) -> None:
        """Show the files that a run was started with, once they are read."""
        self.fill([])
        if info.given_files:
            self._reading = info
            self._summarize()
            ui.timer(0, self._read, once=True)

    def show_use(self, used: bool) -> None:
        """Say whether any agent can use files."""
        if used != self._used:
            self._used = used
            self._note.show(LIMITS if used else UNUSED)
            self._summarize()

    def check(self) -> bool:
        """Return whether all are valid; problems are shown at each."""
        problems: dict[str, str] = {}
        paths = [given.path for given in self._given]
        if self._reading:
            problems[''] = 'are still being read: try again in a moment'
        try:
            check_files(self.chosen, 'files')
        except InvalidInput as error:
            problems |= {name.partition('.')[2]: problem for name, problem in error.problems.items()}
        twins = {path for path in paths if paths.count(path) > 1}
        self.show_problems(problems | dict.fromkeys(twins, 'is the path of two files'))
        return not problems and not twins

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems by path; any other is one of all files."""
        known = {given.path for given in self._given}
        for given in self._given:
            problem = problem_sentence(problems[given.path]) if given.path in problems else ''
            if given.problem and given.box:
                given.problem.show(problem)
                given.problem.set_visibility(bool(problem))
                set_attributes(given.box, aria_invalid='true' if problem else False)
        others = [problem_sentence(problem) for path, problem in problems.items() if path not in known]
        self._show_problem(' '.join(others))
        if problems:
            set_attributes(self._fold, open=True)

    def focus_problem(self) -> None:
        """Focus the first file with a problem."""
        for given in self._given:
            if given.box and given.problem and given.problem.text:
                given.box.run_method('focus')
                return

    async def _read(self) -> None:
        info = self._reading
        if info is None:
            return
        try:
            files = await read_given_files(self._backend().workspaces, info)
        except EngineError as error:
            files, problem = {}, f'The files of {info.title} cannot be read: {error}'
            self._show_problem(as_sentence(problem))
        if self._reading is info and not self._fold.is_deleted:
            self.set_files(files)
            self._on_change()

    async def _on_upload(self, event: UploadEventArguments) -> None:
        data, path = await event.file.read(), event.file.name
        if self._fold.is_deleted:
            return
        self._given = [given for given in self._given if given.path != path]
        self._given.append(_Given(path, file_content(data), len(data)))
        self._redraw()
        self.check()
        self._on_change()

    def _redraw(self) -> None:
        self._rows.clear()
        with self._rows:
            for given in self._given:
                self._draw(given)
        self._show_problem('')
        self._summarize()

    def _draw(self, given: _Given) -> None:
        def rename() -> None:
            given.path = str(given.box.value or '').strip() if given.box else given.path
            self._summarize()
            self.check()
            self._on_change()

        def remove() -> None:
            self._given.remove(given)
            self._redraw()
            self.check()
            self._on_change()

        with Box('file-row'):
            given.box = text_input(given.path, aria_label='Path', spellcheck='false', autocapitalize='off')
            given.box.on_value_change(rename)
            Text('span', byte_size(given.size), 'muted small num')
            button('', icon='close', kind='quiet small', label=f'Remove {given.path}').on('click', remove)
            given.problem = Text('p', '', 'problem')
            given.problem.set_visibility(False)

    def _show_problem(self, problem: str) -> None:
        self._problem.show(problem)
        self._problem.set_visibility(bool(problem))

    def _summarize(self) -> None:
        if self._reading:
            self._brief.show('reading…')
        elif not self._given:
            self._brief.show('none' if self._used else 'not used here')
        else:
            names = ', '.join(given.path for given in self._given[:NAMED])
            more = '…' if len(self._given) > NAMED else ''
            size = byte_size(sum(given.size for given in self._given))
            self._brief.show(f'{count(len(self._given), "file")}, {size}: {names}{more}')
