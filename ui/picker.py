"""A button that opens a list to pick from: a title and a note each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nicegui import ui

from ui.parts import Text
from ui.theme import button


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """One entry."""

    title: str
    note: str = ''
    chosen: Callable[[], None]


def picker(text: str, icon: str, picks: Sequence[Pick]) -> None:
    """The button and its list."""
    opener = button(text, icon=icon).props('aria-haspopup="menu"')
    with opener:
        ui.icon('expand_more')
        with ui.menu().props('auto-close').classes('menu'), ui.element('div').classes('menu-items') as items:
            items.props('role="menu"')
            for pick in picks:
                with (
                    ui.element('button')
                    .classes('menu-item two')
                    .props('type="button" role="menuitem"') as entry
                ):
                    Text('b', pick.title)
                    Text('span', pick.note, 'muted small')
                entry.on('click', pick.chosen)
