"""The switch that gives the middle of the run page the room of the inspector."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from ui.theme import button


class Width:
    """Wide by itself where many panes stand side by side, until a person has decided otherwise."""

    def __init__(self, place: ui.element, turn: Callable[[bool], None]) -> None:
        self._turn, self._wide, self._asked = turn, False, False
        with place:
            self._button = button('', icon='width_wide', kind='quiet', label='Use the width of the window')
        self._button.props('aria-pressed="false"')
        self._button.on('click', self._toggle)

    def want(self, wide: bool) -> None:
        """Be wide, or not, unless a person has decided."""
        if not self._asked:
            self._set(wide)

    def narrow(self) -> None:
        """A person wants to see what it hides."""
        self._asked = True
        self._set(False)

    def _toggle(self) -> None:
        self._asked = True
        self._set(not self._wide)

    def _set(self, wide: bool) -> None:
        if wide != self._wide:
            self._wide = wide
            self._button.props(f'aria-pressed="{str(wide).lower()}"')
            self._turn(wide)
