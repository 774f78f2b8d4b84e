"""What a pattern takes from people while it runs: a button for each such event, and its form."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from nicegui import ui
from pydantic import BaseModel

from engine import Conductor, EngineError, InvalidInput, RunInfo, Shape, View, is_active
from ui.dialogs import framed, told
from ui.forms.form import Form
from ui.parts import Text
from ui.presenters.reading import speaker
from ui.theme import button

SEATS = frozenset({'take_seat', 'say', 'hand_back'})
CHOICES = frozenset({'choose', 'take_files', 'resolve'})
"""What the debate's and the candidates' panes ask for."""


def taken(shape: Shape, view: View, trigger: str) -> bool:
    """Whether an edge for this trigger leads out of a state that is active, or of one around it."""
    return any(edge.trigger == trigger and is_active(edge.source, view.active) for edge in shape.edges)


class Asks:
    """The buttons; each is there only while the run takes its event, and no pane asks for it better."""

    def __init__(
        self,
        conductor: Conductor,
        info: RunInfo,
        shape: Shape,
        *,
        sent: Callable[[], None] = lambda: None,
    ) -> None:
        """Draw them; `sent` is called after an event was sent."""
        self._sent = sent
        self._conductor, self._run, self._shape = conductor, info.id, shape
        try:
            self._inputs = dict(conductor.catalog.pattern(info.pattern).inputs)
        except EngineError:  # its file is gone: the run can be looked at
            self._inputs = {}
        self._buttons: dict[str, ui.element] = {}
        with (
            ui.element('div')
            .classes('asks')
            .props('role="group" aria-label="What this run takes"') as self.root
        ):
            drawn = (SEATS if shape.debate else frozenset()) | (CHOICES if shape.candidates else frozenset())
            for trigger, model in self._inputs.items():
                if trigger in drawn:
                    continue  # the board and the candidates ask for it, with all that it is about
                made = button(speaker(trigger), kind='small')
                made.on('click', lambda _, trigger=trigger: self.ask(trigger))
                made.tooltip(_words(model))
                self._buttons[trigger] = made
        self.root.set_visibility(False)

    def show(self, view: View, *, mine: bool) -> None:
        """Show what the run takes now; `mine` says whether this server can steer it."""
        open_ = mine and not view.status.ended
        shown = {trigger for trigger in self._buttons if open_ and taken(self._shape, view, trigger)}
        for trigger, made in self._buttons.items():
            made.set_visibility(trigger in shown)
        self.root.set_visibility(bool(shown))
        first = next((trigger for trigger in self._buttons if trigger in shown), '') if view.waiting else ''
        for trigger, made in self._buttons.items():  # a run that waits is helped on by the first
            made.classes(
                add='primary' if trigger == first else '', remove='' if trigger == first else 'primary'
            )

    async def ask(self, trigger: str) -> None:
        """Ask for what goes with an event, and send it."""
        model = self._inputs[trigger]
        title = speaker(trigger)
        with framed(title if model.model_fields else f'{title}?') as dialog:
            Text('p', _words(model))
            form = Form(model, on_change=lambda: None)

            async def send() -> None:
                said = form.given()
                if said is None:
                    return
                try:
                    await self._conductor.send(self._run, trigger, data=said.model_dump(mode='json'))
                except InvalidInput as error:
                    form.refuse(error.problems)
                except EngineError as error:
                    dialog.submit(error)
                else:
                    dialog.submit(True)

            with ui.element('div').classes('dialog-actions'):
                button('Not now').on('click', lambda: dialog.submit(None))
                button(title, kind='primary').on('click', send)
        answer: object = await dialog
        if not dialog.is_deleted:
            dialog.delete()
        if isinstance(answer, EngineError):
            await told(_refused(answer))
        if answer is True:
            self._sent()


async def _refused(error: EngineError) -> None:
    raise error


def _words(model: type[BaseModel]) -> str:
    """What an event does, as its record says."""
    return ' '.join((inspect.getdoc(model) or '').split())
