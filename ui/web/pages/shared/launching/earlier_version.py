"""The notice on a page for an earlier version of a pattern."""

from __future__ import annotations

from engine import Catalog, Pattern
from ui.formatting.fields.parameters import version_name
from ui.web.components.theme import notice
from ui.web.components.widgets import Text, text_link
from ui.web.routing import launch_path


def earlier_version(catalog: Catalog, pattern: type[Pattern]) -> None:
    """Say which version the page is for, with a link to the current one; nothing if it is that."""
    if catalog.patterns.get(pattern.name) is not pattern:
        with notice('info', 'history'):
            version = version_name(catalog, pattern.name, pattern.version)
            Text('p', f'This is version {version}, not the current one.')
            text_link(launch_path(pattern.name), 'Current version')
