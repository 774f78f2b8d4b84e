"""The planner's seat of the supervisor pattern: a person may divide the objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from engine.patterns import seats
from engine.patterns.form_fields import Form, Input, LongText
from engine.patterns.supervisor.collaboration import CollaborationState, DelegatedTask, SupervisorPlan
from engine.patterns.supervisor.roles import SUPERVISOR, parse_role
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext


class SeatInput(Input):
    """The seat that a person takes or hands back."""

    seat: Literal['supervisor'] = Field(title='Seat', description='Whose seat you take')


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


INPUTS: dict[str, type[BaseModel]] = {'take_seat': SeatInput, 'hand_back': SeatInput, 'plan': PlanInput}


def with_planner_seat(state: dict[str, Any]) -> dict[str, Any]:
    """Add a seat for a person to the planning agent's state."""
    return seats.build_seat(
        state,
        SUPERVISOR.name,
        trigger='plan',
        waits='plan',
        answer=store_human_plan,
        take_seat=take_seat,
        hand_back=hand_back,
        conditions='names_known_roles',
    )


def take_seat(scope: CallbackContext, event: Event) -> None:
    """Give the seat to a person."""
    memory = _memory(scope)
    seats.take_seat(memory, SUPERVISOR.name)
    memory.note('person', 'team', 'seat', "A person took the supervisor's seat.")


def hand_back(scope: CallbackContext, event: Event) -> None:
    """Hand the seat back to the agent."""
    memory = _memory(scope)
    seats.hand_back(memory, SUPERVISOR.name)
    memory.note('person', 'team', 'seat', 'A person handed the seat back to the supervisor.')


def store_human_plan(scope: CallbackContext, event: Event) -> None:
    """Handle a person's plan as if it were the agent's."""
    plan = parse_plan(event.data)
    seats.record_answer(scope, plan.model_dump_json())
    data = {**event.data, 'output': plan.model_dump(mode='json')}
    scope.pattern.delegate(_memory(scope), replace(event, data=data))  # type: ignore[attr-defined]


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


def _memory(scope: CallbackContext) -> CollaborationState:
    memory = scope.state.memory
    assert isinstance(memory, CollaborationState)
    return memory
