"""The notice on a page for an earlier version of a pattern."""

from __future__ import annotations

from engine import Pattern
from ui.web.components.theme import notice
from ui.web.components.widgets import Text, text_link
from ui.web.routing import launch_path


def earlier_version(pattern: type[Pattern], version: str) -> None:
    """Say that the page is for this version, with a link to the current one; nothing for the current one."""
    if version:
        with notice('info', 'history'):
            Text('p', f'This is version {version}, as runs were started with it.')
            text_link(launch_path(pattern.name), 'Current version')
