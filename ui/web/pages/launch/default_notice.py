"""DefaultNotice: says from which variant of an experiment the form starts, and leads there."""

from __future__ import annotations

from collections.abc import Callable

from engine import EngineError
from engine.operations.experiments import LaunchDefault
from ui.app.backend import Backend
from ui.web.components.dialogs import notify_error
from ui.web.components.theme import button, notice
from ui.web.components.widgets import Box, Text, text_link
from ui.web.permission import is_permitted


async def find_default(backend: Backend, pattern: str) -> LaunchDefault | None:
    """Return the variant that launch forms of a pattern start from; None if there is none to be read."""
    try:
        defaults = await backend().experiments.defaults()
    except EngineError:
        return None
    return next((item for item in defaults if item.pattern == pattern and not item.version), None)


class DefaultNotice:
    """The notice, and the way back to the pattern's own defaults."""

    def __init__(self, backend: Backend, on_reset: Callable[[], None]) -> None:
        """Draw nothing yet; `on_reset` is called once the pattern's own defaults are back."""
        self._backend, self._on_reset = backend, on_reset
        self._place = Box('ghost')

    def show(self, default: LaunchDefault | None) -> None:
        """Show from which variant the form starts; None hides the notice."""
        self._place.clear()
        if default is None:
            return
        with self._place, notice('info', 'balance'):
            with Box(tag='p'):
                Text('span', f'Starts from “{default.variant}”, made the default by an ')
                text_link(f'/experiments/{default.experiment}', 'experiment')
                Text('span', '.')
            if is_permitted('experiments.reset_default'):
                back = button('Use its own defaults', kind='small')
                back.on('click', lambda: self._reset(default))

    async def _reset(self, default: LaunchDefault) -> None:
        try:
            await self._backend().experiments.reset_default(default.pattern)
        except EngineError as error:
            notify_error(error)
            return
        self._on_reset()
        self.show(None)  # at last: it removes the button that was clicked
