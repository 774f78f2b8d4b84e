"""What can be done with runs, one or several: say something of them, cancel, delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import cast

from nicegui import ui
from pydantic import BaseModel, ConfigDict, Field

from engine import EngineError, RunInfo
from ui.dialogs import ask, edit, framed, settled
from ui.door import Door
from ui.forms import Form
from ui.selection import Deed
from ui.theme import button
from ui.words import count


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
        self.for_several = (
            Deed(text='Tag', icon='sell', act=self.tag),
            Deed(text='Delete', icon='delete', act=self.delete, kind='danger'),
        )
        """What the bar of the list offers for the ticked runs."""

    async def edit(self, info: RunInfo) -> None:
        """Change title, tags and note."""
        with self._place:
            said = await edit(info)
        if said is not None:
            changed = self._door().annotate(
                info.id, title=said.title or info.title, tags=said.tags, note=said.note
            )
            await self._do([changed])

    async def tag(self, runs: Sequence[RunInfo]) -> None:
        """Give tags to all of these runs, and take others from them."""
        with self._place, framed(f'Tag {count(len(runs), "run")}') as dialog:
            form = Form(Tags, on_change=lambda: None)
            known = sorted({tag for info in runs for tag in info.tags}, key=str.lower)
            if known:
                ui.label(f'They have: {", ".join(known)}').classes('muted small')

            def save() -> None:
                if (given := form.check()) is not None:
                    dialog.submit(given)
                else:
                    form.go_to_problem()

            with ui.element('div').classes('dialog-actions'):
                button('Keep as they were').on('click', lambda: dialog.submit(None))
                button('Save', kind='primary').on('click', save)
        with self._place:
            tags = cast(Tags | None, await settled(dialog))
        if tags is not None:
            await self._do(
                self._door().annotate(
                    info.id,
                    tags=[tag for tag in dict.fromkeys([*info.tags, *tags.add]) if tag not in tags.remove],
                )
                for info in runs
            )

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
            await self._do([self._door().cancel(info.id)])

    async def delete(self, runs: Sequence[RunInfo]) -> None:
        """Ask, then delete runs."""
        one = len(runs) == 1
        with self._place:
            sure = await ask(
                'Delete this run?' if one else f'Delete {count(len(runs), "run")}?',
                f'“{runs[0].title}” and its whole history are deleted. This cannot be undone.'
                if one
                else 'They and their whole histories are deleted. This cannot be undone.',
                yes='Delete the run' if one else 'Delete them',
                no='Keep it' if one else 'Keep them',
            )
        if sure:
            await self._do(self._door().delete(info.id) for info in runs)

    async def _do(self, works: Iterable[Awaitable[object]]) -> None:
        problems = []
        for work in works:
            try:
                await work
            except EngineError as error:
                problems.append(str(error))
        with self._place:
            for problem in dict.fromkeys(problems):
                ui.notify(
                    f'That did not work: {problem}', type='negative', timeout=8_000, close_button='Close'
                )
        await self._on_done()
