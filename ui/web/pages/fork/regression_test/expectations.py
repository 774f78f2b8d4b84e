"""ExpectationsForm: what a test expects of a run, as fields: its scorers and its case's expectation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from engine.operations.experiments import ExperimentFile, scorers_of
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
    """How the run ends, its answer, limits, and a row for each state of the chart."""

    def __init__(self, test: ExperimentFile, shape: Shape) -> None:
        """Draw it with what the test of one run expects."""
        self._test = test
        self._paths = [state.path for state in shape.states]
        settings = {spec.kind: spec.settings for spec in test.experiment.scorers}
        self._way: Mapping[str, Any] = settings.get('path', {})
        self._answer = answer = test.cases[0].expectation
        self._outcome = Form(_outcome_model(answer), on_change=lambda: None)
        self._outcome.set_values(
            {
                'status': next(iter(settings.get('status', {}).get('status', ())), ''),
                'answer': answer if isinstance(answer, str) else answer is not None,
            }
        )
        with Box('limits'):
            self._limits = Form(Limits, on_change=lambda: None)
            self._limits.set_values({name: self._way.get(name) for name in Limits.model_fields})
        with Box('expected-states', 'section', aria_labelledby='states'):
            Text('h2', 'States', id='states')
            self._states = Form(_states_model(self._paths, shape), on_change=lambda: None)
            self._states.set_values(dict(self._state_values()))

    def submit(self) -> ExperimentFile | None:
        """Return the test; if a field is invalid, focus the first and return None."""
        states, limits = self._states.submit(), self._limits.submit()
        outcome = self._outcome.submit()  # upwards: the first keeps the focus
        if states is None or limits is None or outcome is None:
            return None
        chosen, visits = states.model_dump(), dict[str, int]()
        for place, path in enumerate(self._paths):
            if (most := chosen[f'most_{place}']) is not None and chosen[f'visit_{place}'] == 'visited':
                visits[path] = most
        given = outcome.model_dump()
        answer = self._read_answer(given['answer'])
        conditions = {
            'visited': self._chosen(chosen, 'visited'),
            'not_visited': self._chosen(chosen, 'not_visited'),
            'visits': visits,
            **limits.model_dump(),
        }
        scorers = scorers_of(Status(given['status']) if given['status'] else None, conditions, answer)
        return replace(
            self._test,
            experiment=replace(self._test.experiment, scorers=scorers),
            cases=(replace(self._test.cases[0], expectation=answer),),
        )

    def _chosen(self, chosen: dict[str, Any], choice: str) -> list[str]:
        return [path for place, path in enumerate(self._paths) if chosen[f'visit_{place}'] == choice]

    def _read_answer(self, given: str | bool) -> Any:
        """Return the expected answer: a text to contain, or exactly what the run answered."""
        if isinstance(given, str):
            return given or None
        return self._answer if given else None

    def _state_values(self) -> Iterator[tuple[str, Any]]:
        for place, path in enumerate(self._paths):
            visit = (
                'visited'
                if path in self._way.get('visited', ())
                else 'not_visited'
                if path in self._way.get('not_visited', ())
                else ''
            )
            yield f'visit_{place}', visit
            yield f'most_{place}', self._way.get('visits', {}).get(path)


def _outcome_model(expected: Any) -> type[BaseModel]:
    answer: Any = (bool, Field(False, title='The same answer', description=json.dumps(expected)[:200]))
    if expected is None or isinstance(expected, str):
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
