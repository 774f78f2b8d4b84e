"""The result of a review: its tests, a preview of the merge, conflicts to resolve, and the merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nicegui import ui

from engine import Conductor, EngineError
from engine.history import Mergeable, Pick
from engine.workspace import MergePreview, Resolution, format_patch
from ui.formatting.files import pull_request
from ui.formatting.values import as_sentence, count
from ui.web.components.dialogs import confirm
from ui.web.components.theme import button, notice, text_notice
from ui.web.components.widgets import Box, Text, label, text_input
from ui.web.pages.run.merging.conflict import ConflictCard


class Result:
    """The result card. Nothing is written to the repository until *Merge* is confirmed.

    Args:
        conductor: gives access to the run.
        found: the mergeable parts of the run.
        picks: returns the current picks.
    """

    def __init__(
        self, conductor: Conductor, mergeable: Mergeable, picks: Callable[[], Sequence[Pick]]
    ) -> None:
        self._conductor, self._mergeable, self._picks = conductor, mergeable, picks
        self._preview: MergePreview | None = None
        self._cards: dict[str, ConflictCard] = {}
        """Cards of the conflicts found since the first preview, by path, with their chosen resolutions."""
        with Box('card review-result', 'section', aria_labelledby='review-result'):
            Text('h2', 'Result', id='review-result')
            with Box('review-actions'):
                button('Run tests', icon='play_arrow', requires='merging.test').on('click', self._test)
                button('Patch', kind='quiet', requires='merging.compose').on('click', self._download_patch)
                button('Pull request description', kind='quiet', requires='merging.compose').on(
                    'click', self._download_description
                )
            self._tests = Box(role='status')
            if mergeable.problem:
                Text('p', f'Cannot be merged: {mergeable.problem}.', 'muted')
            else:
                with Box('field'):
                    self._into = text_input(mergeable.branches[0] if mergeable.branches else '')
                    label('Into branch', self._into)
                branches = ', '.join(mergeable.branches[:6])
                Text('p', f'A new name creates a new branch. Existing: {branches}.', 'muted small')
                button('Preview merge', icon='difference', requires='merging.compose').on(
                    'click', self._preview_merge
                )
            self._problem = Box()
            self._place = Box('review-merge')

    def reset(self) -> None:
        """Clear the test result and the preview, which are stale after the picks change."""
        self._tests.clear()
        self._forget_merge()

    def _forget_merge(self) -> None:
        self._preview, self._cards = None, {}
        self._problem.clear()
        self._place.clear()

    async def _find_composed(self) -> Mergeable | None:
        picks = self._picks()
        if not picks:
            ui.notify('Select a file or a change first.', type='warning')
            return None
        try:
            return await self._conductor.merging.compose(self._mergeable, picks)
        except EngineError as error:
            self._show_problem(str(error))
            return None

    async def _test(self) -> None:
        picks, composed = self._picks(), await self._find_composed()
        if composed is None:
            return
        self._tests.clear()
        with self._tests:
            Text('p', 'Running tests…', 'muted')
        try:
            ran = await self._conductor.merging.test(composed, composed.best)
        except EngineError as error:
            self._tests.clear()
            self._show_problem(str(error))
            return
        if self._picks() != picks:
            return
        self._tests.clear()
        with self._tests, notice('ok' if ran.passed else 'fail', 'check' if ran.passed else 'error'):
            Text('p', 'Tests pass.' if ran.passed else 'Tests fail.')
            Text('pre', ran.text.strip()[-3_000:], 'review-output', tabindex='0')

    async def _download_patch(self) -> None:
        if composed := await self._find_composed():
            text = format_patch(await self._conductor.merging.changes(composed, composed.best))
            ui.download.content(text.encode(), f'{self._mergeable.run.id}.patch')

    async def _download_description(self) -> None:
        if composed := await self._find_composed():
            changes = await self._conductor.merging.changes(composed, composed.best)
            words = pull_request(self._mergeable, self._mergeable.best or composed.best, changes)
            ui.download.content(words.encode(), f'{self._mergeable.run.id}.md')

    async def _preview_merge(self) -> None:
        """Preview the merge without resolutions."""
        self._forget_merge()
        await self._show(str(self._into.value or '').strip())

    async def _resolve(self) -> None:
        """Preview it again, into the same branch, with the resolutions chosen so far."""
        if self._preview:
            await self._show(self._preview.branch)

    async def _show(self, branch: str) -> None:
        composed = await self._find_composed()
        if composed is None:
            return
        try:
            self._preview = await self._conductor.merging.preview(
                composed, into=branch, resolutions=self._resolutions()
            )
        except EngineError as error:  # choices and edits are kept
            self._show_problem(str(error))
            return
        self._problem.clear()
        self._place.clear()
        with self._place:
            self._draw(self._preview)

    def _draw(self, preview: MergePreview) -> None:
        also = f', and the files in {preview.checked_out}' if preview.checked_out else ''
        new = ' (new)' if preview.is_new else ''
        Text('p', f'Changes {count(len(preview.paths), "file")} on {preview.branch}{new}{also}.')
        with Box('review-paths', 'ul'):
            for path in preview.paths:
                Text('li', path, 'mono')
        if resolved := self._resolutions():
            Text('p', f'Resolved: {", ".join(sorted(resolved))}.', 'muted small')
        self._cards |= {
            conflict.path: ConflictCard(conflict, preview.branch) for conflict in preview.conflicts
        }
        if preview.conflicts:
            left = count(len(preview.conflicts), 'file')
            Text('p', f'In conflict: {left}. Nothing is merged until each is resolved.')
            button('Resolve', icon='check', kind='primary', requires='merging.merge').on(
                'click', self._resolve
            )
        elif preview.paths:
            button('Merge', icon='merge', kind='primary', requires='merging.merge').on('click', self._merge)

    def _resolutions(self) -> dict[str, Resolution]:
        resolutions = {path: card.resolution for path, card in self._cards.items()}
        return {path: chosen for path, chosen in resolutions.items() if chosen is not None}

    async def _merge(self) -> None:
        preview, resolutions = self._preview, self._resolutions()
        if preview is None:
            return
        also = f' The files in {preview.checked_out} change with it.' if preview.checked_out else ''
        text = f'One commit is made on {preview.branch}.{also}'
        if not await confirm(f'Merge into {preview.branch}?', text, yes='Merge', no='Cancel'):
            return
        composed = await self._find_composed()
        if composed is None:
            return
        try:
            commit = await self._conductor.merging.merge(composed, preview, resolutions=resolutions)
        except EngineError as error:
            self._show_problem(str(error))
            return
        self._forget_merge()
        with self._place:
            text_notice('ok', 'check', f'Merged into {preview.branch}: commit {commit[:12]}.')

    def _show_problem(self, problem: str) -> None:
        self._problem.clear()
        with self._problem:
            text_notice('fail', 'error', as_sentence(problem))
