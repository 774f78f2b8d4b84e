"""One breakpoint in a list: whether it is on, where and when it stops; to edit and to take away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nicegui import ui

from engine import Breakpoint
from ui.parts import Text, attach
from ui.stepping.words import where
from ui.theme import button

Act = Callable[[Breakpoint], Awaitable[Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deeds:
    """What can be done with a breakpoint of a list."""

    change: Act
    """Gets the breakpoint as it is to be."""
    edit: Act
    remove: Act


def draw_row(
    item: Breakpoint, facts: Sequence[str], deeds: Deeds | None, *, number: str, hit: bool = False
) -> None:
    """Draw it as an entry of a list.

    Args:
        item: the breakpoint.
        facts: what is said of it in small letters.
        deeds: what can be done with it; None where it can only be read.
        number: what it is called.
        hit: whether it holds the run now.
    """
    kind = f'{"" if item.enabled else "off"} {"hit" if hit else ""}'
    with ui.element('li').classes(f'breakpoint-row {kind}'):
        box = ui.checkbox(value=item.enabled).props('dense')
        attach(box, aria_label=f'Breakpoint {number} is on')
        if deeds is None:
            box.disable()
        else:
            change = deeds.change
            box.on_value_change(lambda event: change(replace(item, enabled=bool(event.value))))
        with ui.element('div').classes('breakpoint-said'):
            with ui.element('div').classes('breakpoint-where'):
                Text('span', number, 'num muted')
                Text('b', where(item))
                if hit:
                    Text('span', 'holds it now', 'chip held')
            if item.when:
                Text('code', item.when, 'breakpoint-when')
            if item.problem:
                Text('p', f'Its condition could not be evaluated: {item.problem}', 'problem')
            Text('span', ' · '.join([*facts, *([] if item.enabled else ['off'])]), 'muted small')
        if deeds is not None:
            edit, remove = deeds.edit, deeds.remove
            for icon, label, act in (('edit', 'Edit', edit), ('delete', 'Remove', remove)):
                made = button('', icon=icon, kind='quiet small', label=f'{label} breakpoint {number}')
                made.on('click', lambda _, act=act: act(item))
