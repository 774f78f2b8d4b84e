"""A place to drop files, or to choose them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.events import UploadEventArguments

from ui.web.components.assets import ASSETS
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text

ON_DROP = """(event) => {{
    event.preventDefault();
    event.currentTarget.classList.remove('over');
    if (event.dataTransfer.files.length) getElement({id}).addFiles(event.dataTransfer.files);
}}"""
ON_DRAG_OVER = "(event) => { event.preventDefault(); event.currentTarget.classList.add('over'); }"
ON_DRAG_LEAVE = "(event) => event.currentTarget.classList.remove('over')"


class _Upload(ui.upload, component=ASSETS / 'controls' / 'file_picker.js'):
    """NiceGUI's upload with a small element of our own."""


def drop_zone(
    on_upload: Callable[[UploadEventArguments], Awaitable[None]],
    *,
    max_bytes: int,
    on_begin: Callable[[], None],
    on_problem: Callable[[str, str], None],
    multiple: bool = False,
) -> ui.element:
    """Draw it, and return the button to choose files with.

    Args:
        on_upload: gets each file.
        max_bytes: the maximum size of a file.
        on_begin: called when a file begins to arrive.
        on_problem: gets the name of a file and why it did not arrive; '' for one that is too large.
        multiple: whether it takes several files.
    """
    upload = _Upload(
        multiple=multiple,
        max_file_size=max_bytes,
        on_begin_upload=on_begin,
        on_upload=on_upload,
        on_rejected=lambda: on_problem('', ''),
    )
    upload.on('failed', lambda event: on_problem(str(event.args), 'the connection was lost'))
    with Box('drop') as zone:
        ui.icon('upload_file', size='28px')
        Text('span', 'Drop files here, or' if multiple else 'Drop a file here, or')
        choose = button('Choose files' if multiple else 'Choose a file')
    zone.on('dragover', js_handler=ON_DRAG_OVER)
    zone.on('dragleave', js_handler=ON_DRAG_LEAVE)
    zone.on('drop', js_handler=ON_DROP.format(id=upload.id))
    choose.on('click', js_handler=f'() => getElement({upload.id}).pickFiles()')
    return choose
