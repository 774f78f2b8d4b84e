"""Seats of the planner and the supervisor: a person may plan or judge in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field

from engine.patterns import seats
from engine.patterns.form_fields import Form, Input, LongText
from engine.patterns.time_bounded.memory.schemas import PlanDraft, PlannedStep
from engine.patterns.time_bounded.memory.state import memory_of
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import edge


class SeatInput(Input):
    """The seat that a person takes or hands back."""

    seat: Literal['planner', 'supervisor'] = Field(title='Seat', description='Whose seat you take')


class PlanInput(Form):
    """A person's plan, from the planner's seat."""

    analysis: LongText = Field('', max_length=10_000, title='Analysis', description='What is asked for')
    steps: tuple[str, ...] = Field(
        min_length=1, max_length=15, title='Steps', description='Each builds on the previous one'
    )


class VerdictInput(Form):
    """A person's verdict, from the supervisor's seat."""

    score: int = Field(ge=0, le=100, title='Score', description='How good the work is')
    approved: bool = Field(False, title='Approve', description='Whether the work may continue')
    summary: LongText = Field(min_length=1, max_length=10_000, title='Verdict', description='In a sentence')
    issues: tuple[str, ...] = Field((), title='Demands', description='What must change')
    evidence: str = Field(
        '',
        max_length=10_000,
        title='Evidence',
        description='What shows that a step or the goal is complete; leave empty to use the verdict',
    )
    replan: str = Field(
        '',
        max_length=4_000,
        title='Replan',
        description='Why the remaining steps must be replanned; leave empty if they need not be',
    )


INPUTS: dict[str, type[BaseModel]] = {
    'take_seat': SeatInput, 'hand_back': SeatInput, 'plan': PlanInput, 'judge': VerdictInput,
}  # fmt: skip


def with_seat(
    state: dict[str, Any], seat: str, store: seats.Action, output: type[BaseModel]
) -> dict[str, Any]:
    """Add a seat for a person to an agent's state.

    Args:
        state: the state, as `agent` returns it.
        seat: `planner` or `supervisor`.
        store: the action that handles the agent's answer.
        output: the answer's record type.
    """
    trigger, waits = ('plan', 'plan') if seat == 'planner' else ('judge', 'verdict')
    return seats.build_seat(
        state,
        seat,
        trigger=trigger,
        waits=waits,
        answer=partial(store_answer, store, output),
        take_seat=take_seat,
        hand_back=hand_back,
    )


def seat_edges(source: str) -> list[dict[str, Any]]:
    """Return transitions that take or hand back a seat when it is not that agent's turn."""
    return [
        edge('take_seat', source, None, seats.is_free, after=take_seat),
        edge('hand_back', source, None, seats.is_held, after=hand_back),
    ]


def take_seat(scope: CallbackContext, event: Event) -> None:
    """Give the seat to a person, to whom an agent's answer timeout does not apply."""
    memory, seat = memory_of(scope), str(event.data['seat'])
    seats.take_seat(memory, seat)
    if memory.current_agent == seat:
        memory.clock.call_ends = memory.clock.ends
    memory.log('person', f"A person took the {seat}'s seat.", event)


def hand_back(scope: CallbackContext, event: Event) -> None:
    """Hand the seat back to the agent."""
    memory, seat = memory_of(scope), str(event.data['seat'])
    seats.hand_back(memory, seat)
    memory.log('person', f'A person handed the seat back to the {seat}.', event)


def store_answer(store: seats.Action, output: type[BaseModel], scope: CallbackContext, event: Event) -> None:
    """Handle a person's answer as if it were the agent's."""
    answer = parse_plan(event.data) if output is PlanDraft else parse_verdict(event.data, output)
    seats.record_answer(scope, answer.model_dump_json())
    store(scope, replace(event, data={**event.data, 'output': answer.model_dump(mode='json')}))


def parse_plan(data: Mapping[str, Any]) -> PlanDraft:
    """Parse a person's plan, whose steps are carried out in order."""
    plan = PlanInput.model_validate(dict(data))
    steps = tuple(
        PlannedStep(description=step, complexity='medium', depends_on=(number,) if number else ())
        for number, step in enumerate(plan.steps)
    )
    return PlanDraft(analysis=plan.analysis, steps=steps)


def parse_verdict(data: Mapping[str, Any], output: type[BaseModel]) -> BaseModel:
    """Parse a person's verdict; an approval confirms all conditions of its kind."""
    verdict = VerdictInput.model_validate(dict(data))
    fields = verdict.model_dump() | {'evidence': verdict.evidence or verdict.summary}
    conditions = ('actionable', 'reasonable', 'addresses_step', 'goal_met')
    fields |= dict.fromkeys(conditions, verdict.approved)
    return output.model_validate({name: fields[name] for name in output.model_fields if name in fields})
