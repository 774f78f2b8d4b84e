"""What can be done with a run in a list: use its input again, edit what is said of it, cancel, delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine import RunInfo
from ui.door import Door
from ui.exports.menu import short_entries
from ui.launch.replaying import recorded
from ui.menus import menu
from ui.parts import Text, attach, link
from ui.runs.deeds import AGAIN, COMPARE, DELETE, EDIT, REPLAY, RETRY, Deeds
from ui.runs.row import RunRow


class RunMenu:
    """The menu of the rows of one list, made when it is opened."""

    def __init__(self, door: Door, deeds: Deeds) -> None:
        """`deeds` does what is chosen."""
        self._door, self._deeds = door, deeds
        self._open: ui.menu | None = None
        self._row: RunRow | None = None

    def open(self, row: RunRow) -> None:
        """Open the menu at the row's button."""
        if self._open is not None and self._row is row:
            return
        info, self._row = row.info, row  # the menu of another row is closing, and deletes itself
        with row.menu_button, menu(f'Actions for {info.title}') as opened:
            self._open = opened
            opened.on('hide', lambda: self._closed(opened))
            if info.deleted:
                _item('restore_from_trash', 'Restore the run', lambda: self._deeds.restore([info]))
                _item('delete_forever', 'Delete for good', lambda: self._deeds.purge([info]), 'danger')
            else:
                self._draw(info)
        opened.open()

    def _draw(self, info: RunInfo) -> None:
        if info.pattern in self._door().catalog.patterns:
            with link(f'/launch/{info.pattern}?again={info.id}', 'menu-item', role='menuitem'):
                _face('history', 'Use its input again')
            if recorded(info):
                with link(f'/launch/{info.pattern}?replay={info.id}', 'menu-item', role='menuitem'):
                    _face(*REPLAY)
            with link(f'/runs/{info.id}/fork', 'menu-item', role='menuitem'):
                _face('call_split', 'Fork …')
            _item(*AGAIN, lambda: self._deeds.again(info))
            if info.status.retriable:
                _item(*RETRY, lambda: self._deeds.retry(info))
        _item('push_pin', 'Unpin' if info.pinned else 'Pin: keep it, on top', lambda: self._deeds.pin([info]))
        _item(*COMPARE, lambda: self._deeds.compare_with(info))
        _item(*EDIT, lambda: self._deeds.edit(info))
        short_entries(info)
        if not info.status.ended:
            _item('stop_circle', 'Cancel the run', lambda: self._deeds.cancel(info), 'danger')
        _item(*DELETE, lambda: self._deeds.delete([info]), 'danger')

    def _closed(self, opened: ui.menu) -> None:
        if self._open is opened:
            self._open = None
        opened.delete()


def _item(icon: str, text: str, action: Callable[[], Awaitable[None]], kind: str = '') -> None:
    with ui.element('button').classes(f'menu-item {kind}').props('type="button"') as element:
        attach(element, role='menuitem')
        _face(icon, text)
    element.on('click', action)


def _face(icon: str, text: str) -> None:
    ui.icon(icon)
    Text('span', text)
