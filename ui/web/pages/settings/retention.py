"""Retention: the policy, a preview of what it would delete, and disk usage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from nicegui import ui

from engine import EngineError
from engine.history import DiskUsage
from engine.journal import ExpiredRun
from engine.records import RunId, RunInfo
from ui.app.backend import Backend
from ui.formatting.values import byte_size, count
from ui.web.components.dialogs import notify_errors
from ui.web.components.theme import button, section_head
from ui.web.components.widgets import Box, Text, table_head, text_link
from ui.web.permission import is_permitted

MAX_RUNS = 5
MAX_ROWS = 8
"""Maximum number of runs to delete that are listed."""


class RetentionSettings:
    """Retention settings; usage is measured after the page is shown because large folders take time."""

    def __init__(self, backend: Backend) -> None:
        """Draw it; `load` measures."""
        self._backend = backend
        with section_head('Run storage', 'retention'):
            text_link('/trash', 'Recently deleted', 'small')
        with Box('endpoints even'):
            with Box('card endpoint'):
                with Box('endpoint-head'):
                    Text('h3', 'Retention policy')
                    self._pill = Text('span', '', 'pill')
                self._policy()
                self._status = Text('p', 'Checking what it would delete now…', role='status')
                self._expired = Box('plain-list', 'ul')
                self._apply = button('Apply now', icon='auto_delete', kind='small', requires='clean_up')
                self._apply.on('click', self._delete_expired)
                self._apply.set_visibility(False)
            with Box('card endpoint'):
                with Box('endpoint-head'):
                    Text('h3', 'Usage')
                    self._total = Text('span', '', 'num muted')
                self._room = Box('room')
                with self._room:
                    Text('p', 'Measuring…', 'muted')

    def _policy(self) -> None:
        policy = self._backend().retention
        self._pill.show('Keep everything' if policy.idle else 'On')
        self._pill.classes('' if policy.idle else 'done')
        facts = {
            'By age': f'runs that ended more than {policy.days:g} days ago' if policy.days else '',
            'By number': f'all but the {policy.runs:,} newest of each pattern' if policy.runs else '',
            'By size': f'the oldest, while the total exceeds {byte_size(policy.size)}'
            if policy.size is not None
            else '',
            'In the trash': f'{policy.trash_days:g} days, then deleted permanently',
        }
        with Box('facts', 'dl'):
            for name, text in facts.items():
                with Box():
                    Text('dt', name)
                    Text('dd', text or 'no limit', '' if text else 'muted')
        Text(
            'p',
            'Never deleted: pinned, starred and unfinished runs, and parents of remaining forks.',
            'muted small',
        )

    async def load(self) -> None:
        """Determine what the policy would delete, and measure disk usage."""
        conductor = self._backend()
        try:
            taken = await conductor.preview_cleanup() if is_permitted('preview_cleanup') else None
            runs = [info async for info in conductor.iter_runs()]
            trash = [info async for info in conductor.iter_runs('trash')]
            weights = await conductor.disk_usage([*runs, *trash])
        except EngineError as error:
            if not self._status.is_deleted:
                self._status.show(f'Temporarily unavailable: {error}')
            return
        if self._status.is_deleted:
            return
        if taken is None:
            self._status.show('Administrators can see what it would delete now.')
        else:
            self._show_expired(taken)
        totals = {info.id: weights[info.id] for info in runs}
        in_trash = sum(weights[info.id].total for info in trash)
        everything = sum(weight.total for weight in totals.values())
        self._total.show(f'{byte_size(everything)} in {count(len(runs), "run")}')
        self._room.clear()
        with self._room:
            self._show_disk_usage(runs, totals)
            if trash:
                Text('p', f'Plus {byte_size(in_trash)} in {count(len(trash), "deleted run")}.', 'muted small')

    def _show_expired(self, taken: Sequence[ExpiredRun]) -> None:
        idle = self._backend().retention.idle
        total = byte_size(sum(item.bytes for item in taken))
        sentence = (
            f'It would now delete {count(len(taken), "run")}, {total}.' if taken else 'Nothing to delete now.'
        )
        self._status.show('Without a policy, nothing is deleted automatically.' if idle else sentence)
        self._apply.set_visibility(bool(taken))
        self._expired.clear()
        with self._expired:
            for item in taken[:MAX_ROWS]:
                with Box(tag='li'):
                    text_link(f'/runs/{item.info.id}', item.info.title or item.info.id)
                    Text('span', f'{byte_size(item.bytes)}, {item.reason}', 'muted small')
            if len(taken) > MAX_ROWS:
                Text('li', f'and {len(taken) - MAX_ROWS:,} more', 'muted small')

    def _show_disk_usage(self, runs: Sequence[RunInfo], weights: dict[RunId, DiskUsage]) -> None:
        if not runs:
            Text('p', 'No runs.', 'muted')
            return
        by_pattern: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for info in runs:
            number, total = by_pattern[info.pattern]
            by_pattern[info.pattern] = (number + 1, total + weights[info.id].total)
        with Box('table numbers', 'table'):
            table_head(('Pattern', 'Runs', 'Bytes'))
            with Box(tag='tbody'):
                for pattern, (number, total) in sorted(by_pattern.items(), key=lambda item: -item[1][1]):
                    with Box(tag='tr'):
                        Text('th', pattern, scope='row')
                        Text('td', f'{number:,}', 'num')
                        Text('td', byte_size(total), 'num')
        Text('h4', 'Largest runs', 'room-title')
        with Box('plain-list', 'ul'):
            for info in sorted(runs, key=lambda info: -weights[info.id].total)[:MAX_RUNS]:
                weight = weights[info.id]
                with Box(tag='li'):
                    text_link(f'/runs/{info.id}', info.title or info.id)
                    Text(
                        'span',
                        f'{byte_size(weight.total)}: history {byte_size(weight.history)},'
                        f' files {byte_size(weight.files)}, recording {byte_size(weight.recording)}',
                        'muted small',
                    )

    async def _delete_expired(self) -> None:
        done = await notify_errors(self._backend().clean_up())
        if done is not None:
            ui.notify(f'{count(len(done.taken), "run")} deleted; they can be restored.', type='positive')
        await self.load()
