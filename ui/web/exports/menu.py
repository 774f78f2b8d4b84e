"""Export formats as menu entries, each a download or a form."""

from __future__ import annotations

from engine.records import RunInfo
from ui.web.components.menus import menu
from ui.web.components.theme import button
from ui.web.components.widgets import Text, link, set_attributes, text_link
from ui.web.exports.formats import FORMATS, FormatName


def export_entries(info: RunInfo) -> None:
    """Draw an entry for each format, inside a menu."""
    for form, saved in FORMATS.items():
        with link(_target(info, form), 'menu-item two', role='menuitem', download=_is_file(form)):
            Text('b', saved.title)
            Text('span', saved.note, 'muted small')


def short_entries(info: RunInfo) -> None:
    """Draw the same entries on one line each, for a long menu."""
    for form, saved in FORMATS.items():
        text_link(
            _target(info, form),
            f'Export {saved.title[0].lower()}{saved.title[1:]}',
            'menu-item',
            icon=saved.icon,
            role='menuitem',
            download=_is_file(form),
        )


def export_button(info: RunInfo) -> None:
    """Draw the button that opens the menu of export formats."""
    opener = button('', icon='ios_share', kind='quiet')  # no tooltip: it would cover the menu
    set_attributes(opener, aria_label='Export', aria_haspopup='menu')
    with opener, menu('Export the run'):
        export_entries(info)


def _target(info: RunInfo, form: FormatName) -> str:
    return f'/runs/{info.id}/export/{form}' if _is_file(form) else f'/runs/{info.id}/{form}'


def _is_file(form: FormatName) -> bool:
    """Whether the entry is a download; a regression test has a form first."""
    return form != 'test'
