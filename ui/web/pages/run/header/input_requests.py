"""Input that a pattern accepts from people while it runs: a button and a form per event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from functools import partial

from nicegui import ui

from engine import Conductor, EngineError
from engine.records import RunInfo, Shape, View
from ui.formatting.steps import role_title
from ui.web.components.dialogs import ask_event, event_help
from ui.web.components.theme import button
from ui.web.components.widgets import Box, set_class
from ui.web.pages.shared.run.context import accepts_event

IN_PANES = ('take_seat', 'hand_back')
"""Events for which the agents' panes have buttons."""


class InputRequests:
    """One button per event, shown while the run accepts it, unless another pane handles it."""

    def __init__(
        self,
        conductor: Conductor,
        info: RunInfo,
        shape: Shape,
        handled: Collection[str],
        *,
        on_sent: Callable[[], None] = lambda: None,
    ) -> None:
        """Draw them, except the `handled` ones; `on_sent` is called after an event has been sent."""
        self._on_sent = on_sent
        self._conductor, self._run, self._shape = conductor, info.id, shape
        try:
            self._inputs = dict(conductor.catalog.pattern_of(info).inputs)
        except EngineError:  # its pattern is missing, so the run is read-only
            self._inputs = {}
        self._buttons: dict[str, ui.element] = {}
        with Box('asks', role='group', aria_label='Input for this run') as self.root:
            for trigger, model in self._inputs.items():
                if trigger in handled or trigger in IN_PANES:
                    continue  # it has better controls elsewhere
                request_button = button(role_title(trigger), kind='small')
                request_button.on('click', lambda _, trigger=trigger: self.ask(trigger))
                request_button.tooltip(event_help(model))
                self._buttons[trigger] = request_button
        self.root.set_visibility(False)

    @property
    def has_any(self) -> bool:
        """Whether the run can accept any at all."""
        return bool(self._buttons)

    @property
    def triggers(self) -> Set[str]:
        """The events that have a button."""
        return self._buttons.keys()

    @property
    def has_seats(self) -> bool:
        """Whether people can take seats in the run: then it asks only those who have."""
        return IN_PANES[0] in self._inputs

    def show(self, view: View, *, may_control: bool, handled: Collection[str] = ()) -> bool:
        """Show the events accepted now, and return whether there are any; none unless `may_control`.

        Those that are `handled` have better controls on the face of the page that is shown.
        """
        open_ = may_control and not view.status.ended
        accepted = {
            trigger
            for trigger in self._buttons
            if open_ and trigger not in handled and accepts_event(self._shape, view, trigger)
        }
        for trigger, request_button in self._buttons.items():
            request_button.set_visibility(trigger in accepted)
        self.root.set_visibility(bool(accepted))
        first = (
            next((trigger for trigger in self._buttons if trigger in accepted), '') if view.waiting else ''
        )
        for trigger, request_button in self._buttons.items():  # the first one unblocks a waiting run
            set_class(request_button, 'primary', on=trigger == first)
        return bool(accepted)

    async def ask(self, trigger: str) -> None:
        """Ask for the data of an event, and send it."""
        send = partial(self._conductor.send, self._run, trigger)
        if await ask_event(trigger, self._inputs[trigger], lambda data: send(data=data)):
            self._on_sent()
