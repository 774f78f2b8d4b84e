"""Other viewers of this run: initials and steps above the slider; a click goes to their step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from ui.components.widgets import Text, set_attributes
from ui.web.presence import Viewer

MAX_SHOWN = 3
"""Maximum number of viewers shown individually."""


class Viewers:
    """The other pages on this run."""

    def __init__(self, viewer: Viewer, seek: Callable[[int | None], Awaitable[None]]) -> None:
        self._viewer = viewer
        self._buttons: list[ui.element] = []
        self._names: list[Text] = []
        with (
            ui.element('span')
            .classes('viewers')
            .props('role="group" aria-label="Also viewing"') as self._root
        ):
            for index in range(MAX_SHOWN):
                with ui.element('button').classes('viewer').props('type="button"') as element:
                    ui.icon('visibility').props('size="14px" aria-hidden="true"')
                    self._names.append(Text('span', ''))
                element.on('click', lambda index=index: self._go(index, seek))
                self._buttons.append(element)
            self._more = Text('span', '', 'muted small num')
        self._show()

    def tick(self) -> None:
        """Update the viewers if any have joined, left or moved."""
        if self._viewer.outdated:
            self._viewer.outdated = False
            self._show()

    def _show(self) -> None:
        others = self._viewer.others
        for index, element in enumerate(self._buttons):
            element.set_visibility(index < len(others))
            if index < len(others):
                description = self._describe(others[index])
                self._names[index].show(_brief(others[index]))
                set_attributes(element, aria_label=description, title=description)
        self._more.show(f'+{len(others) - MAX_SHOWN}' if len(others) > MAX_SHOWN else '')
        self._root.set_visibility(bool(others))

    def _describe(self, other: Viewer) -> str:
        own = other.name == self._viewer.name
        who = other.name if not own else 'You, in another window' if other.name else 'Another window'
        return f'{who}: at ' + ('the newest step' if other.at is None else f'step {other.at}')

    async def _go(self, index: int, seek: Callable[[int | None], Awaitable[None]]) -> None:
        others = self._viewer.others
        if index < len(others):
            await seek(others[index].at)


def _brief(other: Viewer) -> str:
    """Return initials and step; the newest step is named only for a viewer without a name."""
    at = '' if other.at is None and other.name else 'latest' if other.at is None else str(other.at)
    return f'{other.name[:2].upper()} {at}'.strip()
