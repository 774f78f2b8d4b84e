"""Two versions compared: which files differ, and each as a diff."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from ui.web.components.widgets import Box, NativeSelect, Text, set_attributes
from ui.web.pages.run.review.contest import Contestant
from ui.web.pages.shared.file_changes import FileChanges
from ui.web.pages.shared.run.context import RunContext


class VersionDiff:
    """Two selects of versions, the files that differ, and one diff; read while visible."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._loaded: tuple[str, str] = ('', '')
        self._chosen_by_user = False
        self._open = False
        with Box('difference', 'section', aria_label='Differences') as self.root:
            Text('h2', 'Differences')
            with Box('files-pair'):
                self._sides = tuple(self._draw_side(name) for name in ('From', 'To'))
            self._changes = FileChanges()

    def set_versions(self, candidates: Sequence[Contestant]) -> None:
        """Offer all versions; by default, the two ranked highest are compared."""
        offered: dict[str, str] = {}
        for contestant in candidates:
            for version in contestant.candidate.versions:
                offered.setdefault(version.snapshot, f'{contestant.name}, version {version.number}')
        newest = [
            contestant.candidate.latest.snapshot for contestant in candidates if contestant.candidate.latest
        ]
        self.root.set_visibility(len(offered) > 1)
        values = [side.value for side in self._sides]
        if not self._chosen_by_user or not set(values) <= set(offered):
            self._chosen_by_user = False
            values = [*newest, *offered][1:2] + newest[:1] if len(newest) > 1 else [*offered][:2]
        for side, value in zip(self._sides, values, strict=False):
            side.value = value
            side.set_options(offered)
        self._refresh()

    def compare(self, before: str, after: str) -> None:
        """Show what changed between two snapshots."""
        self._chosen_by_user = True
        self._sides[0].value, self._sides[1].value = before, after
        self._refresh()
        ui.run_javascript(
            f'document.getElementById("{self.root.html_id}")?.scrollIntoView({{block: "start"}})'
        )

    def open(self, opened: bool) -> None:
        """Set whether the tab is visible."""
        self._open = opened
        self._refresh()

    def _draw_side(self, name: str) -> NativeSelect:
        with Box('files-side'):
            Text('span', name, 'muted small', aria_hidden='true')
            choice = NativeSelect({'': ''}, value='')
        set_attributes(choice, aria_label=f'Differences {name.lower()}')
        choice.on('change', self._on_choice)
        return choice

    def _on_choice(self) -> None:
        self._chosen_by_user = True
        self._refresh()

    def _refresh(self) -> None:
        snapshots = (self._sides[0].value, self._sides[1].value)
        if self._open and all(snapshots) and snapshots != self._loaded:
            self._loaded = snapshots
            ui.timer(0, self._load, once=True)

    async def _load(self) -> None:
        await self._changes.show(self._context.conductor.workspaces.diff(self._context.run, *self._loaded))
