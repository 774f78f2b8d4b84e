"""Scenarios: the scripted model's replies by role, visit and turn."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from engine.models.prepared_replies import Turn, Visit, turn_at, turns_at
from engine.records.frozen import FrozenModel


class Expect(FrozenModel):
    """How a run of the scenario ends; the tests play every scenario to its end."""

    status: Literal['done', 'failed']
    error: str = ''
    """Part of the run's error."""
    memory: dict[str, Any] = Field(default_factory=dict)
    """Memory fields and their expected values."""
    counts: dict[str, int] = Field(default_factory=dict)
    """List fields of memory and their expected lengths."""


class Scenario(FrozenModel):
    """One file of assets/scenarios."""

    name: str = Field(pattern=r'^[a-z0-9-]+$')
    title: str = Field(min_length=1)
    about: str = Field(min_length=1)
    pattern: str = Field(min_length=1)
    task: str = Field(min_length=1)
    field: str = 'task'
    """The pattern parameter that takes the task."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The sample run's other parameters."""
    models: dict[str, str] = Field(default_factory=dict)
    """The models of the sample's roles, in place of the scripted model; '' stands for all roles."""
    order: int = 10
    """Its position among its pattern's samples; new users run the first."""
    match: tuple[str, ...] = Field(min_length=1)
    """Words that must all occur in the task, ignoring case."""
    roles: dict[str, Annotated[tuple[Visit, ...], Field(min_length=1)]]
    """Per role, or per state path if agents share a role: visits, each a list of turns."""
    expect: Expect

    @model_validator(mode='after')
    def _fits_its_task(self) -> Self:
        if not self.fits(self.pattern, self.task):
            raise ValueError('match: not all of its words occur in the task')
        for role, visits in self.roles.items():
            for number, visit in enumerate(visits, start=1):
                if visit[-1].may_call:
                    # It is repeated if the engine asks again: with calls, that would loop forever.
                    raise ValueError(f'roles.{role}: the last turn of visit {number} must not call tools')
        return self

    def fits(self, pattern: str, task: str) -> bool:
        """Return whether this scenario covers the task."""
        if pattern != self.pattern:
            return False
        text = task.casefold()
        return all(word.casefold() in text for word in self.match)

    def turn(self, state: str, role: str, visit: int, turn: int) -> Turn | None:
        """Return the turn to play; past the end, the last visit and a visit's last turn repeat."""
        visits = self.roles.get(state) or self.roles.get(role)
        return None if visits is None else turn_at(turns_at(visits, visit), turn)
