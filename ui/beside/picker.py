"""Choosing the run to compare another with: its relatives first, then runs of the same pattern."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from nicegui import ui

from engine import Conductor, EngineError, RunInfo, RunQuery
from ui.beside.head import address
from ui.dialogs import framed, settled
from ui.parts import Text, label, line_input, link
from ui.theme import WORDS, button
from ui.words import ago, count

LOOKED_AT = 200
"""Newest runs of the pattern among which relatives are looked for."""
MOST = 30
"""Runs that are offered."""


async def choose_other(conductor: Conductor, info: RunInfo, name: str = 'A') -> None:
    """Ask which run to compare with; choosing one opens the page. `name` is the place of `info`: A or B."""
    picker = _Picker(conductor, info, name)
    with framed(f'Compare “{info.title}” with …') as dialog:
        await picker.draw()
        with ui.element('div').classes('dialog-actions'):
            button('Not now').on('click', lambda: dialog.submit(None))
    await settled(dialog)


class _Picker:
    def __init__(self, conductor: Conductor, info: RunInfo, name: str) -> None:
        self._conductor, self._info, self._name = conductor, info, name

    async def draw(self) -> None:
        field = line_input('', kind='search', placeholder='Search all runs')
        field.props('debounce=200')
        label('Search all runs', field, 'visually-hidden')
        self._root = ui.element('div').classes('run-picks')
        field.on_value_change(lambda event: self._show(str(event.value or '')))
        await self._show('')

    async def _show(self, text: str) -> None:
        try:
            groups = await self._found(text.strip())
        except EngineError as error:
            groups = {f'Runs cannot be read just now: {error}': []}
        self._root.clear()
        now = self._conductor.clock.now()
        with self._root:
            for title, infos in groups.items():
                Text('h3', title)
                for info in infos:
                    self._offer(info, now)
            if not any(groups.values()):
                Text('p', 'No run matches.' if text else 'There is no other run of this pattern.', 'muted')

    async def _found(self, text: str) -> dict[str, list[RunInfo]]:
        if text:
            page = await self._conductor.runs(RunQuery(text=text, limit=MOST + 1))
            return {'Runs that match': self._others(page.runs)[:MOST]}
        page = await self._conductor.runs(RunQuery(pattern=self._info.pattern, limit=LOOKED_AT))
        return await relatives(self._conductor, self._info, self._others(page.runs))

    def _others(self, infos: Iterable[RunInfo]) -> list[RunInfo]:
        return [info for info in infos if info.id != self._info.id]

    def _offer(self, info: RunInfo, now: float) -> None:
        pair = (self._info.id, info.id) if self._name == 'A' else (info.id, self._info.id)
        with link(address(*pair), 'pick'):
            Text('b', info.title or info.id)
            forked = f' · forked at step {info.parent_at}' if info.parent else ''
            Text(
                'span',
                f'{WORDS[info.status]} · {count(info.seq, "step")} · {ago(info.created, now)}{forked}',
                'muted small',
            )


async def relatives(
    conductor: Conductor, info: RunInfo, others: Iterable[RunInfo]
) -> dict[str, list[RunInfo]]:
    """Other runs of the pattern, by how they are related: parent, forks, siblings, the rest."""
    groups: dict[str, list[RunInfo]] = {'Forked from': [], 'Its forks': [], 'Forked from the same run': []}
    rest: list[RunInfo] = []
    if info.parent is not None:
        with suppress(EngineError):  # it has been deleted
            groups['Forked from'].append(await conductor.info(info.parent))
    for other in others:
        if other.parent == info.id:
            groups['Its forks'].append(other)
        elif info.parent is not None and other.parent == info.parent:
            groups['Forked from the same run'].append(other)
        elif other.id != info.parent:
            rest.append(other)
    groups['Of the same pattern'] = rest
    return {title: found[:MOST] for title, found in groups.items() if found}
