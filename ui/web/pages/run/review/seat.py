"""Seats: a person takes one, speaks on a reviewer's turn, answers open points, and hands it back."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from engine.patterns import open_points
from engine.records import View
from ui.formatting.steps import role_title
from ui.web.components.forms.form import Form
from ui.web.components.forms.narrow_model import narrow_model
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, set_attributes, text_input
from ui.web.pages.run.pane import Moment
from ui.web.pages.run.review.contest import read_candidates
from ui.web.pages.run.review.debates import REVIEWER, Turn, current_turn, debate_turns, seats_for
from ui.web.pages.shared.run.context import RunContext
from ui.web.pages.shared.run.seats import draw_seat_button, taken_seats

CHOICES = {'': 'No answer', 'accepts': 'Accept', 'rebuts': 'Rebut'}


class PointAnswers:
    """The points that are open for a speaker, as rows of a form."""

    def __init__(self, speaker: str, turns: Sequence[Turn]) -> None:
        self._rows: dict[str, tuple[NativeSelect, ui.input]] = {}
        debate = max((turn.utterance.debate for turn in turns), default=0)
        points = open_points([turn.utterance for turn in turns], speaker, debate)
        if not points:
            return
        with Box('point-answers', 'fieldset'):
            Text('legend', 'Points of the others')
            for number, (whose, (name, text)) in enumerate(points, start=1):
                with Box('point-answer'):
                    Text('p', f'{role_title(whose)}: {text}')
                    stance = NativeSelect(CHOICES, value='')
                    set_attributes(stance, aria_label=f'Answer to point {number}')
                    why = text_input('', maxlength='2000', placeholder='Why')
                    set_attributes(why, aria_label=f'Why, for point {number}')
                self._rows[name] = (stance, why)

    def read(self) -> list[dict[str, str]]:
        """Return the answers in the format of a turn."""
        return [
            {'to': name, 'stance': str(stance.value), 'why': str(why.value or '').strip()}
            for name, (stance, why) in self._rows.items()
            if stance.value
        ]


class Seats:
    """The seats of a debate: a button for each, and the form for a person's turn."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._reviewer_seats = seats_for(context.shape, REVIEWER)
        self._turn: object = None
        self._taken: list[str] = []
        self._can_take = False
        self._name = ''
        self._form: Form | None = None
        self._answers: PointAnswers | None = None
        self.root = Box('seat', 'section', aria_label='Your turn')
        for keys in ('ctrl.enter', 'meta.enter'):
            self.root.on(f'keydown.{keys}.prevent', self._send_turn)
        self.root.set_visibility(False)

    def show(self, moment: Moment) -> None:
        """Show the form on a person's turn. Typed text stays until the turn is over."""
        view = moment.view
        name, by_person = current_turn(view, self._context.shape)
        self._taken = taken_seats(view)
        self._can_take = moment.may_answer and not view.status.ended and bool(self._reviewer_seats)
        leaf = next((leaf for leaf in view.active if leaf.endswith(f'{name}.person')), '') if name else ''
        turn = (name, view.entered.get(leaf)) if self._can_take and by_person else None
        if turn == self._turn:
            return
        self._turn, self._name, self._form = turn, name, None
        self.root.clear()
        self.root.set_visibility(turn is not None)
        if turn:
            with self.root:
                self._draw(view)

    @property
    def button_state(self) -> object:
        """The state that the buttons depend on."""
        return self._can_take, self._taken

    def draw_control(self, name: str) -> None:
        """Draw the button of a seat, if somebody may take it or has taken it."""
        if name in self._taken:
            with Box('chip strong person', 'span'):
                ui.icon('person', size='15px')
                ui.label('A person')
        if self._can_take and name in self._reviewer_seats:
            draw_seat_button(self._context, name, taken=name in self._taken)

    def _draw(self, view: View) -> None:
        with Box('seat-head'):
            ui.icon('front_hand', size='20px')
            Text('h2', f'Your turn as {role_title(self._name).lower()}')
        pattern = self._context.conductor.catalog.find_of(self._context.info)
        model = pattern.inputs.get('say') if pattern else None
        if model is None:
            return
        candidates = read_candidates(view, self._context.shape)
        names = [name for name, candidate in candidates.items() if candidate.in_play]
        narrowed = narrow_model(model, without=('reviewer', 'answers', 'comments'), choices={'best': names})
        self._form = Form(narrowed, on_change=lambda: None)
        turns = debate_turns(view, self._context.shape, self._context.history)
        self._answers = PointAnswers(self._name, turns)
        with Box('seat-actions'):
            button('Send', icon='send', kind='primary').on('click', self._send_turn)
            button('Return seat', icon='undo').on(
                'click', lambda: self._context.send('hand_back', '', {'seat': self._name})
            )
            with Box('muted small', 'span'):
                Text('kbd', 'Ctrl')
                Text('span', ' + ')
                Text('kbd', 'Enter')
                Text('span', ' sends')

    async def _send_turn(self) -> None:
        turn = self._form.submit() if self._form else None
        if turn is None:
            return
        data = turn.model_dump(mode='json', exclude_unset=False)
        answers = self._answers.read() if self._answers else []
        await self._context.send('say', '', data | {'reviewer': self._name, 'answers': answers})
