"""Menus with arrow-key navigation, and a button that opens a list to pick from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

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
    on_choose: Callable[[], None]


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
