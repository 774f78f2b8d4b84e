"""One run in a list: a link with its status, title and numbers, changed in place while it runs."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from engine import RunInfo
from ui.parts import Text, attach, link
from ui.reading import span
from ui.theme import WORDS, button
from ui.words import ago, count, exact

TICK = '(event) => emit([event.target.checked, event.shiftKey])'


class RunRow:
    """A row; `show` brings it up to date without drawing it anew, so that focus and menus stay."""

    def __init__(
        self,
        info: RunInfo,
        pattern: str,
        now: float,
        *,
        on_menu: Callable[[RunRow], None],
        on_tick: Callable[[RunRow, bool, bool], None],
    ) -> None:
        """Draw the row; `pattern` is its pattern's title.

        `on_menu` opens the menu of actions; `on_tick` is told whether the row was ticked, and whether Shift
        was held.
        """
        self.info = info
        self._tags: tuple[str, ...] | None = None
        with ui.element('li').classes('run') as self.element:
            self._box = ui.element('input').classes('run-tick').props('type="checkbox"')
            self._box.on(
                'click',
                lambda event: on_tick(self, bool(event.args[0]), bool(event.args[1])),
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
                self._steps = Text('span', '', 'run-steps num')
                self._tokens = Text('span', '', 'run-tokens num')
                self._duration = Text('span', '', 'run-duration num')
                self._ago = Text('time', '', 'run-ago num', title=exact(info.created))
            self.menu_button = button('', icon='more_vert', kind='quiet run-menu')
            attach(self.menu_button, aria_haspopup='menu', title='Actions')
            self.menu_button.on('click', lambda: on_menu(self))
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
        told = _told(info)
        if told != self._tags:
            self._tags = told
            self._told.clear()
            with self._told:
                for kind, text in (part.split(':', 1) for part in told):
                    Text('span', text, kind)
        self._steps.show(count(info.seq, 'step'))
        self._tokens.show(count(info.usage.total, 'token'))
        if info.status.ended:
            self._duration.show(f'took {span(info.updated - info.created)}')
        else:
            self._duration.show(f'for {span(now - info.created)}')
        self._ago.show(ago(info.created, now))

    def tick(self, on: bool) -> None:
        """Show whether it is ticked."""
        if self._box.props.get('checked', False) is not on:
            self._box.props['checked'] = on
            self._box.update()


def _told(info: RunInfo) -> tuple[str, ...]:
    """What else is worth a word, as `class:text`."""
    told = ['chip sim:simulated'] if info.simulated else []
    if info.options.get('replay'):
        told = ['chip sim:replayed']
    told += [f'chip tag:{tag}' for tag in info.tags]
    if info.waiting:
        told.append(f'run-waits:{info.waiting}')
    if info.error:
        told.append(f'run-error:{info.error}')
    if info.note:
        told.append(f'run-note:{info.note}')
    return tuple(told)
