"""The planner's seat of the supervisor pattern: a person may divide the objective."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from engine.charts.seats import Seat, as_agent, seat_inputs
from engine.patterns.form_fields import LongText
from engine.patterns.supervisor.collaboration import DelegatedTask, SupervisorPlan
from engine.patterns.supervisor.roles import SUPERVISOR, parse_role
from engine.records import Event
from engine.records.frozen import Form
from engine.statechart.decision_cache import CallbackContext


class PlanInput(Form):
    """A person's plan, from the supervisor's seat."""

    approach: LongText = Field(
        '', max_length=10_000, title='Approach', description='Why the work is divided this way'
    )
    tasks: tuple[str, ...] = Field(
        min_length=1,
        max_length=20,
        title='Tasks',
        description='One per line: role: what to do',
        examples=[['researcher: Find out what a cargo bike costs.']],
    )
    in_order: bool = Field(
        True, title='In order', description='Each task builds on the result of the previous one'
    )

    @field_validator('tasks')
    @classmethod
    def _name_roles(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        for line in lines:
            parse_role(line)
        return lines


INPUTS: dict[str, type[BaseModel]] = {**seat_inputs(Literal['supervisor']), 'plan': PlanInput}


def parse_plan(data: Mapping[str, Any]) -> SupervisorPlan:
    """Parse a person's plan and number its tasks. Raises `ValueError`."""
    plan = PlanInput.model_validate(dict(data))
    tasks = []
    for number, line in enumerate(plan.tasks, start=1):
        role = parse_role(line)
        tasks.append(
            DelegatedTask(
                task_id=str(number),
                assigned_to=role.name,
                description=role.instructions,
                depends_on=(str(number - 1),) if plan.in_order and number > 1 else (),
            )
        )
    return SupervisorPlan(approach=plan.approach, tasks=tuple(tasks))


def _delegate(scope: CallbackContext, event: Event) -> None:
    scope.pattern.delegate(scope.state.memory, event)  # type: ignore[attr-defined]


PLANNER_SEAT = Seat(
    name=SUPERVISOR.name,
    event='plan',
    waits='plan',
    answer=partial(as_agent, parse_plan, _delegate),
    conditions='names_known_roles',
)
