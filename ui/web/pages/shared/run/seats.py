"""Seats of agents: which are taken, and the button that takes one or hands it back."""

from __future__ import annotations

from engine.records import View
from engine.statechart import read_leniently
from ui.formatting.steps import role_title
from ui.web.components.theme import button
from ui.web.components.widgets import CachedElement
from ui.web.pages.shared.run.context import RunContext, accepts_event


class SeatButton:
    """Takes one seat, or hands it back; hidden when neither is possible."""

    def __init__(self, context: RunContext, name: str) -> None:
        self._context, self._name = context, name
        self.root = CachedElement('seat-button', 'span')
        self.root.set_visibility(False)

    def show(self, view: View, *, live: bool, may_control: bool) -> None:
        """Offer what is possible at this step."""
        taken = self._name in taken_seats(view)
        trigger = 'hand_back' if taken else 'take_seat'
        open_ = live and may_control and not view.status.ended
        can = bool(self._name) and open_ and accepts_event(self._context.shape, view, trigger)
        self.root.set_visibility(can)
        if self.root.clear_if_changed((can, taken)) and can:
            with self.root:
                draw_seat_button(self._context, self._name, taken=taken)


def taken_seats(view: View) -> list[str]:
    """Return the seats that a person has taken."""
    return read_leniently(list[str], view.memory.get('seats'))


def draw_seat_button(context: RunContext, name: str, *, taken: bool) -> None:
    """Draw the button that takes the seat, or hands it back."""
    trigger, text, icon = (
        ('hand_back', 'Return seat', 'undo') if taken else ('take_seat', 'Take seat', 'event_seat')
    )
    control = button(text, icon=icon, kind='small', aria_label=f'{text}: {role_title(name)}')
    control.tooltip('Let the agent continue' if taken else "Do this agent's part yourself")
    control.on('click', lambda: context.send(trigger, '', {'seat': name}))


def seat_at(path: str, context: RunContext) -> str:
    """Return the seat of the agent at `path`; '' if there is none."""
    state = context.shape.state(path)
    places = {*path.split('.'), state.role if state else ''}
    return next((name for name in context.shape.seats if name in places), '')
