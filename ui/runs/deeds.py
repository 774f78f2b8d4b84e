"""What can be done with runs, one or several: tag, star, pin, cancel, delete, restore."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from nicegui import ui
from pydantic import BaseModel, ConfigDict, Field

from engine import Conductor, EngineError, RunInfo
from ui.beside.head import address
from ui.beside.picker import choose_other
from ui.dialogs import ask, draw_saving, edit, framed, settled
from ui.door import Door
from ui.forks.anew import again, retry
from ui.forms.form import Form
from ui.presenters.words import count
from ui.runs.selection import Deed
from ui.runs.undo import Undo


class Face(NamedTuple):
    """How something that can be done with a run is offered."""

    icon: str
    text: str


AGAIN = Face('restart_alt', 'Run it again')
RETRY = Face('healing', 'Retry from the last good step')
REPLAY = Face('replay', 'Run again from its recording')
COMPARE = Face('compare_arrows', 'Compare with …')
EDIT = Face('edit', 'Edit title, tags and note')
DELETE = Face('delete', 'Delete the run')


class Tags(BaseModel):
    """Tags for several runs."""

    model_config = ConfigDict(str_strip_whitespace=True)

    add: list[str] = Field([], max_length=20, title='Add tags', json_schema_extra={'inline': True})
    remove: list[str] = Field([], max_length=20, title='Remove tags', json_schema_extra={'inline': True})


class Deeds:
    """Acts on runs for a person, who is asked where something would be lost, and told what went wrong."""

    def __init__(self, door: Door, *, on_done: Callable[[], Awaitable[None]]) -> None:
        """`on_done` is awaited after each change."""
        self._door, self._on_done = door, on_done
        self._place = ui.element('div').classes('ghost')
        self._undo = Undo()
        self.for_several = (
            Deed(text='Compare', icon='compare_arrows', act=self.compare, least=2, most=2),
            Deed(text='Tag', icon='sell', act=self.tag),
            Deed(text='Star', icon='star', act=self.star),
            Deed(text='Pin', icon='push_pin', act=self.pin),
            Deed(text='Delete', icon='delete', act=self.delete, kind='danger'),
        )
        """What the bar of the list offers for the ticked runs."""
        self.for_deleted = (
            Deed(text='Restore', icon='restore_from_trash', act=self.restore),
            Deed(text='Delete for good', icon='delete_forever', act=self.purge, kind='danger'),
        )
        """The same in the trash."""

    async def edit(self, info: RunInfo) -> None:
        """Change title, tags and note."""
        with self._place:
            said = await edit(info)
        if said is not None:
            changed = self._door().annotate(
                info.id, title=said.title or info.title, tags=said.tags, note=said.note
            )
            await self._do([(changed, info)])

    async def compare(self, runs: Sequence[RunInfo]) -> None:
        """Open two runs beside each other, the older one as A."""
        first, second = sorted(runs, key=lambda info: info.created)
        with self._place:
            ui.navigate.to(address(first.id, second.id))

    async def compare_with(self, info: RunInfo) -> None:
        """Ask which run to compare with, and open both."""
        with self._place:
            await choose_other(self._door(), info)

    async def again(self, info: RunInfo) -> None:
        """Ask, then run it once more."""
        with self._place:
            await again(self._door(), info)

    async def retry(self, info: RunInfo) -> None:
        """Ask, then go on from the last step before it failed."""
        with self._place:
            await retry(self._door(), info)

    async def tag(self, runs: Sequence[RunInfo]) -> None:
        """Give tags to all of these runs, and take others from them."""
        with self._place, framed(f'Tag {count(len(runs), "run")}') as dialog:
            form = Form(Tags, on_change=lambda: None)
            known = sorted({tag for info in runs for tag in info.tags}, key=str.lower)
            if known:
                ui.label(f'They have: {", ".join(known)}').classes('muted small')
            draw_saving(dialog, form, 'Keep as they were')
        with self._place:
            tags = cast(Tags | None, await settled(dialog))
        if tags is not None:
            await self._do((self._door().annotate(info.id, tags=_tags(info, tags)), info) for info in runs)

    async def cancel(self, info: RunInfo) -> None:
        """Ask, then cancel a run."""
        with self._place:
            sure = await ask(
                'Cancel this run?',
                f'“{info.title}” stops for good; what it has done so far stays readable.',
                yes='Cancel the run',
                no='Let it run',
            )
        if sure:
            await self._do([(self._door().cancel(info.id), info)])

    async def delete(self, runs: Sequence[RunInfo]) -> None:
        """Put runs into the trash, and offer to take that back; ask first where one has not ended."""
        with self._place:
            sure = await sure_to_delete(self._door(), runs)
        if not sure:
            return
        done = await self._do((self._door().delete(info.id, cancel=True), info) for info in runs)
        self.offer_back(done)

    def offer_back(self, runs: Sequence[RunInfo]) -> None:
        """Say that runs were deleted, and offer to take that back."""
        self._offer('Deleted', runs, self.restore)

    async def restore(self, runs: Sequence[RunInfo]) -> None:
        """Take runs out of the trash."""
        await self._do((self._door().restore(info.id), info) for info in runs)

    async def purge(self, runs: Sequence[RunInfo]) -> None:
        """Ask, then remove runs for good."""
        one = len(runs) == 1
        with self._place:
            sure = await ask(
                'Delete this run for good?' if one else f'Delete {count(len(runs), "run")} for good?',
                (f'“{runs[0].title}” is' if one else 'They are')
                + ' removed with the history, the files and the recording. This cannot be undone.',
                yes='Delete for good',
                no='Keep it' if one else 'Keep them',
            )
        if sure:
            await self._do((self._door().purge(info.id), info) for info in runs)

    async def star(self, runs: Sequence[RunInfo]) -> None:
        """Star runs; take the stars away where all have one."""
        on = not all(info.starred for info in runs)
        await self._do((self._door().annotate(info.id, starred=on), info) for info in runs)

    async def pin(self, runs: Sequence[RunInfo]) -> None:
        """Pin runs; unpin them where all are pinned."""
        on = not all(info.pinned for info in runs)
        done = await self._do((self._door().annotate(info.id, pinned=on), info) for info in runs)
        if not on:
            self._offer('Unpinned', done, self.pin)

    def _offer(
        self, what: str, runs: Sequence[RunInfo], undo: Callable[[Sequence[RunInfo]], Awaitable[object]]
    ) -> None:
        if not runs:
            return
        told = f'“{runs[0].title or runs[0].id}”' if len(runs) == 1 else count(len(runs), 'run')

        async def again() -> None:
            await undo([replace(info, pinned=False) for info in runs])

        self._undo.offer(f'{what} {told}.', again)

    async def _do(self, works: Iterable[tuple[Awaitable[object], RunInfo]]) -> list[RunInfo]:
        """Do what can be done, say what could not; gives the runs it was done with."""
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
                ui.notify(
                    f'That did not work: {problem}', type='negative', timeout=8_000, close_button='Close'
                )
        await self._on_done()
        return done


async def sure_to_delete(conductor: Conductor, runs: Sequence[RunInfo]) -> bool:
    """Whether a person is sure, who is asked only where one of the runs has not ended."""
    unended = [info for info in runs if not info.status.ended and info.id not in conductor.stranded]
    if not unended:
        return True
    one = len(runs) == 1
    return await ask(
        'Cancel and delete this run?' if one else f'Delete {count(len(runs), "run")}?',
        f'“{runs[0].title}” has not ended. It is cancelled, which cannot be undone, and deleted.'
        if one
        else f'{count(len(unended), "of them has", "of them have")} not ended: cancelled first,'
        ' which cannot be undone.',
        yes='Cancel and delete',
        no='Keep it' if one else 'Keep them',
    )


def _tags(info: RunInfo, change: Tags) -> list[str]:
    return [tag for tag in dict.fromkeys([*info.tags, *change.add]) if tag not in change.remove]
