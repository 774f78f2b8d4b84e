"""Stubs of an earlier run or of a sample that a launch form uses, and a button to call models instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ui.web.components.theme import button, notice
from ui.web.components.widgets import Box, Text


class StubNotice:
    """Says which agents are answered by stubs."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        """Draw nothing until `use`."""
        self._stubs: Mapping[str, Any] = {}
        self._on_change = on_change
        self._place = Box('notices')

    def use(self, stubs: Mapping[str, Any]) -> None:
        """Answer agents from stubs; none calls models."""
        if stubs == self._stubs:
            return
        self._stubs = stubs
        self._place.clear()
        if stubs:
            with self._place, notice('info', 'rule'):
                Text('b', 'Stubs answer instead of models.')
                Text('p', f'They answer for: {", ".join(stubs)}.')
                button('Call models instead', kind='small').on('click', lambda: self.use({}))
        self._on_change()

    @property
    def options(self) -> dict[str, Any]:
        """The options they add to the form's."""
        return {'stubs': self._stubs} if self._stubs else {}
