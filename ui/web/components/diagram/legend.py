"""A popover that explains every sign of a run's diagram."""

from __future__ import annotations

from nicegui import ui

from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes

NAME = 'Legend of the diagram'
SIGNS = (
    ('box', 'sign-state', 'A state of the workflow'),
    ('box', 'sign-agent', 'An agent: click or press Enter to open it'),
    ('box', 'sign-region', 'Works in parallel'),
    ('box', 'sign-final', 'The end'),
    ('box', 'sign-active', 'At work now'),
    ('box', 'sign-waiting', 'Needs you'),
    ('box', 'sign-visited', 'Was at work'),
    ('box', 'sign-broken', 'Failed here'),
    ('line', 'sign-plain', 'A transition, and its condition'),
    ('line', 'sign-taken', 'Taken at this step'),
    ('line', 'sign-traversed', 'Taken before'),
    ('line', 'sign-failing', 'Leads to failure'),
    ('line', 'sign-failing sign-traversed', 'Failed this way'),
    ('dot', 'sign-start', 'The start'),
    ('sign', '×', 'A failure that leads elsewhere: hover to see where'),
    ('sign', '✗', 'Considered, but its condition was not met'),
    ('sign', '–', 'Not checked: an earlier one applied'),
)
"""How each is drawn, its class or text, and what it means."""


def legend() -> None:
    """Draw the button with the popover."""
    opener = button('', icon='help_outline', kind='quiet small', label=NAME, aria_haspopup='dialog')
    with opener, ui.menu().classes('popover').props('role="dialog"') as popover:
        set_attributes(popover, aria_label=NAME)
        with Box('diagram-legend', 'ul'):
            for how, kind, meaning in SIGNS:
                with Box(tag='li'):
                    if how == 'sign':
                        Text('span', kind, 'legend-sign', aria_hidden='true')
                    else:
                        Box(f'legend-sign legend-{how} {kind}', 'span', aria_hidden='true')
                    Text('span', meaning)
