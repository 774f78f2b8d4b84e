"""Two versions of anybody's work beside each other: which files differ, and each as a diff."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from engine import FileChange, WorkspaceError
from ui.contests import Entrant
from ui.elements import Code, FileTree
from ui.files import line, rows, sum_of, why
from ui.panes.around import Around
from ui.parts import Choice, Text, attach
from ui.theme import notice


class Difference:
    """Choices of two versions, the files that differ, and one of them. Reads while somebody looks."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._read: tuple[str, str] = ('', '')
        self._touched = False
        self._open = False
        self._turn, self._picked = 0, ''
        self._entries: dict[str, FileChange] = {}
        with ui.element('section').classes('difference').props('aria-label="Differences"') as self.root:
            Text('h2', 'Differences')
            with ui.element('div').classes('files-pair'):
                self._sides = tuple(self._side(name) for name in ('From', 'To'))
            self._said = Text('p', '', 'files-said muted small', role='status')
            with ui.element('div').classes('files-body') as self._body:
                self._tree = FileTree(self._pick, label='Files that differ')
                with ui.element('div').classes('file'):
                    with ui.element('div').classes('file-head'):
                        self._name = Text('b', '', 'mono')
                    self._code = Code()
                    self._why = Text('p', '', 'file-why muted')
            self._trouble = ui.element('div').classes('files-trouble')

    def offer(self, found: Sequence[Entrant]) -> None:
        """Offer all versions; until a person has chosen, the two that are ranked first are compared."""
        offered: dict[str, str] = {}
        for entrant in found:
            for made in entrant.versions:
                offered.setdefault(made.snapshot, f'{entrant.name}, version {made.number}')
        newest = [entrant.latest.snapshot for entrant in found if entrant.latest]
        self.root.set_visibility(len(offered) > 1)
        values = [side.value for side in self._sides]
        if not self._touched or not set(values) <= set(offered):
            self._touched = False
            values = [*newest, *offered][1:2] + newest[:1] if len(newest) > 1 else [*offered][:2]
        for side, value in zip(self._sides, values, strict=False):
            side.offered = {}
            side.value = value
            side.offer(offered)
        self._refresh()

    def compare(self, before: str, after: str) -> None:
        """Show what changed between two snapshots."""
        self._touched = True
        self._sides[0].value, self._sides[1].value = before, after
        self._refresh()
        ui.run_javascript(
            f'document.getElementById("{self.root.html_id}")?.scrollIntoView({{block: "start"}})'
        )

    def open(self, opened: bool) -> None:
        """Somebody looks now, or not any more."""
        self._open = opened
        self._refresh()

    def _side(self, name: str) -> Choice:
        with ui.element('div').classes('files-side'):
            Text('span', name, 'muted small', aria_hidden='true')
            choice = Choice({'': ''}, value='')
        attach(choice, aria_label=f'Differences {name.lower()}')
        choice.on('change', self._chosen)
        return choice

    def _chosen(self) -> None:
        self._touched = True
        self._refresh()

    def _refresh(self) -> None:
        wanted = (self._sides[0].value, self._sides[1].value)
        if self._open and all(wanted) and wanted != self._read:
            self._read = wanted
            ui.timer(0, self._load, once=True)

    async def _load(self) -> None:
        self._turn += 1
        turn, read = self._turn, self._read
        self._trouble.clear()
        found: list[FileChange] = []
        try:
            found = await self._around.conductor.workspaces.diff(self._around.run, *read)
        except WorkspaceError as error:
            with self._trouble, notice('fail', 'folder_off'):
                ui.label(str(error))
        if turn != self._turn:
            return
        self._entries = {entry.path: entry for entry in found}
        self._said.show(sum_of(found))
        self._body.set_visibility(bool(found))
        self._tree.show([line(entry) for entry in found], '')
        self._pick(self._picked if self._picked in self._entries else next(iter(self._entries), ''))

    def _pick(self, path: str) -> None:
        self._picked = path or self._picked
        entry = self._entries.get(path)
        if entry is None:
            return
        self._tree.run_method('pick', path)
        reason = why(entry)
        self._name.show(path)
        self._why.show(reason)
        self._why.set_visibility(bool(reason))
        self._code.set_visibility(not reason)
        self._code.show(rows(entry.text), f'Changes of {path}')
