"""The agents' files at the step that is shown: tree, content, versions, differences."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui
from typing_extensions import override

from engine.errors import WorkspaceError
from engine.records import View
from engine.workspace import FileChange, FileVersion, is_own_work
from ui.formatting.files import (
    diff_rows,
    entry_line,
    given_files_text,
    mode_note,
    omission_reason,
    preview,
    size,
    summarize_changes,
)
from ui.formatting.values import count
from ui.web.components.elements import Code, FileTree
from ui.web.components.theme import button, empty_state, text_notice
from ui.web.components.widgets import Box, NativeSelect, Text, link, set_attributes
from ui.web.pages.run.pane import Moment, Panel, RunPage
from ui.web.replay.history import FolderVersion, latest

EMPTY = ''
"""The snapshot of an empty folder."""


class Files(Panel):
    """One agent's folder, or the differences between two snapshots; read only while visible."""

    title = 'Files'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        context = page.context
        self._view: View | None = None
        self._open = self._opened = self._comparing = False
        self._picked, self._load_number = '', 0
        self._loaded: object = None
        self._entries: dict[str, FileVersion | FileChange] = {}
        with Box('files') as self._root:
            with Box('files-head'):
                self._agent = NativeSelect({'': ''}, value='', on_change=self._on_choice)
                set_attributes(self._agent, aria_label='Agent')
                self._compare = button('Compare', icon='difference', aria_pressed='false')
                self._compare.on('click', self._toggle_comparison)
                Box('grow', 'span')
                with link('', 'btn', download='') as self._patch:
                    ui.icon('difference')
                    ui.label('Patch')
                    ui.tooltip('Download the differences as a patch, for git apply')
                with link('', 'btn', download='') as self._zip:
                    ui.icon('folder_zip')
                    ui.label('ZIP')
                    ui.tooltip('Download all files of this version')
                if context.info.parameters.get('project'):
                    with link(f'/runs/{context.run}/review', 'btn'):
                        ui.icon('merge')
                        ui.label('Merge')
                        ui.tooltip('Review what the agents have changed in the project, and merge it')
            if given := given_files_text(context.info):
                Text('p', f'Given with the run: {given}.', 'files-given muted small')
            self._versions = Box('versions', role='group', aria_label='Versions of this folder')
            with Box('files-pair') as self._pair:
                self._before, self._after = (self._draw_side(name) for name in ('From', 'To'))
            self._summary = Text('p', '', 'files-summary muted small', role='status')
            with Box('files-body') as self._body:
                self._tree = FileTree(self._pick, label='Files')
                with Box('file'):
                    with Box('file-head'):
                        self._name = Text('b', '', 'mono')
                        self._note = Text('span', '', 'muted small num')
                        Box('grow', 'span')
                        with link('', 'btn quiet small', download='') as self._download:
                            ui.icon('download')
                            ui.label('Download')
                    self._code = Code()
                    self._omission = Text('p', '', 'file-why muted')
        with Box() as self._none:
            empty_state('folder_open', 'No files up to this step.')
        self._problem = Box('files-problem')

    @override
    def show(self, moment: Moment) -> None:
        view = self._view = moment.view
        self._root.set_visibility(bool(view.files))
        self._none.set_visibility(not view.files)
        if self._open:
            self._refresh()

    @override
    def open(self, opened: bool) -> None:
        self._open = opened
        if opened and not self._opened:
            self._opened = True
            self._start_with_differences()
        if opened and self._view is not None:
            self._refresh()

    def _start_with_differences(self) -> None:
        """Start with the differences from the files the agent was given, if it has changed any."""
        view, history = self._view, self.context.history
        folder = next(iter(sorted(view.files)), '') if view is not None else ''
        if (
            view is not None
            and (baseline := history.baseline(folder, view.seq))
            and view.files[folder] != baseline
        ):
            self._refresh()
            self._toggle_comparison()
            self._before.value = baseline

    def _refresh(self) -> None:
        """Offer the versions of this step, and load what to show if it changed."""
        view = self._view
        if view is None or not view.files:
            return
        named = {path: self.context.name_of(path) for path in sorted(view.files)}
        if self._agent.value not in named:
            self._agent.value = next(iter(named))
        self._agent.set_options(named)
        self._offer_versions(view)
        snapshot = view.files[self._agent.value]
        name = f'{self._agent.value}-step-{view.seq}'
        set_attributes(self._zip, href=f'/runs/{self.context.run}/archive/{snapshot}?name={quote(name)}')
        for part, seen in ((self._pair, self._comparing), (self._versions, not self._comparing)):
            part.set_visibility(seen)
        before = (
            self._before.value
            if self._comparing
            else self.context.history.baseline(self._agent.value, view.seq)
        )
        after = self._after.value if self._comparing else snapshot
        self._patch.set_visibility(bool(after))
        address = f'/runs/{self.context.run}/patch/{after}?before={before}&name={quote(name)}'
        set_attributes(self._patch, href=address)
        content = (self._before.value, self._after.value) if self._comparing else (snapshot,)
        if content != self._loaded:
            self._loaded = content
            ui.timer(0, self._load, once=True)

    def _offer_versions(self, view: View) -> None:
        history = self.context.history
        folder_versions = history.versions.get(self._agent.value, [])
        now = latest(history.versions, self._agent.value, view.seq)
        drawn = (self._agent.value, len(folder_versions), now)
        if getattr(self, '_drawn', None) == drawn:
            return
        self._drawn = drawn
        self._versions.clear()
        with self._versions:
            for version in folder_versions:
                self._offer_version(version, is_shown=version == now)
        offered = {EMPTY: 'Empty folder'}
        for agent, versions in sorted(history.versions.items()):
            for version in versions:
                what = f'{self.context.name_of(agent)}, version {version.number} (step {version.seq})'
                offered.setdefault(version.snapshot, what)
        for side in (self._before, self._after):
            side.set_options(offered)

    def _offer_version(self, version: FolderVersion, *, is_shown: bool) -> None:
        part = Box('version', 'button', type='button', aria_pressed=str(is_shown).lower())
        with part:
            Text('b', f'v{version.number}')
            Text('span', f'step {version.seq}', 'num')
        part.on('click', lambda: self.page.seek(version.seq))

    def _draw_side(self, name: str) -> NativeSelect:
        with Box('files-side'):
            Text('span', name, 'muted small', aria_hidden='true')
            choice = NativeSelect({EMPTY: 'Empty folder'}, value=EMPTY, on_change=self._refresh)
        set_attributes(choice, aria_label=f'Compare {name.lower()}')
        return choice

    def _on_choice(self) -> None:
        if self._open:
            self._refresh()

    def _toggle_comparison(self) -> None:
        self._comparing = not self._comparing
        self._compare.props(f'aria-pressed="{str(self._comparing).lower()}"')
        view = self._view
        if self._comparing and view is not None and self._agent.value in view.files:
            folder_versions = self.context.history.versions.get(self._agent.value, [])
            before = [version.snapshot for version in folder_versions if version.seq <= view.seq][-2:-1]
            self._before.value, self._after.value = [*before, EMPTY][0], view.files[self._agent.value]
        self._refresh()

    async def _load(self) -> None:
        self._load_number += 1
        turn, comparing, read = self._load_number, self._comparing, self._loaded
        workspaces, run = self.context.conductor.workspaces, self.context.run
        assert isinstance(read, tuple)
        try:
            entries: list[Any] = (
                await workspaces.diff(run, *read) if comparing else await workspaces.files(run, read[0])
            )
        except WorkspaceError as error:
            self._warn(str(error))
            entries = []
        else:
            self._warn('')
        if turn != self._load_number:
            return
        entries = [entry for entry in entries if is_own_work(entry)]
        self._entries = {entry.path: entry for entry in entries}
        total = sum(entry.size for entry in entries) if not comparing else 0
        summary = (
            f'{count(len(entries), "file")}, {size(total)}' if not comparing else summarize_changes(entries)
        )
        self._summary.show(summary)
        self._body.set_visibility(bool(entries))
        self._picked = self._picked if self._picked in self._entries else next(iter(self._entries), '')
        self._tree.show([entry_line(entry) for entry in entries], self._picked)
        await self._show_file(turn)

    async def _pick(self, path: str) -> None:
        self._picked = path
        self._tree.run_method('pick', path)
        await self._show_file(self._load_number)

    async def _show_file(self, turn: int) -> None:
        entry = self._entries.get(self._picked)
        if entry is None:
            return
        file = entry if isinstance(entry, FileVersion) else entry.after or entry.before
        assert file is not None
        if isinstance(entry, FileChange):
            lines, reason = diff_rows(entry.text), omission_reason(entry)
        elif file.target is not None:
            lines, reason = [], f'Link to {file.target}.'
        else:
            try:
                content = preview(
                    await self.context.conductor.workspaces.content(self.context.run, file.digest)
                )
            except WorkspaceError as error:
                self._warn(str(error))
                return
            reason = content.note
            lines = [['', 0, number, text] for number, text in enumerate(content.lines, start=1)]
        if turn != self._load_number or self._entries.get(self._picked) is not entry:
            return
        self._name.show(file.path)
        self._note.show('' if isinstance(entry, FileChange) else f'{size(file.size)}{mode_note(file)}')
        self._omission.show(reason)
        self._omission.set_visibility(bool(reason))
        self._code.set_visibility(not reason)
        self._code.show(
            lines, f'{"Changes of" if isinstance(entry, FileChange) else "Content of"} {file.path}'
        )
        self._download.set_visibility(bool(file.digest))
        name = quote(file.path.rpartition('/')[2])
        set_attributes(self._download, href=f'{self.context.content_url}/{file.digest}?name={name}')

    def _warn(self, problem: str) -> None:
        self._problem.clear()
        if problem:
            with self._problem:
                text_notice('fail', 'folder_off', problem)
