"""Replaying a recording instead of calling models: choosing one, and the notice in the form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.records import RunInfo
from ui.web.components.theme import button, notice
from ui.web.components.widgets import Box, Text, text_link


def is_recorded(info: RunInfo) -> bool:
    """Return whether a run's model replies were recorded."""
    return bool(info.options.get('record'))


class RecordingPicker:
    """Shows the recording that is replayed, with a button to call models instead."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        """Draw nothing until `use`."""
        self.run: RunInfo | None = None
        self._on_change = on_change
        self._place = Box('notices')

    def use(self, run: RunInfo | None) -> None:
        """Answer from the recording of a run; None calls models."""
        if run is self.run:
            return
        self.run = run
        self._place.clear()
        if run is not None:
            with self._place, notice('info', 'replay'):
                Text('b', 'Model calls are answered from a recording.')
                with Box(tag='p'):
                    Text('span', 'Recording of ')
                    text_link(f'/runs/{run.id}', run.title or run.id)
                    Text('span', '. Calls that are not in the recording fail.')
                button('Call models instead', kind='small').on('click', lambda: self.use(None))
        self._on_change()

    @property
    def options(self) -> dict[str, Any]:
        """The options that override the form's."""
        return {'replay': self.run.id, 'record': False} if self.run else {}
