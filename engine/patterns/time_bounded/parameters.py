"""Launch form parameters of the time-bounded loop, and the inputs that people send to a run."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from engine.patterns.form_fields import PROJECTS, LongText, task_field
from engine.patterns.time_bounded.seats import INPUTS as SEAT_INPUTS
from engine.records.frozen import Form, Input
from engine.statechart.decision_cache import CallbackContext
from engine.workspace.project import check_project

Detail = Annotated[float, Field(json_schema_extra={'group': 'Time in detail'})]
Limit = Annotated[int, Field(json_schema_extra={'group': 'Limits'})]
Threshold = Annotated[int, Field(ge=0, le=100, json_schema_extra={'group': 'Gates'})]
"""Fields of the launch form, by group."""


class TimeBoundedParameters(Form):
    """Launch form parameters."""

    primary_goal: str = task_field(
        'Goal',
        'What to build or fix, in a sentence or a page',
        'Teach the price parser to read amounts in other currencies, with tests',
    )
    project: str = Field(
        '',
        max_length=1_000,
        title='Project',
        description='A folder on this machine, or sample:NAME; leave empty for a new project',
        json_schema_extra=PROJECTS,
    )
    minutes: float = Field(
        30, ge=0.1, le=1_440, title='Time', description='Minutes in total, not counting pauses'
    )
    grace: Detail = Field(
        15,
        ge=0,
        le=600,
        title='Grace period',
        description='Seconds that running work may still take when time is up',
    )
    wait_for_time: Detail = Field(
        86_400,
        ge=0,
        le=604_800,
        title='Wait for more time',
        description='Seconds to wait for more time when it is up; 0 ends the run immediately',
    )
    test_command: str = Field(
        '',
        max_length=2_000,
        title='Test command',
        description='Detected from the project if empty. Exit status 0 means that they pass; {report} is the '
        'path of a JUnit report',
    )
    test_seconds: Detail = Field(
        120, ge=1, le=3_600, title='Test timeout', description='Seconds for one test run'
    )
    agent_seconds: Detail = Field(
        300, ge=1, le=3_600, title='Answer timeout', description='Seconds an agent may take to answer'
    )
    max_attempts: Limit = Field(
        3,
        ge=1,
        le=10,
        title='Attempts',
        description='How often a step is tried before it counts as blocked',
    )
    max_fix_cycles: Limit = Field(
        3, ge=0, le=10, title='Fix cycles', description='How often failing tests of a step are fixed'
    )
    max_revisions: Limit = Field(
        3,
        ge=0,
        le=10,
        title='Revisions',
        description='How often a plan that is not approved is sent back',
    )
    max_rounds: Limit = Field(
        5, ge=1, le=20, title='Rounds', description='How many plans may be carried out to reach the goal'
    )
    max_replans: Limit = Field(
        2,
        ge=0,
        le=10,
        title='Replans',
        description='How often the steps of a round that have not begun may be replanned',
    )
    max_failed_steps: Limit = Field(
        0, ge=0, le=15, title='Acceptable failures', description='How many steps of a plan may fail'
    )
    plan_threshold: Threshold = Field(70, title='Plan gate', description='Minimum score of a plan')
    code_threshold: Threshold = Field(60, title='Code gate', description='Minimum score of code')
    step_threshold: Threshold = Field(70, title='Step gate', description='Minimum score of a step')
    goal_threshold: Threshold = Field(80, title='Goal gate', description='Minimum score at the end')

    _is_known = field_validator('project')(check_project)


class AddTime(Input):
    """Add time, which extends every share. A run that has stopped continues where it was."""

    minutes: float = Field(
        5, ge=0, le=1_440, allow_inf_nan=False, title='Minutes', description='How much longer it may work'
    )
    seconds: float = Field(0, ge=0, le=86_400, allow_inf_nan=False, title='Seconds')

    @model_validator(mode='after')
    def _combine_minutes_and_seconds(self) -> Self:
        if self.seconds and 'minutes' not in self.model_fields_set:
            self.minutes = 0.0
        self.minutes, self.seconds = 0.0, self.seconds + 60 * self.minutes
        if self.seconds <= 0:
            raise ValueError('Say how much time to add')
        return self


class FinishNow(Input):
    """Finish early: the running call may end, then the report is written. Sent again, it ends the run now."""


class SkipVerification(Input):
    """Skip verifying the goal: once the steps are done, they alone decide whether it is reached."""


class Replan(Form):
    """Replan the steps that have not begun: the planner is asked after the step under way."""

    why: LongText = Field(
        '',
        max_length=4_000,
        title='What should change',
        description='For the planner; leave empty to let it decide',
    )


INPUTS: dict[str, type[BaseModel]] = {
    **SEAT_INPUTS,
    'add_time': AddTime,
    'finish_now': FinishNow,
    'replan': Replan,
    'skip_verification': SkipVerification,
}
"""Event inputs, by trigger."""


def parameters_of(scope: CallbackContext) -> TimeBoundedParameters:
    """Return the run's parameters."""
    parameters = scope.pattern.parameters
    assert isinstance(parameters, TimeBoundedParameters)
    return parameters
