"""The forms that a run can be saved in, as entries of a menu: each is a download."""

from __future__ import annotations

from nicegui import ui

from engine import RunInfo
from ui.exports.forms import FORMS
from ui.menus import menu
from ui.parts import Text, attach, link
from ui.theme import button


def export_entries(info: RunInfo) -> None:
    """An entry for each form; made inside a menu."""
    for form, saved in FORMS.items():
        with link(f'/runs/{info.id}/export/{form}', 'menu-item two', role='menuitem', download=''):
            Text('b', saved.title)
            Text('span', saved.note, 'muted small')


def short_entries(info: RunInfo) -> None:
    """The same in a line each, for a menu of many entries."""
    for form, saved in FORMS.items():
        with link(f'/runs/{info.id}/export/{form}', 'menu-item', role='menuitem', download=''):
            ui.icon(saved.icon)
            Text('span', f'Export {saved.title[0].lower()}{saved.title[1:]}')


def export_button(info: RunInfo) -> None:
    """A button with the menu."""
    made = button('', icon='ios_share', kind='quiet')  # no hint: it would lie over the menu
    attach(made, aria_label='Export', aria_haspopup='menu')
    with made, menu('Export the run'):
        export_entries(info)
