"""Menus with arrow-key navigation: on a button, at a place of the page, or to pick from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes

ARROWS = """(event) => {
    const entries = [...event.currentTarget.querySelectorAll('[role="menuitem"]')];
    const last = entries.length - 1, here = entries.indexOf(document.activeElement);
    const down = here < last ? here + 1 : 0, up = here > 0 ? here - 1 : last;
    const next = { ArrowDown: down, ArrowUp: up, Home: 0, End: last };
    if (!(event.key in next)) return;
    event.preventDefault();
    entries[next[event.key]].focus();
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PickerItem:
    """One entry of a list to pick from."""

    title: str
    note: str = ''
    on_choose: Callable[[], object]


@contextmanager
def menu(label: str) -> Iterator[ui.menu]:
    """Draw a menu on the surrounding element; its children must have the role `menuitem`."""
    with ui.menu().props('auto-close').classes('menu') as element:
        set_attributes(element, aria_label=label)
        element.on('keydown', js_handler=ARROWS)
        with Box('menu-items', role='none'):
            yield element


def picker(text: str, icon: str, picks: Sequence[PickerItem], *, kind: str = '') -> None:
    """Draw a button (of `theme.button`'s `kind`), and the list that it opens."""
    with button(text, icon=icon, kind=kind, aria_haspopup='menu'):
        ui.icon('expand_more')
        with menu(text):
            for pick in picks:
                with Box('menu-item two', 'button', type='button', role='menuitem') as entry:
                    Text('b', pick.title)
                    if pick.note:
                        Text('span', pick.note, 'muted small')
                entry.on('click', pick.on_choose)


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of a context menu, and what a click on it does."""

    icon: str
    text: str
    act: Callable[[], Any]


class ContextMenu:
    """A menu at a place of the page, drawn where it is opened."""

    def __init__(self) -> None:
        self._anchor: Box | None = None

    def open(self, target: Mapping[str, Any], title: str, entries: Sequence[MenuEntry]) -> None:
        """Open it at `x` and `y` of `target`, in pixels of the window."""
        if self._anchor is not None:
            self._anchor.delete()  # not before: dialogs of its entries are drawn in it and outlive the menu
        x, y = (max(0, round(float(target.get(axis) or 0))) for axis in ('x', 'y'))
        self._anchor = Box('menu-anchor').style(f'left: {x}px; top: {y}px')
        with self._anchor, menu(title) as opened:
            Text('div', title, 'menu-title muted small')
            for entry in entries:
                draw_entry(entry)
        opened.open()


def draw_entry(entry: MenuEntry) -> None:
    """Draw an entry as a menu item, into the current slot."""
    with Box('menu-item', 'button', type='button', role='menuitem') as element:
        ui.icon(entry.icon)
        Text('span', entry.text)
    element.on('click', entry.act)
