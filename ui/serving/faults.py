"""The files that could not be loaded, said where a person looks."""

from __future__ import annotations

from nicegui import ui

from ui.door import Door
from ui.parts import Text
from ui.theme import notice


def draw_faults(door: Door) -> None:
    """Name each file, with its line and what is wrong; nothing where all is well."""
    faults = door().catalog.faults
    if not faults:
        return
    with notice('fail', 'error'):
        one = len(faults) == 1
        Text(
            'p', f'{"A file" if one else f"{len(faults)} files"} could not be loaded; everything else works.'
        )
        with ui.element('ul').classes('details-list'):
            for fault in faults:
                with ui.element('li'):
                    Text('code', f'{fault.path}:{fault.line}' if fault.line else fault.path)
                    Text('span', fault.problem)
