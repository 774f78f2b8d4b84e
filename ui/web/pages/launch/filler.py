"""A notice that the answers will be filler, with the way out of that."""

from __future__ import annotations

from ui.app.backend import Backend
from ui.web.components.theme import button, notice
from ui.web.components.widgets import Box, Text, set_class
from ui.web.pages.shared.connecting.dialog import TITLE, ConnectDialog, Use
from ui.web.pages.shared.launching.models import Models

TEXT = 'Your task will get filler answers: no model is {}, so the scripted model makes them up.'


class FillerNotice:
    """Shown where no sample fits the input and no live model answers it.

    Args:
        backend: the backend.
        models: the models of the form.
    """

    def __init__(self, backend: Backend, models: Models) -> None:
        self._backend, self._models = backend, models
        connecting = ConnectDialog(
            backend, models.show_groups, Use(words='Use it for this run', icon='check', act=self._use)
        )
        with Box('filler') as self._place, notice('info', 'theaters'):
            self._text = Text('p', '')
            self._connect = button(TITLE, kind='small primary', requires='endpoints.save')
            self._connect.on('click', connecting.open)
            self._choose = button('Choose a model', kind='small primary').on('click', models.focus)
        self._place.set_visibility(False)

    def show(self, is_filler: bool) -> None:
        """Show it, or hide it."""
        self._place.set_visibility(is_filler)
        set_class(self._place, 'shown', on=is_filler)  # makes the footer's room larger
        if is_filler:
            infos = self._backend().catalog.registry.endpoint_infos()
            can_choose = any(not info.problem for info in infos)
            self._text.show(TEXT.format('chosen' if can_choose else 'connected'))
            self._connect.set_visibility(not can_choose)
            self._choose.set_visibility(can_choose)

    async def _use(self, model: str) -> None:
        self._models.choose(model)
