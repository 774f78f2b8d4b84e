"""The address of a page, at which it is served however long it takes a slow machine to draw it."""

from __future__ import annotations

from nicegui import ui

PATIENCE = 60.0
"""Seconds; NiceGUI's own 3 are over on a busy machine, and then there is an error instead of a page."""


def served(path: str) -> ui.page:
    """Decorates what draws the page at `path`."""
    return ui.page(path, response_timeout=PATIENCE)
