"""Actions on runs, one or several: tag, star, pin, cancel, delete, restore."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from nicegui import ui
from pydantic import BaseModel, ConfigDict, Field

from engine import Conductor, EngineError
from engine.records import MAX_TAGS, RunInfo
from ui.app.backend import Backend
from ui.formatting.values import count
from ui.web.components.dialogs import await_answer, confirm, dialog_frame, draw_form_actions, edit_details
from ui.web.components.forms.form import Form
from ui.web.components.widgets import Box
from ui.web.pages.shared.add_to_dataset import add_to_dataset
from ui.web.pages.shared.compare_picker import pick_comparison
from ui.web.pages.shared.launching.rerun import rerun, retry
from ui.web.pages.shared.run_list.selection import BulkAction
from ui.web.pages.shared.run_list.undo import Undo
from ui.web.routing import compare_path


class ActionLabel(NamedTuple):
    """Icon and text of an action on a run."""

    icon: str
    text: str


RUN_AGAIN = ActionLabel('restart_alt', 'Run again')
RETRY = ActionLabel('healing', 'Retry from last good step')
REPLAY = ActionLabel('replay', 'Replay recording')
COMPARE = ActionLabel('compare_arrows', 'Compare with…')
EDIT = ActionLabel('edit', 'Edit details')
ADD_TO_DATASET = ActionLabel('storage', 'Add to dataset')
DELETE = ActionLabel('delete', 'Delete run')


class TagChange(BaseModel):
    """Tags to add to and remove from several runs."""

    model_config = ConfigDict(str_strip_whitespace=True)

    add: list[str] = Field([], max_length=MAX_TAGS, title='Add tags', json_schema_extra={'inline': True})
    remove: list[str] = Field(
        [], max_length=MAX_TAGS, title='Remove tags', json_schema_extra={'inline': True}
    )


class RunActions:
    """Actions on runs: confirms those that would lose data, and reports errors."""

    def __init__(self, backend: Backend, *, on_done: Callable[[Iterable[RunInfo]], Awaitable[None]]) -> None:
        """`on_done` is awaited after each change, with the runs that were changed."""
        self._backend, self._on_done = backend, on_done
        self._place = Box('ghost')
        self._undo = Undo()
        self.for_several = (
            BulkAction(
                text='Compare',
                icon='compare_arrows',
                act=self.compare,
                requires='compare',
                min_runs=2,
                max_runs=2,
            ),
            BulkAction(text='Tag', icon='sell', act=self.tag, requires='annotate'),
            BulkAction(text='Star', icon='star', act=self.star, requires='annotate'),
            BulkAction(text='Pin', icon='push_pin', act=self.pin, requires='annotate'),
            BulkAction(
                text=ADD_TO_DATASET.text,
                icon=ADD_TO_DATASET.icon,
                act=self.add_to_dataset,
                requires='datasets.save',
            ),
            BulkAction(text='Delete', icon='delete', act=self.delete, requires='delete'),
        )
        """The actions of the list for selected runs."""
        self.for_deleted = (
            BulkAction(text='Restore', icon='restore_from_trash', act=self.restore, requires='restore'),
            BulkAction(
                text='Delete permanently',
                icon='delete_forever',
                act=self.purge,
                requires='purge',
            ),
        )
        """The actions of the trash for selected runs."""

    async def edit(self, info: RunInfo) -> None:
        """Edit title, tags and note."""
        with self._place:
            details = await edit_details(info)
        if details is not None:
            changed = self._backend().annotate(
                info.id, title=details.title or info.title, tags=details.tags, note=details.note
            )
            await self._perform([(changed, info)])

    async def compare(self, runs: Sequence[RunInfo]) -> None:
        """Compare two runs, the older one as A."""
        first, second = sorted(runs, key=lambda info: info.created)
        with self._place:
            ui.navigate.to(compare_path(first.id, second.id))

    async def compare_with(self, info: RunInfo) -> None:
        """Ask which run to compare with, and open the compare page."""
        with self._place:
            await pick_comparison(self._backend(), info)

    async def run_again(self, info: RunInfo) -> None:
        """Ask, then run it again."""
        with self._place:
            await rerun(self._backend(), info)

    async def retry(self, info: RunInfo) -> None:
        """Ask, then retry from the last good step."""
        with self._place:
            await retry(self._backend(), info)

    async def add_to_dataset(self, runs: Sequence[RunInfo]) -> None:
        """Ask for a dataset, and add these runs to it as cases."""
        with self._place:
            await add_to_dataset(self._backend(), runs)

    async def tag(self, runs: Sequence[RunInfo]) -> None:
        """Add tags to and remove tags from these runs."""
        with self._place, dialog_frame(f'Tag {count(len(runs), "run")}') as dialog:
            form = Form(TagChange, on_change=lambda: None)
            tag_names = sorted({tag for info in runs for tag in info.tags}, key=str.lower)
            if tag_names:
                ui.label(f'Current tags: {", ".join(tag_names)}').classes('muted small')
            draw_form_actions(dialog, form)
        with self._place:
            tags = cast(TagChange | None, await await_answer(dialog))
        if tags is not None:
            await self._perform(
                (self._backend().annotate(info.id, tags=_changed_tags(info, tags)), info) for info in runs
            )

    async def cancel(self, info: RunInfo) -> None:
        """Ask, then cancel a run."""
        with self._place:
            sure = await confirm(
                'Cancel this run?',
                f'“{info.title}” stops for good. Everything it has done so far stays readable.',
                yes='Cancel run',
                no='Keep running',
            )
        if sure:
            await self._perform([(self._backend().cancel(info.id), info)])

    async def delete(self, runs: Sequence[RunInfo]) -> None:
        """Move runs to the trash, and offer to undo that; ask first if one has not ended."""
        with self._place:
            sure = await confirm_delete(self._backend(), runs)
        if not sure:
            return
        done = await self._perform((self._backend().delete(info.id, cancel=True), info) for info in runs)
        self.offer_restore(done)

    def offer_restore(self, runs: Sequence[RunInfo]) -> None:
        """Report that runs were deleted, and offer to undo that."""
        self._offer_undo('Deleted', runs, self.restore)

    async def restore(self, runs: Sequence[RunInfo]) -> None:
        """Restore runs from the trash."""
        await self._perform((self._backend().restore(info.id), info) for info in runs)

    async def purge(self, runs: Sequence[RunInfo]) -> None:
        """Ask, then delete runs permanently."""
        is_single = len(runs) == 1
        with self._place:
            sure = await confirm(
                'Delete this run permanently?'
                if is_single
                else f'Permanently delete {count(len(runs), "run")}?',
                (f'“{runs[0].title}” is' if is_single else 'They are')
                + ' removed with history, files and recordings. This cannot be undone.',
                yes='Delete permanently',
                no='Cancel',
            )
        if sure:
            await self._perform((self._backend().purge(info.id), info) for info in runs)

    async def star(self, runs: Sequence[RunInfo]) -> None:
        """Star runs, or unstar them if all are starred."""
        on = not all(info.starred for info in runs)
        await self._perform((self._backend().annotate(info.id, starred=on), info) for info in runs)

    async def pin(self, runs: Sequence[RunInfo]) -> None:
        """Pin runs, or unpin them if all are pinned."""
        on = not all(info.pinned for info in runs)
        done = await self._perform((self._backend().annotate(info.id, pinned=on), info) for info in runs)
        if not on:
            self._offer_undo('Unpinned', done, self.pin)

    def _offer_undo(
        self, what: str, runs: Sequence[RunInfo], undo: Callable[[Sequence[RunInfo]], Awaitable[object]]
    ) -> None:
        if not runs:
            return
        which = f'“{runs[0].title or runs[0].id}”' if len(runs) == 1 else count(len(runs), 'run')

        async def revert() -> None:
            await undo([replace(info, pinned=False) for info in runs])

        self._undo.offer(f'{what} {which}.', revert)

    async def _perform(self, works: Iterable[tuple[Awaitable[object], RunInfo]]) -> list[RunInfo]:
        """Apply an action to each run and report errors; return the runs it succeeded for."""
        problems, done = [], []
        for work, info in works:
            try:
                await work
            except EngineError as error:
                problems.append(str(error))
            else:
                done.append(info)
        with self._place:
            for problem in dict.fromkeys(problems):
                ui.notify(f'Failed: {problem}', type='negative', timeout=8_000, close_button='Close')
        await self._on_done(done)
        return done


async def confirm_delete(conductor: Conductor, runs: Sequence[RunInfo]) -> bool:
    """Return whether to delete; the user is asked only if one of the runs has not ended."""
    unended = [info for info in runs if not info.status.ended and info.id not in conductor.stranded]
    if not unended:
        return True
    is_single = len(runs) == 1
    return await confirm(
        'Cancel and delete this run?' if is_single else f'Delete {count(len(runs), "run")}?',
        f'“{runs[0].title}” has not ended. It will be cancelled, which cannot be undone, and deleted.'
        if is_single
        else f'{count(len(unended), "of them has", "of them have")} not ended and will be cancelled first,'
        ' which cannot be undone.',
        yes='Cancel and delete',
        no='Keep running',
    )


def _changed_tags(info: RunInfo, change: TagChange) -> list[str]:
    return [tag for tag in dict.fromkeys([*info.tags, *change.add]) if tag not in change.remove]
