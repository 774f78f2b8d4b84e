"""Where replies are from, as a mark: simulated, live or replayed."""

from __future__ import annotations

from nicegui import ui

ORIGINS = {
    'simulated': ('theater_comedy', 'Simulated', 'Played by the scripted model: no provider was called'),
    'live': ('sensors', 'Live', 'Answered by a provider'),
    'replayed': ('replay', 'Replayed', 'Answered from a recording: no provider was called'),
}


def origin_chip(origin: str) -> None:
    """A word, an icon and a colour."""
    icon, word, hint = ORIGINS[origin]
    with ui.element('span').classes(f'chip {origin}'):
        ui.icon(icon).props('size="15px"')
        ui.label(word)
        ui.tooltip(hint)
