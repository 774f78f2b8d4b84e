"""One run in a list, updated in place while it runs, and its menu."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from nicegui import ui

from engine.history import DiskUsage
from engine.records import RunInfo, Status
from ui.app.backend import Backend
from ui.formatting.steps import author_text, duration, origin_text, replies_text
from ui.formatting.values import ago, byte_size, compact, exact, status_class, status_text
from ui.web.components.menus import menu
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, link, set_attributes
from ui.web.exports.menu import short_entries
from ui.web.pages.shared.launching.recording_picker import is_recorded
from ui.web.pages.shared.run_list.actions import (
    ADD_TO_DATASET,
    COMPARE,
    DELETE,
    EDIT,
    REPLAY,
    RETRY,
    RUN_AGAIN,
    RunActions,
)
from ui.web.permission import is_permitted

TAGS = 3
"""Maximum number of tags shown in a row."""
TICK = '(event) => emit([event.target.checked, event.shiftKey])'


@dataclass(frozen=True, slots=True, kw_only=True)
class RowActions:
    """What a row calls when a person uses its controls."""

    menu: Callable[[RunRow], None]
    """Opens the menu of actions."""
    tick: Callable[[RunRow, bool, bool], None]
    """Called when the row is ticked or unticked; the last argument is whether Shift was held."""
    star: Callable[[RunRow], Awaitable[None]]


class RunRow:
    """A row; `show` updates it in place to preserve focus and menus."""

    def __init__(
        self, info: RunInfo, pattern: str, wait_texts: Mapping[str, str], now: float, acts: RowActions
    ) -> None:
        """Draw the row.

        Args:
            info: the run.
            pattern: its pattern's title.
            wait_texts: what it may wait for, in words.
            now: the time.
            acts: what to do on clicks.
        """
        self.info, self._wait_texts = info, wait_texts
        self._tags: tuple[str, ...] | None = None
        with Box('run', role='row') as self.element:
            with _draw_cell():
                self._box = Box('run-tick', 'input', type='checkbox')
            self._box.on(
                'click',
                lambda event: acts.tick(self, bool(event.args[0]), bool(event.args[1])),
                js_handler=TICK,
            )
            with _draw_cell(), link(f'/runs/{info.id}', 'run-link'):
                with Box('run-status', 'span'):
                    self._pill = Text('span', '', 'pill')
                with Box('run-summary', 'span'):
                    self._title = Text('span', '', 'run-title', dir='auto')
                    with Box('run-notes', 'span'):
                        Text('span', pattern, 'run-pattern')
                        self._problem = Text('span', '')
                        self._details = Box('run-details', 'span')
                self._bytes = Text('span', '', 'run-bytes num', title='Size: history, files and recording')
                self._steps = Text('span', '', 'run-steps num')
                self._tokens = Text('span', '', 'run-tokens num')
                self._duration = Text('span', '', 'run-duration num')
                self._ago = Text('time', '', 'run-ago num', title=exact(info.created))
            with _draw_cell():
                self._star = button('', icon='star_outline', kind='quiet run-star', requires='annotate')
            self._star.on('click', lambda: acts.star(self))
            with _draw_cell():
                self.menu_button = button('', icon='more_vert', kind='quiet run-menu')
            set_attributes(self.menu_button, aria_haspopup='menu', title='Actions')
            self.menu_button.on('click', lambda: acts.menu(self))
        self.show(info, now)

    def show(self, info: RunInfo, now: float) -> None:
        """Update the row to the run's summary; times are relative to `now`, seconds since 1970."""
        old, self.info = self.info, info
        if (old.status, old.error) != (info.status, info.error) or not self._pill.text:
            self._pill.classes(replace=f'pill {status_class(info.status, info.error)}')
            self._pill.show(status_text(info.status, info.error))
        if old.title != info.title or not self._title.text:
            self._title.show(info.title or info.id)
            set_attributes(self.element, aria_label=info.title or info.id)
            set_attributes(self._title, title=info.title)
            set_attributes(self._box, aria_label=f'Select {info.title or info.id}')
            set_attributes(self.menu_button, aria_label=f'Actions for {info.title or info.id}')
        if (old.title, old.starred) != (info.title, info.starred) or 'aria-pressed' not in self._star.props:
            set_attributes(
                self._star,
                aria_pressed=str(info.starred).lower(),
                aria_label=f'Star {info.title or info.id}',
                title='Unstar' if info.starred else 'Star (never deleted automatically)',
            )
            self._star.clear()
            with self._star:
                ui.icon('star' if info.starred else 'star_outline')
        facts = _list_facts(info, now)
        if facts != self._tags:
            self._tags = facts
            self._details.clear()
            with self._details:
                for kind, text in (part.split(':', 1) for part in facts):
                    whole = ', '.join(info.tags[TAGS:]) if kind == 'chip more' else text
                    Text('span', text, kind, title=whole)
        problem = f'Needs {self._wait_texts.get(info.waiting, info.waiting)}' if info.waiting else info.error
        if problem != self._problem.text:
            self._problem.classes(replace=_problem_class(info))
            set_attributes(self._problem, title=problem)
            self._problem.show(problem)
        if not self._bytes.text:
            self._bytes.show(byte_size(info.bytes))
        _show_number(self._steps, info.seq, 'step')
        _show_number(self._tokens, info.usage.total, 'token')
        self._duration.show(duration((info.updated if info.status.ended else now) - info.created))
        self._ago.show(ago(info.created, now))

    def show_size(self, weight: DiskUsage) -> None:
        """Show the run's size on disk, its parts in the tooltip."""
        self._bytes.show(byte_size(weight.total))
        parts = {'history': weight.history, 'files': weight.files, 'recording': weight.recording}
        title = ', '.join(f'{name} {byte_size(number)}' for name, number in parts.items() if number)
        if self._bytes.props.get('title') != title:
            set_attributes(self._bytes, title=title)

    def set_ticked(self, on: bool) -> None:
        """Tick or untick the box without calling back."""
        if self._box.props.get('checked', False) is not on:
            self._box.props['checked'] = on


def _draw_cell() -> ui.element:
    """Return a cell for keyboard and screen readers; its control is laid out as a child of the row."""
    return Box('run-cell', role='gridcell')


def _show_number(place: Text, number: int, unit: str) -> None:
    """Show a number; its unit is heard, and seen only where there is no column header."""
    set_attributes(place, data_unit=unit if number == 1 else f'{unit}s')
    place.show(compact(number))


def _problem_class(info: RunInfo) -> str:
    if info.waiting:
        return 'run-waits'
    return 'run-error' if info.status is Status.FAILED else 'run-reason' if info.error else ''


def _list_facts(info: RunInfo, now: float) -> tuple[str, ...]:
    """Other facts worth a chip, as `class:text`."""
    facts = ['chip pinned:pinned'] if info.pinned else []
    facts += [f'chip:deleted {ago(info.deleted, now)}'] if info.deleted else []
    if word := replies_text(info):
        facts.append(f'chip sim:{word}')
    if born := origin_text(info):
        facts.append(f'chip:{born}')
    if by := author_text(info.author):
        facts.append(f'chip:{by}')
    facts += [f'chip tag:{tag}' for tag in info.tags[:TAGS]]
    if len(info.tags) > TAGS:
        facts.append(f'chip more:+{len(info.tags) - TAGS}')
    if info.note:
        facts.append(f'run-note:{info.note}')
    return tuple(facts)


class RunMenu:
    """The menu of a row, created when it is opened."""

    def __init__(self, backend: Backend, actions: RunActions) -> None:
        """`actions` carries out the chosen action."""
        self._backend, self._actions = backend, actions
        self._open: ui.menu | None = None
        self._row: RunRow | None = None

    def open(self, row: RunRow) -> None:
        """Open the menu at the row's button, or close the one that is open there."""
        if self._open is not None and self._row is row and self._open.value:
            self._open.close()
            return
        info, self._row = row.info, row  # an earlier menu is closing and deletes itself
        with row.menu_button, menu(f'Actions for {info.title}') as opened:
            # Otherwise the browser would reopen a closing menu, which is about to be deleted.
            self._open = opened.props('no-parent-event')
            opened.on('hide', lambda: self._on_close(opened))
            if info.deleted:
                _draw_item('restore_from_trash', 'Restore', 'restore', lambda: self._actions.restore([info]))
                _draw_item(
                    'delete_forever',
                    'Delete permanently',
                    'purge',
                    lambda: self._actions.purge([info]),
                )
            else:
                self._draw(info)
        opened.open()

    def _draw(self, info: RunInfo) -> None:
        if is_permitted('start') and info.pattern in self._backend().catalog.patterns:
            with link(f'/launch/{info.pattern}?again={info.id}', 'menu-item', role='menuitem'):
                _draw_entry('history', 'Reuse input')
            if is_recorded(info):
                with link(f'/launch/{info.pattern}?replay={info.id}', 'menu-item', role='menuitem'):
                    _draw_entry(*REPLAY)
            with link(f'/runs/{info.id}/fork', 'menu-item', role='menuitem'):
                _draw_entry('call_split', 'Fork…')
            _draw_item(*RUN_AGAIN, 'rerun', lambda: self._actions.run_again(info))
            if info.status.retriable:
                _draw_item(*RETRY, 'retry', lambda: self._actions.retry(info))
        _draw_item(
            'push_pin',
            'Unpin' if info.pinned else 'Pin to top',
            'annotate',
            lambda: self._actions.pin([info]),
        )
        _draw_item(*COMPARE, 'compare', lambda: self._actions.compare_with(info))
        _draw_item(*EDIT, 'annotate', lambda: self._actions.edit(info))
        _draw_item(*ADD_TO_DATASET, 'datasets.save', lambda: self._actions.add_to_dataset([info]))
        short_entries(info)
        if not info.status.ended:
            _draw_item('stop_circle', 'Cancel run', 'cancel', lambda: self._actions.cancel(info))
        _draw_item(*DELETE, 'delete', lambda: self._actions.delete([info]))

    def _on_close(self, opened: ui.menu) -> None:
        if self._open is opened:
            self._open = None
        opened.delete()


def _draw_item(icon: str, text: str, requires: str, action: Callable[[], Awaitable[None]]) -> None:
    """Draw an entry, if the caller has the permission it requires."""
    if not is_permitted(requires):
        return
    with Box('menu-item', 'button', type='button', role='menuitem') as element:
        _draw_entry(icon, text)
    element.on('click', action)


def _draw_entry(icon: str, text: str) -> None:
    ui.icon(icon)
    Text('span', text)
