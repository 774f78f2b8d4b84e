"""Buttons that copy a text, or save it as a file."""

from __future__ import annotations

import json
from collections.abc import Callable

from nicegui import ui

from ui.web.components.theme import button

COPY = """navigator.clipboard
    ? navigator.clipboard.writeText(%s).then(() => true, () => false)
    : false"""
"""Copies a text; false where the browser does not allow it."""


async def copy_text(text: str, otherwise: str = 'Select the text instead.') -> None:
    """Copy a text, and say whether it was: browsers allow it on secure connections only.

    Args:
        text: what is copied.
        otherwise: what to do where the browser does not allow it.
    """
    copied = await ui.run_javascript(COPY % json.dumps(text), timeout=10)
    ui.notify('Copied.' if copied else f'The browser does not allow copying here. {otherwise}')


def copy_buttons(name: str, content: Callable[[], tuple[str, str]]) -> None:
    """Draw the buttons.

    Args:
        name: what they copy or save, for their accessible names.
        content: returns the name of the file and its text.
    """

    def download() -> None:
        file, text = content()
        ui.download.content(text.encode(errors='replace'), file)

    button('', icon='content_copy', kind='quiet small', label=f'Copy {name}').on(
        'click', lambda: copy_text(content()[1], 'Download it instead.')
    )
    button('', icon='download', kind='quiet small', label=f'Download {name}').on('click', download)
