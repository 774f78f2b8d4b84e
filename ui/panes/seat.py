"""A reviewer's seat: a person takes it, speaks in it when it is its turn, and hands it back."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from engine import View
from ui.forms.form import Form
from ui.forms.narrowed import narrowed
from ui.panes.around import Around
from ui.parts import Text
from ui.presenters.contests import entrants
from ui.presenters.debates import listed, seats, turn_of
from ui.presenters.reading import speaker
from ui.theme import button


class SeatButton:
    """Takes one seat, or hands it back; hidden where nobody can."""

    def __init__(self, around: Around, name: str) -> None:
        self._around, self._name = around, name
        self._shown: object = None
        self.root = ui.element('span').classes('seat-button')
        self.root.set_visibility(False)

    def show(self, view: View, *, live: bool, mine: bool) -> None:
        """Offer what can be done at this step."""
        can = bool(self._name) and live and mine and not view.status.ended
        taken = self._name in listed(view.memory.get('seats'))
        self.root.set_visibility(can)
        if (can, taken) == self._shown:
            return
        self._shown = (can, taken)
        self.root.clear()
        if can:
            with self.root:
                draw_button(self._around, self._name, taken=taken)


class Seats:
    """The seats of a debate: a button for each, and the form of a person whose turn it is."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._known = seats(around.shape)
        self._asked: object = None
        self._taken: list[Any] = []
        self._can = False
        self._name = ''
        self._form: Form | None = None
        self.root = ui.element('section').classes('seat').props('aria-label="Your turn"')
        for keys in ('ctrl.enter', 'meta.enter'):
            self.root.on(f'keydown.{keys}', self._say)
        self.root.set_visibility(False)

    def show(self, view: View, *, live: bool, mine: bool) -> None:
        """Ask for a person's words where it is its turn. What is typed stays until the turn is over."""
        name, by_person = turn_of(view, self._around.shape)
        self._taken = listed(view.memory.get('seats'))
        self._can = live and mine and not view.status.ended and bool(self._known)
        leaf = next((leaf for leaf in view.active if leaf.endswith(f'{name}.person')), '') if name else ''
        asked = (name, view.entered.get(leaf)) if self._can and by_person else None
        if asked == self._asked:
            return
        self._asked, self._name, self._form = asked, name, None
        self.root.clear()
        self.root.set_visibility(asked is not None)
        if asked:
            with self.root:
                self._draw(view)

    @property
    def shown(self) -> object:
        """What the buttons depend on."""
        return self._can, self._taken

    def control(self, name: str) -> None:
        """Draw the button of a seat, where somebody may take it or sits in it."""
        if name in self._taken:
            with ui.element('span').classes('chip strong person'):
                ui.icon('person').props('size="15px"')
                ui.label('A person')
        if self._can and name in self._known:
            draw_button(self._around, name, taken=name in self._taken)

    def _draw(self, view: View) -> None:
        with ui.element('div').classes('seat-head'):
            ui.icon('front_hand').props('size="20px" aria-hidden="true"')
            Text('h2', f'It is your turn, in the seat of {speaker(self._name).lower()}')
        pattern = self._around.conductor.catalog.patterns.get(self._around.shape.pattern)
        model = pattern.inputs.get('say') if pattern else None
        if model is None:
            return
        names = [one.name for one in entrants(view, self._around.shape, self._around.history) if one.in_play]
        self._form = Form(
            narrowed(model, without=('reviewer',), choices={'best': names}), on_change=lambda: None
        )
        with ui.element('div').classes('seat-actions'):
            button('Say it', icon='send', kind='primary').on('click', self._say)
            button('Hand the seat back', icon='undo').on(
                'click', lambda: self._around.send('hand_back', '', {'reviewer': self._name})
            )
            with ui.element('span').classes('muted small'):
                Text('kbd', 'Ctrl')
                Text('span', ' + ')
                Text('kbd', 'Enter')
                Text('span', ' says it')

    async def _say(self) -> None:
        said = self._form.given() if self._form else None
        if said is None:
            return
        data = said.model_dump(mode='json', exclude_unset=False)
        await self._around.send('say', '', data | {'reviewer': self._name})


def draw_button(around: Around, name: str, *, taken: bool) -> None:
    """Take the seat, or hand it back."""
    trigger, text, icon = (
        ('hand_back', 'Hand back', 'undo') if taken else ('take_seat', 'Take the seat', 'event_seat')
    )
    made = button(text, icon=icon, kind='small')
    made.props(f'aria-label="{text}: {speaker(name)}"')
    made.tooltip(
        'The agent speaks for itself again' if taken else 'You speak in its place when its turn comes'
    )
    made.on('click', lambda: around.send(trigger, '', {'reviewer': name}))


def seat_of(path: str, around: Around) -> str:
    """The seat that an agent speaks in, by its path; '' where there is none."""
    return next((name for name in seats(around.shape) if name in path.split('.')), '')
