"""Answers from a seat: the others' open points, each with a choice to accept or rebut it, and why."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from ui.components.widgets import NativeSelect, Text, set_attributes, text_input
from ui.formatting.steps import role_title
from ui.pages.run.review.debate_records import Turn, as_list, as_record
from ui.pages.run.review.points import point_ids

CHOICES = {'': 'No answer', 'accepts': 'Accept', 'rebuts': 'Rebut'}


class PointAnswers:
    """The points that are open for a speaker, as rows of a form."""

    def __init__(self, speaker: str, turns: Sequence[Turn]) -> None:
        self._rows: dict[str, tuple[NativeSelect, ui.input]] = {}
        points = open_points(speaker, turns)
        if not points:
            return
        with ui.element('fieldset').classes('point-answers'):
            Text('legend', 'Points of the others')
            for number, (name, whose, text) in enumerate(points, start=1):
                with ui.element('div').classes('point-answer'):
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


def open_points(speaker: str, turns: Sequence[Turn]) -> list[tuple[str, str, str]]:
    """Return the others' latest points that this speaker has not answered: id, speaker, text."""
    answered = {
        as_record(answer).get('to')
        for turn in turns
        if turn.entry.get('speaker') == speaker
        for answer in as_list(turn.position.get('answers'))
    }
    debate = max((number for turn in turns if isinstance(number := turn.entry.get('debate'), int)), default=0)
    latest = {
        str(turn.entry.get('speaker')): turn
        for turn in turns
        if point_ids(turn) and not turn.entry.get('synthesized') and turn.entry.get('debate') in (0, debate)
    }
    return [
        (name, whose, text)
        for whose, turn in latest.items()
        if whose != speaker
        for name, text in point_ids(turn)
        if name not in answered
    ]
