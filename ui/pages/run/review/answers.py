"""Answers from a seat: the others' open points, each with a choice to accept or rebut it, and why."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from engine.patterns import open_points
from ui.components.widgets import NativeSelect, Text, set_attributes, text_input
from ui.formatting.steps import role_title
from ui.pages.run.review.debates import Turn

CHOICES = {'': 'No answer', 'accepts': 'Accept', 'rebuts': 'Rebut'}


class PointAnswers:
    """The points that are open for a speaker, as rows of a form."""

    def __init__(self, speaker: str, turns: Sequence[Turn]) -> None:
        self._rows: dict[str, tuple[NativeSelect, ui.input]] = {}
        debate = max((turn.utterance.debate for turn in turns), default=0)
        points = open_points([turn.utterance for turn in turns], speaker, debate)
        if not points:
            return
        with ui.element('fieldset').classes('point-answers'):
            Text('legend', 'Points of the others')
            for number, (whose, (name, text)) in enumerate(points, start=1):
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
