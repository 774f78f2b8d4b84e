"""An agent's name, shortened so that its number stays visible."""

from __future__ import annotations

import re

from nicegui import ui

from ui.components.widgets import Text

PARTS = re.compile(r'(?P<stem>.*?)(?:(?P<number> \d+)(?P<rest>\D*))?')


class AgentName:
    """The name in three parts. If it does not fit, it loses the last part, then the end of the first."""

    def __init__(self, name: str) -> None:
        with ui.element('span').classes('agent-name'):
            with ui.element('span').classes('agent-who'):
                who = [Text('span', '', f'agent-{part}') for part in ('stem', 'number')]
            self._parts = [*who, Text('span', '', 'agent-rest')]
        self.show(name)

    def show(self, name: str) -> None:
        """Show another name, if it differs."""
        for part, text in zip(self._parts, name_parts(name), strict=True):
            part.show(text)


def name_parts(name: str) -> tuple[str, str, str]:
    """Split a name into the words before its number, the number, and the rest."""
    match = PARTS.fullmatch(name)
    return (match['stem'], match['number'] or '', match['rest'] or '') if match else (name, '', '')
