"""The files of the agents at the step that is shown: tree, content, versions, differences."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from nicegui import ui

from engine import FileChange, FileVersion, View, WorkspaceError
from ui.elements import Code, FileTree
from ui.panes.around import Around
from ui.parts import Choice, Text, attach, link
from ui.presenters.files import line, rights, rows, shown, size, sum_of, why
from ui.presenters.words import count
from ui.replay.history import Version, latest
from ui.theme import button, empty, notice

EMPTY = ''
"""The snapshot of a folder in which nothing is."""


class Files:
    """One agent's folder, or the differences between two snapshots; read only while somebody looks."""

    def __init__(self, around: Around, seek: Callable[[int], Awaitable[None]]) -> None:
        self._around, self._seek = around, seek
        self._view: View | None = None
        self._open, self._comparing = False, False
        self._picked, self._turn = '', 0
        self._read: object = None
        self._entries: dict[str, FileVersion | FileChange] = {}
        with ui.element('div').classes('files') as self._root:
            with ui.element('div').classes('files-head'):
                self._agent = Choice({'': ''}, value='', on_change=self._chosen)
                attach(self._agent, aria_label='Whose files')
                self._compare = button('Compare', icon='difference').props('aria-pressed="false"')
                self._compare.on('click', self._turn_over)
                ui.element('span').classes('grow')
                with link('', 'btn', download='') as self._zip:
                    ui.icon('folder_zip')
                    ui.label('ZIP')
                    ui.tooltip('Download all files of this version')
            self._versions = ui.element('div').classes('versions')
            self._versions.props('role="group" aria-label="Versions of this folder"')
            with ui.element('div').classes('files-pair') as self._pair:
                self._before, self._after = (self._side(name) for name in ('From', 'To'))
            self._said = Text('p', '', 'files-said muted small', role='status')
            with ui.element('div').classes('files-body') as self._body:
                self._tree = FileTree(self._pick, label='Files')
                with ui.element('div').classes('file'):
                    with ui.element('div').classes('file-head'):
                        self._name = Text('b', '', 'mono')
                        self._note = Text('span', '', 'muted small num')
                        ui.element('span').classes('grow')
                        with link('', 'btn quiet small', download='') as self._download:
                            ui.icon('download')
                            ui.label('Download')
                    self._code = Code()
                    self._why = Text('p', '', 'file-why muted')
        with ui.element('div') as self._none:
            empty('folder_open', 'No agent has written a file up to this step.')
        self._trouble = ui.element('div').classes('files-trouble')

    def show(self, view: View) -> None:
        """Show the files at another step, as soon as somebody looks."""
        self._view = view
        self._root.set_visibility(bool(view.files))
        self._none.set_visibility(not view.files)
        if self._open:
            self._refresh()

    def open(self, opened: bool) -> None:
        """Somebody looks now, or not any more."""
        self._open = opened
        if opened and self._view is not None:
            self._refresh()

    def _refresh(self) -> None:
        """Offer what there is at this step, and read what is to be shown, if that is something else."""
        view = self._view
        if view is None or not view.files:
            return
        named = {path: self._around.named(path) for path in sorted(view.files)}
        if self._agent.value not in named:
            self._agent.value = next(iter(named))
        self._agent.offered = {}  # an agent that has no files at this step is not offered any more
        self._agent.offer(named)
        self._offer_versions(view)
        snapshot = view.files[self._agent.value]
        name = f'{self._agent.value}-step-{view.seq}'
        attach(self._zip, href=f'/runs/{self._around.run}/archive/{snapshot}?name={quote(name)}')
        for part, seen in ((self._pair, self._comparing), (self._versions, not self._comparing)):
            part.set_visibility(seen)
        wanted = (self._before.value, self._after.value) if self._comparing else (snapshot,)
        if wanted != self._read:
            self._read = wanted
            ui.timer(0, self._load, once=True)

    def _offer_versions(self, view: View) -> None:
        history = self._around.history
        known = history.versions.get(self._agent.value, [])
        now = latest(history.versions, self._agent.value, view.seq)
        drawn = (self._agent.value, len(known), now)
        if getattr(self, '_drawn', None) == drawn:
            return
        self._drawn = drawn
        self._versions.clear()
        with self._versions:
            for version in known:
                self._offer_version(version, shown=version == now)
        offered = {EMPTY: 'An empty folder'}
        for agent, versions in sorted(history.versions.items()):
            for version in versions:
                what = f'{self._around.named(agent)}, version {version.number} (step {version.seq})'
                offered.setdefault(version.snapshot, what)
        for side in (self._before, self._after):
            side.offer(offered)

    def _offer_version(self, version: Version, *, shown: bool) -> None:
        part = ui.element('button').classes('version').props('type="button"')
        attach(part, aria_pressed=str(shown).lower())
        with part:
            Text('b', f'v{version.number}')
            Text('span', f'step {version.seq}', 'num')
        part.on('click', lambda: self._seek(version.seq))

    def _side(self, name: str) -> Choice:
        with ui.element('div').classes('files-side'):
            Text('span', name, 'muted small', aria_hidden='true')
            choice = Choice({EMPTY: 'An empty folder'}, value=EMPTY, on_change=self._refresh)
        attach(choice, aria_label=f'Compare {name.lower()}')
        return choice

    def _chosen(self) -> None:
        if self._open:
            self._refresh()

    def _turn_over(self) -> None:
        self._comparing = not self._comparing
        self._compare.props(f'aria-pressed="{str(self._comparing).lower()}"')
        view = self._view
        if self._comparing and view is not None and self._agent.value in view.files:
            known = self._around.history.versions.get(self._agent.value, [])
            before = [version.snapshot for version in known if version.seq <= view.seq][-2:-1]
            self._before.value, self._after.value = [*before, EMPTY][0], view.files[self._agent.value]
        self._refresh()

    async def _load(self) -> None:
        self._turn += 1
        turn, comparing, read = self._turn, self._comparing, self._read
        workspaces, run = self._around.conductor.workspaces, self._around.run
        assert isinstance(read, tuple)
        try:
            found: list[Any] = (
                await workspaces.diff(run, *read) if comparing else await workspaces.files(run, read[0])
            )
        except WorkspaceError as error:
            self._warn(str(error))
            found = []
        else:
            self._warn('')
        if turn != self._turn:
            return
        self._entries = {entry.path: entry for entry in found}
        total = sum(entry.size for entry in found) if not comparing else 0
        said = f'{count(len(found), "file")}, {size(total)}' if not comparing else sum_of(found)
        self._said.show(said)
        self._body.set_visibility(bool(found))
        self._picked = self._picked if self._picked in self._entries else next(iter(self._entries), '')
        self._tree.show([line(entry) for entry in found], self._picked)
        await self._show_file(turn)

    async def _pick(self, path: str) -> None:
        self._picked = path
        self._tree.run_method('pick', path)
        await self._show_file(self._turn)

    async def _show_file(self, turn: int) -> None:
        entry = self._entries.get(self._picked)
        if entry is None:
            return
        file = entry if isinstance(entry, FileVersion) else entry.after or entry.before
        assert file is not None
        if isinstance(entry, FileChange):
            lines, reason = rows(entry.text), why(entry)
        elif file.target is not None:
            lines, reason = [], f'It is a link to {file.target}.'
        else:
            try:
                content = shown(
                    await self._around.conductor.workspaces.content(self._around.run, file.digest)
                )
            except WorkspaceError as error:
                self._warn(str(error))
                return
            reason = content.note
            lines = [['', 0, number, text] for number, text in enumerate(content.lines, start=1)]
        if turn != self._turn or self._entries.get(self._picked) is not entry:
            return
        self._name.show(file.path)
        self._note.show('' if isinstance(entry, FileChange) else f'{size(file.size)}{rights(file)}')
        self._why.show(reason)
        self._why.set_visibility(bool(reason))
        self._code.set_visibility(not reason)
        self._code.show(
            lines, f'{"Changes of" if isinstance(entry, FileChange) else "Content of"} {file.path}'
        )
        self._download.set_visibility(bool(file.digest))
        name = quote(file.path.rpartition('/')[2])
        attach(self._download, href=f'{self._around.kept}/{file.digest}?name={name}')

    def _warn(self, problem: str) -> None:
        self._trouble.clear()
        if problem:
            with self._trouble, notice('fail', 'folder_off'):
                ui.label(problem)
