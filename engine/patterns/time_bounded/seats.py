"""Seats of the planner and the supervisor: a person may plan or judge in their place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field

from engine.charts.seats import Action, Seat, as_agent, seat_inputs
from engine.patterns.form_fields import LongText
from engine.patterns.time_bounded.memory.schemas import PlanDraft, PlannedStep
from engine.records.frozen import Form


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
    **seat_inputs(Literal['planner', 'supervisor']),
    'plan': PlanInput,
    'judge': VerdictInput,
}


def planner_seat(store: Action) -> Seat:
    """Return the planner's seat; `store` handles the agent's answer."""
    return Seat(name='planner', event='plan', waits='plan', answer=partial(as_agent, parse_plan, store))


def supervisor_seat(store: Action, output: type[BaseModel]) -> Seat:
    """Return the supervisor's seat at a gate; `store` handles the agent's answer, an `output`."""
    answer = partial(as_agent, partial(parse_verdict, output), store)
    return Seat(name='supervisor', event='judge', waits='verdict', answer=answer)


def parse_plan(data: Mapping[str, Any]) -> PlanDraft:
    """Parse a person's plan, whose steps are carried out in order."""
    plan = PlanInput.model_validate(dict(data))
    steps = tuple(
        PlannedStep(description=step, complexity='medium', depends_on=(number,) if number else ())
        for number, step in enumerate(plan.steps)
    )
    return PlanDraft(analysis=plan.analysis, steps=steps)


def parse_verdict(output: type[BaseModel], data: Mapping[str, Any]) -> BaseModel:
    """Parse a person's verdict; an approval confirms all conditions of its kind."""
    verdict = VerdictInput.model_validate(dict(data))
    fields = verdict.model_dump() | {'evidence': verdict.evidence or verdict.summary}
    conditions = ('actionable', 'reasonable', 'addresses_step', 'goal_met')
    fields |= dict.fromkeys(conditions, verdict.approved)
    return output.model_validate({name: fields[name] for name in output.model_fields if name in fields})
