"""How long runs are kept: the policy, what it takes now, and what takes the room."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from nicegui import ui

from engine import EngineError, RunId, RunInfo, Taken, Weight
from ui.dialogs import told
from ui.door import Door
from ui.parts import Text, link
from ui.presenters.words import count, size
from ui.theme import button

LARGEST = 5
LISTED = 8
"""Runs that are named of those which the policy takes."""


class Retained:
    """Measured when the page is there: a folder of a year takes its time."""

    def __init__(self, door: Door) -> None:
        """Draw it; `load` measures."""
        self._door = door
        with ui.element('div').classes('section-head'):
            Text('h2', 'Room for runs', id='retention')
            ui.element('div').classes('grow')
            with link('/trash', 'small'):
                Text('span', 'Recently deleted')
        with ui.element('div').classes('endpoints even'):
            with ui.element('div').classes('card endpoint'):
                with ui.element('div').classes('endpoint-head'):
                    Text('h3', 'Retention policy')
                    self._pill = Text('span', '', 'pill')
                self._policy()
                self._told = Text('p', 'Looking what it would delete now …', role='status')
                self._taken = ui.element('ul').classes('plain-list')
                self._apply = button('Apply now', icon='auto_delete', kind='small')
                self._apply.on('click', self._tidy)
                self._apply.set_visibility(False)
            with ui.element('div').classes('card endpoint'):
                with ui.element('div').classes('endpoint-head'):
                    Text('h3', 'What takes the room')
                    self._total = Text('span', '', 'num muted')
                self._room = ui.element('div').classes('room')
                with self._room:
                    Text('p', 'Measuring …', 'muted')

    def _policy(self) -> None:
        policy = self._door().retention
        self._pill.show('Keeps all' if policy.idle else 'On')
        self._pill.classes('' if policy.idle else 'done')
        facts = {
            'By age': f'runs that ended more than {policy.days:g} days ago' if policy.days else '',
            'By number': f'all but the {policy.runs:,} newest of each pattern' if policy.runs else '',
            'By size': f'the oldest, while all take more than {size(policy.size)}'
            if policy.size is not None
            else '',
            'In the trash': f'{policy.trash_days:g} days, then for good',
        }
        with ui.element('dl').classes('facts'):
            for name, text in facts.items():
                with ui.element('div'):
                    Text('dt', name)
                    Text('dd', text or 'no limit', '' if text else 'muted')
        Text(
            'p',
            'It never deletes runs that are pinned, starred or unfinished, nor parents of forks that stay.',
            'muted small',
        )

    async def load(self) -> None:
        """Look what the policy takes, and what takes the room."""
        conductor = self._door()
        try:
            taken = await conductor.would_take()
            runs = [info async for info in conductor.every()]
            trash = [info async for info in conductor.every('trash')]
            weights = await conductor.weigh([*runs, *trash])
        except EngineError as error:
            if not self._told.is_deleted:
                self._told.show(f'That cannot be told just now: {error}')
            return
        if self._told.is_deleted:
            return
        self._show_taken(taken)
        totals = {info.id: weights[info.id] for info in runs}
        in_trash = sum(weights[info.id].total for info in trash)
        everything = sum(weight.total for weight in totals.values())
        self._total.show(f'{size(everything)} in {count(len(runs), "run")}')
        self._room.clear()
        with self._room:
            self._show_room(runs, totals)
            if trash:
                Text('p', f'Besides, {size(in_trash)} in {count(len(trash), "deleted run")}.', 'muted small')

    def _show_taken(self, taken: Sequence[Taken]) -> None:
        idle = self._door().retention.idle
        total = size(sum(item.bytes for item in taken))
        told = (
            f'Now it would delete {count(len(taken), "run")}, {total}.'
            if taken
            else 'Now it deletes nothing.'
        )
        self._told.show('Without a policy nothing is deleted by itself.' if idle else told)
        self._apply.set_visibility(bool(taken))
        self._taken.clear()
        with self._taken:
            for item in taken[:LISTED]:
                with ui.element('li'):
                    with link(f'/runs/{item.info.id}'):
                        Text('span', item.info.title or item.info.id)
                    Text('span', f'{size(item.bytes)}, {item.reason}', 'muted small')
            if len(taken) > LISTED:
                Text('li', f'and {len(taken) - LISTED:,} more', 'muted small')

    def _show_room(self, runs: Sequence[RunInfo], weights: dict[RunId, Weight]) -> None:
        if not runs:
            Text('p', 'There are no runs.', 'muted')
            return
        by_pattern: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for info in runs:
            number, total = by_pattern[info.pattern]
            by_pattern[info.pattern] = (number + 1, total + weights[info.id].total)
        with ui.element('table').classes('room-table'):
            with ui.element('thead'), ui.element('tr'):
                for name in ('Pattern', 'Runs', 'Bytes'):
                    Text('th', name, scope='col')
            with ui.element('tbody'):
                for pattern, (number, total) in sorted(by_pattern.items(), key=lambda item: -item[1][1]):
                    with ui.element('tr'):
                        Text('th', pattern, scope='row')
                        Text('td', f'{number:,}', 'num')
                        Text('td', size(total), 'num')
        Text('h4', 'The largest', 'room-title')
        with ui.element('ul').classes('plain-list'):
            for info in sorted(runs, key=lambda info: -weights[info.id].total)[:LARGEST]:
                weight = weights[info.id]
                with ui.element('li'):
                    with link(f'/runs/{info.id}'):
                        Text('span', info.title or info.id)
                    Text(
                        'span',
                        f'{size(weight.total)}: history {size(weight.history)}, files {size(weight.files)},'
                        f' recording {size(weight.recording)}',
                        'muted small',
                    )

    async def _tidy(self) -> None:
        done = await told(self._door().tidy())
        if done is not None:
            ui.notify(f'{count(len(done.taken), "run")} deleted; they can be restored.', type='positive')
        await self.load()
