"""TimeBounded: plan, code, test and verify in turn until the goal is reached or time is up."""

from __future__ import annotations

from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from engine.patterns.form_fields import PROJECTS, Form, task_field
from engine.patterns.time_bounded.actions.lifecycle import LifecycleActions
from engine.patterns.time_bounded.activities import Activities
from engine.patterns.time_bounded.agents import AgentRequests
from engine.patterns.time_bounded.chart import states, transitions
from engine.patterns.time_bounded.guards import Guards
from engine.patterns.time_bounded.seats import INPUTS as SEAT_INPUTS
from engine.patterns.time_bounded.state import RULES, OrchestrationState
from engine.statechart.pattern import Pattern
from engine.workspace.project import check_project

IN_DETAIL: Final[dict[str, Any]] = {'group': 'Time in detail'}
LIMITS: Final[dict[str, Any]] = {'group': 'Limits'}
GATES: Final[dict[str, Any]] = {'group': 'Gates'}
"""Groups of the launch form."""


class AddTime(BaseModel):
    """Add time, which extends every share. A run that has stopped continues where it was."""

    model_config = ConfigDict(extra='forbid')

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


class FinishNow(BaseModel):
    """Finish early: the running call may end, then the report is written. Sent again, it ends the run now."""

    model_config = ConfigDict(extra='forbid')


class SkipVerification(BaseModel):
    """Skip verifying the goal: once the steps are done, they alone decide whether it is reached."""

    model_config = ConfigDict(extra='forbid')


class Replan(Form):
    """Replan the steps that have not begun: the planner is asked after the step under way."""

    why: str = Field(
        '',
        max_length=4_000,
        title='What should change',
        description='For the planner; leave empty to let it decide',
        json_schema_extra={'multiline': True},
    )


class TimeBounded(LifecycleActions, AgentRequests, Activities, Guards, Pattern):
    """Supervisor, planner, coder and tester work on real code until a goal is reached or time is up."""

    class Parameters(Form):
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
        grace: float = Field(
            15,
            ge=0,
            le=600,
            title='Grace period',
            description='Seconds that running work may still take when time is up',
            json_schema_extra=IN_DETAIL,
        )
        wait_for_time: float = Field(
            86_400,
            ge=0,
            le=604_800,
            title='Wait for more time',
            description='Seconds to wait for more time when it is up; 0 ends the run immediately',
            json_schema_extra=IN_DETAIL,
        )
        test_command: str = Field(
            '',
            max_length=2_000,
            title='Test command',
            description='A shell command instead of pytest; {report} stands for the path of a JUnit report',
        )
        test_seconds: float = Field(
            120,
            ge=1,
            le=3_600,
            title='Test timeout',
            description='Seconds for one test run',
            json_schema_extra=IN_DETAIL,
        )
        agent_seconds: float = Field(
            300,
            ge=1,
            le=3_600,
            title='Answer timeout',
            description='Seconds an agent may take to answer',
            json_schema_extra=IN_DETAIL,
        )
        max_attempts: int = Field(
            3,
            ge=1,
            le=10,
            title='Attempts',
            description='How often a step is tried before it counts as blocked',
            json_schema_extra=LIMITS,
        )
        max_fix_cycles: int = Field(
            3,
            ge=0,
            le=10,
            title='Fix cycles',
            description='How often failing tests of a step are fixed',
            json_schema_extra=LIMITS,
        )
        max_revisions: int = Field(
            3,
            ge=0,
            le=10,
            title='Revisions',
            description='How often a plan that is not approved is sent back',
            json_schema_extra=LIMITS,
        )
        max_rounds: int = Field(
            5,
            ge=1,
            le=20,
            title='Rounds',
            description='How many plans may be carried out to reach the goal',
            json_schema_extra=LIMITS,
        )
        max_replans: int = Field(
            2,
            ge=0,
            le=10,
            title='Replans',
            description='How often the steps of a round that have not begun may be replanned',
            json_schema_extra=LIMITS,
        )
        max_failed_steps: int = Field(
            0,
            ge=0,
            le=15,
            title='Acceptable failures',
            description='How many steps of a plan may fail',
            json_schema_extra=LIMITS,
        )
        plan_threshold: int = Field(
            70,
            ge=0,
            le=100,
            title='Plan gate',
            description='Minimum score of a plan',
            json_schema_extra=GATES,
        )
        code_threshold: int = Field(
            60,
            ge=0,
            le=100,
            title='Code gate',
            description='Minimum score of code',
            json_schema_extra=GATES,
        )
        step_threshold: int = Field(
            70,
            ge=0,
            le=100,
            title='Step gate',
            description='Minimum score of a step',
            json_schema_extra=GATES,
        )
        goal_threshold: int = Field(
            80,
            ge=0,
            le=100,
            title='Goal gate',
            description='Minimum score at the end',
            json_schema_extra=GATES,
        )

        _is_known = field_validator('project')(check_project)

    Memory = OrchestrationState
    title = 'Time-bounded'
    family = 'Sequential'
    initial = 'working'
    answer = 'report'
    projects = ('project',)
    caveat = 'caveat'
    panels = {
        'plan': 'checklist',
        'messages': 'messages',
        'report': 'report',
        'time': 'clock',
        'supervision': {
            'verdicts': 'verifications',
            'interventions': 'escalations',
            'level': 'level',
            'issues': 'issues',
        },
    }
    inputs = {
        **SEAT_INPUTS,
        'add_time': AddTime,
        'finish_now': FinishNow,
        'replan': Replan,
        'skip_verification': SkipVerification,
    }
    states = states()
    transitions = transitions()

    def remember(self) -> OrchestrationState:
        """Initial memory, under the current rules."""
        memory = super().remember()
        assert isinstance(memory, OrchestrationState)
        memory.rules, memory.clock.flows = RULES, True
        return memory
