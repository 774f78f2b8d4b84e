"""A menu that saves a chart as Mermaid, DOT or SVG."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nicegui import ui

from engine import EngineError
from engine.records import Shape
from ui.formatting.diagram.rendering import FORMATS, Folded, export_chart
from ui.web.components.menus import menu
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text

NAMES = {
    'mermaid': ('Mermaid', 'For Markdown, wikis and GitHub'),
    'dot': ('DOT', 'For Graphviz'),
    'svg': ('SVG', 'A vector image, for documents and slides'),
}


def save_menu(shape: Callable[[], Shape | None], folded: Callable[[], Folded]) -> None:
    """Draw a button for the header of a diagram panel; the saved file shows what the panel shows.

    Args:
        shape: returns the current chart, if any.
        folded: returns which agents are collapsed.
    """
    with (
        button('', icon='download', kind='quiet small', label='Save diagram', aria_haspopup='menu'),
        menu('Save diagram'),
    ):
        for how in FORMATS:
            title, note = NAMES[how]
            with Box('menu-item two', 'button', type='button', role='menuitem') as entry:
                Text('b', title)
                Text('span', note, 'muted small')
            entry.on('click', partial(_save, how, shape, folded))


async def _save(how: str, shape: Callable[[], Shape | None], folded: Callable[[], Folded]) -> None:
    current = shape()
    if current is None:
        ui.notify('There is no diagram yet.')
        return
    try:
        text = await export_chart(current, how, folded=folded())
    except EngineError as error:
        ui.notify(str(error), type='warning')
        return
    ui.download.content(text, f'{current.pattern}.{FORMATS[how]}')
