"""ExpectationsForm: what a regression test expects of a run, as fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from engine.history import Expectations
from engine.records import Shape, Status
from ui.formatting.diagram.folding import closed_states
from ui.formatting.steps import path_text
from ui.formatting.values import STATUS_TEXT
from ui.web.components.forms.form import Form
from ui.web.components.widgets import Box, Text

UNCHECKED = 'Not checked'
STATUSES = {'': UNCHECKED, **{status.value: STATUS_TEXT[status] for status in Status}}
VISITS = {'': UNCHECKED, 'visited': 'Must be visited', 'not_visited': 'Must not be visited'}
INNER = 'States inside agents'


class Limits(BaseModel):
    """The most that the run may use."""

    tokens: int | None = Field(None, ge=0, title='Tokens at most')
    dollars: float | None = Field(None, ge=0, title='Dollars at most')
    seconds: float | None = Field(None, ge=0, title='Seconds at most')


class ExpectationsForm:
    """The fields of `Expectations`: the outcome, limits, and a row for each state of the chart."""

    def __init__(self, expect: Expectations, shape: Shape) -> None:
        """Draw it with these expectations."""
        self._expect = expect
        self._paths = [state.path for state in shape.states]
        values = expect.model_dump(mode='json')
        self._outcome = Form(_outcome_model(expect), on_change=lambda: None)
        self._outcome.set_values(
            {
                'status': expect.status or '',
                'answer': expect.answer if isinstance(expect.answer, str) else expect.answer is not None,
            }
        )
        with Box('limits'):
            self._limits = Form(Limits, on_change=lambda: None)
            self._limits.set_values(values)
        with Box('expected-states', 'section', aria_labelledby='states'):
            Text('h2', 'States', id='states')
            self._states = Form(_states_model(self._paths, shape), on_change=lambda: None)
            self._states.set_values(dict(self._state_values()))

    def submit(self) -> Expectations | None:
        """Return the expectations; if a field is invalid, focus the first and return None."""
        states, limits = self._states.submit(), self._limits.submit()
        outcome = self._outcome.submit()  # upwards: the first keeps the focus
        if states is None or limits is None or outcome is None:
            return None
        chosen, visits = states.model_dump(), dict[str, int]()
        for place, path in enumerate(self._paths):
            if (most := chosen[f'most_{place}']) is not None and chosen[f'visit_{place}'] == 'visited':
                visits[path] = most
        return Expectations(
            status=Status(outcome.status) if outcome.status else None,  # type: ignore[attr-defined]
            visited=self._chosen(chosen, 'visited'),
            not_visited=self._chosen(chosen, 'not_visited'),
            visits=visits,
            answer=self._answer(outcome),
            **limits.model_dump(),
        )

    def _chosen(self, chosen: dict[str, Any], choice: str) -> list[str]:
        return [path for place, path in enumerate(self._paths) if chosen[f'visit_{place}'] == choice]

    def _answer(self, outcome: Any) -> Any:
        """Return the expected answer: a text to contain, or exactly what the run answered."""
        if isinstance(outcome.answer, str):
            return outcome.answer or None
        return self._expect.answer if outcome.answer else None

    def _state_values(self) -> Iterator[tuple[str, Any]]:
        for place, path in enumerate(self._paths):
            visit = (
                'visited'
                if path in self._expect.visited
                else 'not_visited'
                if path in self._expect.not_visited
                else ''
            )
            yield f'visit_{place}', visit
            yield f'most_{place}', self._expect.visits.get(path)


def _outcome_model(expect: Expectations) -> type[BaseModel]:
    answer: Any = (bool, Field(False, title='The same answer', description=json.dumps(expect.answer)[:200]))
    if expect.answer is None or isinstance(expect.answer, str):
        answer = (str, Field('', title='Answer contains', json_schema_extra={'multiline': True}))
    status: Any = (
        Literal[tuple(STATUSES)],
        Field('', title='Ends as', json_schema_extra={'labels': {**STATUSES}}),
    )
    return create_model(
        'Outcome', __config__=ConfigDict(str_strip_whitespace=True), status=status, answer=answer
    )


def _states_model(paths: Sequence[str], shape: Shape) -> type[BaseModel]:
    """Return a model with two fields for each state: whether it is visited, and how often at most."""
    agents = tuple(f'{path}.' for path in closed_states(shape))
    shown: dict[str, Any] = {}
    for place, path in enumerate(paths):
        visit, group = f'visit_{place}', INNER if path.startswith(agents) else ''
        labels: dict[str, Any] = {'labels': {**VISITS}, 'group': group}
        most: dict[str, Any] = {'when': {visit: ['visited']}, 'group': group}
        shown[visit] = (
            Literal[tuple(VISITS)],
            Field('', title=path_text(path), json_schema_extra=labels),
        )
        shown[f'most_{place}'] = (
            int | None,
            Field(None, ge=1, title='At most', json_schema_extra=most),
        )
    return create_model('States', **shown)
