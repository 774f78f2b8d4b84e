"""One run in a list: a link with its status, title and numbers, changed in place while it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nicegui import ui

from engine import RunInfo, Weight
from ui.parts import Text, attach, link
from ui.presenters.reading import came, span
from ui.presenters.words import WORDS, ago, count, exact, size
from ui.theme import button

TAGS = 3
"""Tags in a row; how many more there are is said."""
TICK = '(event) => emit([event.target.checked, event.shiftKey])'


@dataclass(frozen=True, slots=True, kw_only=True)
class RowActs:
    """What a person does to a row."""

    menu: Callable[[RunRow], None]
    """Opens the menu of actions."""
    tick: Callable[[RunRow, bool, bool], None]
    """It was ticked or no longer is; the last says whether Shift was held."""
    star: Callable[[RunRow], Awaitable[None]]


class RunRow:
    """A row; `show` brings it up to date without drawing it anew, so that focus and menus stay."""

    def __init__(
        self,
        info: RunInfo,
        pattern: str,
        now: float,
        acts: RowActs,
    ) -> None:
        """Draw the row; `pattern` is its pattern's title."""
        self.info = info
        self._tags: tuple[str, ...] | None = None
        with ui.element('li').classes('run') as self.element:
            self._box = ui.element('input').classes('run-tick').props('type="checkbox"')
            self._box.on(
                'click',
                lambda event: acts.tick(self, bool(event.args[0]), bool(event.args[1])),
                js_handler=TICK,
            )
            with link(f'/runs/{info.id}', 'run-link') as self._link:
                with ui.element('span').classes('run-status'):
                    self._pill = Text('span', '', 'pill')
                with ui.element('span').classes('run-what'):
                    self._title = Text('span', '', 'run-title')
                    with ui.element('span').classes('run-notes') as self._notes:
                        Text('span', pattern, 'run-pattern')
                        self._told = ui.element('span').classes('run-told')
                    self._trouble = Text('span', '')
                self._bytes = Text('span', '', 'run-bytes num', title='Bytes: history, files and recording')
                self._steps = Text('span', '', 'run-steps num')
                self._tokens = Text('span', '', 'run-tokens num')
                self._duration = Text('span', '', 'run-duration num')
                self._ago = Text('time', '', 'run-ago num', title=exact(info.created))
            self._star = button('', icon='star_outline', kind='quiet run-star')
            self._star.on('click', lambda: acts.star(self))
            self.menu_button = button('', icon='more_vert', kind='quiet run-menu')
            attach(self.menu_button, aria_haspopup='menu', title='Actions')
            self.menu_button.on('click', lambda: acts.menu(self))
        self.show(info, now)

    def show(self, info: RunInfo, now: float) -> None:
        """Show what is known of the run at the time `now`."""
        old, self.info = self.info, info
        if old.status != info.status or not self._pill.text:
            self._pill.classes(replace=f'pill {info.status.value}')
            self._pill.show(WORDS[info.status])
        if (old.title, old.status) != (info.title, info.status) or not self._title.text:
            self._title.show(info.title or info.id)
            attach(self._link, aria_label=f'{info.title or info.id}, {WORDS[info.status]}')
            attach(self._title, title=info.title)
            attach(self._box, aria_label=f'Select {info.title or info.id}')
            attach(self.menu_button, aria_label=f'Actions for {info.title or info.id}')
        if (old.title, old.starred) != (info.title, info.starred) or 'aria-pressed' not in self._star.props:
            attach(
                self._star,
                aria_pressed=str(info.starred).lower(),
                aria_label=f'Star {info.title or info.id}',
                title='Starred: kept' if info.starred else 'Star: keep it',
            )
            self._star.clear()
            with self._star:
                ui.icon('star' if info.starred else 'star_outline')
            self._star.update()
        told = _told(info, now)
        if told != self._tags:
            self._tags = told
            self._told.clear()
            with self._told:
                for kind, text in (part.split(':', 1) for part in told):
                    whole = ', '.join(info.tags[TAGS:]) if kind == 'chip more' else text
                    Text('span', text, kind, title=whole)
        trouble = info.waiting or info.error
        if trouble != self._trouble.text:
            self._trouble.classes(replace='run-waits' if info.waiting else 'run-error' if trouble else '')
            attach(self._trouble, title=trouble)
            self._trouble.show(trouble)
        if not self._bytes.text:
            self._bytes.show(size(info.bytes))
        self._steps.show(count(info.seq, 'step'))
        self._tokens.show(count(info.usage.total, 'token'))
        if info.status.ended:
            self._duration.show(f'took {span(info.updated - info.created)}')
        else:
            self._duration.show(f'for {span(now - info.created)}')
        self._ago.show(ago(info.created, now))

    def weigh(self, weight: Weight) -> None:
        """Show what it takes on the disk."""
        self._bytes.show(size(weight.total))
        parts = {'history': weight.history, 'files': weight.files, 'recording': weight.recording}
        told = ', '.join(f'{name} {size(number)}' for name, number in parts.items() if number)
        if self._bytes.props.get('title') != told:
            attach(self._bytes, title=told)
            self._bytes.update()

    def tick(self, on: bool) -> None:
        """Show whether it is ticked."""
        if self._box.props.get('checked', False) is not on:
            self._box.props['checked'] = on
            self._box.update()


def _told(info: RunInfo, now: float) -> tuple[str, ...]:
    """What else is worth a word, as `class:text`."""
    told = ['chip pinned:pinned'] if info.pinned else []
    told += [f'chip:deleted {ago(info.deleted, now)}'] if info.deleted else []
    told += ['chip sim:simulated'] if info.simulated else []
    if info.options.get('replay'):
        told = ['chip sim:replayed']
    if born := came(info):
        told.append(f'chip:{born}')
    told += [f'chip tag:{tag}' for tag in info.tags[:TAGS]]
    if len(info.tags) > TAGS:
        told.append(f'chip more:+{len(info.tags) - TAGS}')
    if info.note:
        told.append(f'run-note:{info.note}')
    return tuple(told)
