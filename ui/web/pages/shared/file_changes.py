"""Files that differ between two folders: a tree of them, and one as a diff."""

from __future__ import annotations

from collections.abc import Awaitable

from engine.errors import WorkspaceError
from engine.workspace import FileChange
from ui.formatting.files import diff_rows, entry_line, omission_reason, summarize_changes
from ui.web.components.elements import Code, FileTree
from ui.web.components.theme import text_notice
from ui.web.components.widgets import Box, Text


class FileChanges:
    """Shows what it reads; the selected file stays selected as long as it differs."""

    def __init__(self) -> None:
        self._read_number, self._picked = 0, ''
        self._entries: dict[str, FileChange] = {}
        self._summary = Text('p', '', 'files-summary muted small', role='status')
        with Box('files-body') as self._body:
            self._tree = FileTree(self._pick, label='Files that differ')
            with Box('file'):
                with Box('file-head'):
                    self._name = Text('b', '', 'mono')
                self._code = Code()
                self._omission = Text('p', '', 'file-why muted')
        self._problem = Box('files-problem')

    async def show(self, reading: Awaitable[list[FileChange]]) -> None:
        """Read and show; of several concurrent reads only the newest counts."""
        self._read_number += 1
        turn = self._read_number
        self._problem.clear()
        changes: list[FileChange] = []
        try:
            changes = await reading
        except WorkspaceError as error:
            with self._problem:
                text_notice('fail', 'folder_off', str(error))
        if turn != self._read_number:
            return
        self._entries = {entry.path: entry for entry in changes}
        self._summary.show(summarize_changes(changes))
        self._body.set_visibility(bool(changes))
        self._tree.show([entry_line(entry) for entry in changes], '')
        self._pick(self._picked if self._picked in self._entries else next(iter(self._entries), ''))

    def _pick(self, path: str) -> None:
        self._picked = path or self._picked
        entry = self._entries.get(path)
        if entry is None:
            return
        self._tree.run_method('pick', path)
        reason = omission_reason(entry)
        self._name.show(path)
        self._omission.show(reason)
        self._omission.set_visibility(bool(reason))
        self._code.set_visibility(not reason)
        self._code.show(diff_rows(entry.text), f'Changes of {path}')
