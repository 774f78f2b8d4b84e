"""Picking a run to compare with: related runs first, others by search."""

from __future__ import annotations

from contextlib import suppress

from engine import Conductor, EngineError
from engine.records import RunId, RunInfo, RunQuery
from ui.formatting.values import ago, count, status_text
from ui.web.components.dialogs import await_answer, dialog_frame
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text, label, link, set_attributes, text_input
from ui.web.routing import compare_path

MAX_RUNS = 30
"""Maximum number of runs offered in each group."""
KEYS = """(event) => {
    const picks = [...event.currentTarget.querySelectorAll('.pick')];
    const here = picks.indexOf(event.target.closest('.pick'));
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    if (here + move < 0) event.currentTarget.querySelector('input').focus();
    else picks[here + move]?.focus();
}"""
"""Arrows move between the search field and the runs."""
FAMILY = ('Forked from', 'Forks', 'Forked from the same run', 'Related')
ALONE = 'No other runs of this pattern yet. Search for any run.'
OTHERS, FOUND = 'Same pattern', 'Results'


async def pick_comparison(conductor: Conductor, info: RunInfo, name: str = 'A') -> None:
    """Open a picker of runs to compare with; a choice opens the page, with `info` as run `name` (A or B)."""
    picker = _Picker(conductor, info, name)
    with dialog_frame(f'Compare “{info.title}” with…') as dialog:
        await picker.draw()
        with Box('dialog-actions'):
            button('Cancel').on('click', lambda: dialog.submit(None))
    await await_answer(dialog)


class _Picker:
    def __init__(self, conductor: Conductor, info: RunInfo, name: str) -> None:
        self._conductor, self._info, self._name = conductor, info, name
        self._query = ''

    async def draw(self) -> None:
        with Box('run-choice').on('keydown', js_handler=KEYS):
            field = text_input('', kind='search', placeholder='Title, tag, note, parameter or id')
            set_attributes(field.props('debounce=200 autofocus'), autocomplete='off')
            label('Search all runs', field, 'visually-hidden')
            self._announcement = Text('p', '', 'visually-hidden', role='status')
            self._root = CachedElement('run-picks')
        field.on_value_change(lambda event: self._show(str(event.value or '').strip()))
        await self._show('')

    async def _show(self, text: str) -> None:
        self._query, problem = text, ''
        try:
            groups = await self._load_groups(text)
        except EngineError as error:
            groups, problem = {}, f'Runs cannot be loaded: {error}'
        if text != self._query or self._root.is_deleted:
            return  # the search has changed meanwhile, or the dialog is closed
        none = problem or ('No runs match.' if text else ALONE)
        if not self._root.clear_if_changed((groups, none)):
            return
        now = self._conductor.clock.now()
        with self._root:
            for title, infos in groups.items():
                Text('h3', title)
                for info in infos[:MAX_RUNS]:
                    self._draw_choice(info, now)
                if len(infos) > MAX_RUNS:
                    Text('p', 'Search to find more.', 'muted small')
            if not groups:
                Text('p', none, 'muted')
        offered = sum(len(infos[:MAX_RUNS]) for infos in groups.values())
        self._announcement.show(f'{count(offered, "run")}' if offered else none)

    async def _load_groups(self, text: str) -> dict[str, list[RunInfo]]:
        if text:
            return await search_runs(self._conductor, self._info, text)
        return await find_relatives(self._conductor, self._info)

    def _draw_choice(self, info: RunInfo, now: float) -> None:
        pair = (self._info.id, info.id) if self._name == 'A' else (info.id, self._info.id)
        came = f'forked at step {info.parent_at}' if info.parent_at else 'run again' if info.parent else ''
        facts = (
            status_text(info.status, info.error),
            count(info.seq, 'step'),
            ago(info.created, now),
            came,
            info.id,
        )
        with link(compare_path(*pair), 'pick'):
            Text('b', info.title or info.id, dir='auto')
            Text('span', ' · '.join(filter(None, facts)), 'muted small')


async def find_relatives(conductor: Conductor, info: RunInfo) -> dict[str, list[RunInfo]]:
    """Return other runs by relation: ancestors and forks, then the same pattern; newest first."""
    groups: dict[str, list[RunInfo]] = {title: [] for title in (*FAMILY, OTHERS)}
    members = (await conductor.lineage(info.id)).members()
    family = [other.info for _, other in members if other.run != info.id]
    for other in sorted(family, key=lambda other: (other.created, other.id), reverse=True):
        if not other.deleted:
            groups[_relation(info, other)].append(other)
    related = {info.id, *(other.id for other in family)}
    page = await conductor.runs(RunQuery(pattern=info.pattern, limit=MAX_RUNS + 1 + len(related)))
    groups[OTHERS] = [other for other in page.runs if other.id not in related]
    return {title: infos for title, infos in groups.items() if infos}


async def search_runs(conductor: Conductor, info: RunInfo, text: str) -> dict[str, list[RunInfo]]:
    """Return other runs of any pattern that match a search, or have that id."""
    page = await conductor.runs(RunQuery(text=text, limit=MAX_RUNS + 2))
    infos = [other for other in page.runs if other.id != info.id]
    if text != info.id and text not in {other.id for other in infos}:
        with suppress(EngineError):
            infos.insert(0, await conductor.info(RunId(text)))
    return {FOUND: infos} if infos else {}


def _relation(info: RunInfo, other: RunInfo) -> str:
    if other.id == info.parent:
        return FAMILY[0]
    if other.parent == info.id:
        return FAMILY[1]
    return FAMILY[2] if info.parent and other.parent == info.parent else FAMILY[3]
