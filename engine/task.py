"""TaskState: what flows through the stages of a pipeline, and what every agent did to it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from pydantic import Field, ValidationError
from pydantic_core import to_jsonable_python

from engine.errors import InvalidInput
from engine.frozen import Record
from engine.memory import Memory
from engine.pattern import problems


class TaskStatus(StrEnum):
    """The legal states of a task; the pipeline's chart has one state for each."""

    PENDING = 'PENDING'
    RESEARCHING = 'RESEARCHING'
    ANALYZING = 'ANALYZING'
    REVIEWING = 'REVIEWING'
    COMPLETE = 'COMPLETE'
    FAILED = 'FAILED'


class AgentMessage(Record):
    """One action of one agent, as the history keeps it."""

    sender: str
    recipient: str
    kind: str
    """What it is: `findings`, `draft`, `verdict`, `error` ..."""
    content: str
    iteration: int = 0


class Review(Record):
    """What the reviewer says of a draft."""

    approved: bool = Field(description='Whether the draft can be delivered as it is')
    score: int = Field(ge=0, le=100, description='How good the draft is, from 0 to 100')
    comments: tuple[str, ...] = Field(default=(), description='What must change, one demand each')
    summary: str = Field(description='The verdict in one sentence')


class Draft(Record):
    """One version of the analysis, and what the reviewer said of it."""

    version: int
    text: str
    answers: tuple[str, ...] = ()
    """The comments of the version before that this one answers."""


class TaskState(Memory):
    """The shared state of a pipeline. Only the orchestrator's actions write the one in a run."""

    task: str = ''
    status: TaskStatus = TaskStatus.PENDING
    research: str = ''
    sources: tuple[str, ...] = ()
    analysis: str = ''
    drafts: list[Draft] = Field(default_factory=list)
    reviews: list[Review] = Field(default_factory=list)
    iteration: int = 0
    """Revisions so far."""
    max_iterations: int = 3
    approved: bool = False
    messages: list[AgentMessage] = Field(default_factory=list)
    error: str = ''

    @property
    def review(self) -> Review | None:
        """The latest verdict."""
        return self.reviews[-1] if self.reviews else None

    def note(self, sender: str, recipient: str, kind: str, content: str) -> None:
        """Add an action to the history."""
        self.messages.append(
            AgentMessage(
                sender=sender, recipient=recipient, kind=kind, content=content, iteration=self.iteration
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """The complete state as JSON values."""
        return dict(to_jsonable_python(self))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The state that `to_dict` gave. Raises `InvalidInput`, which names the field."""
        try:
            return cls.model_validate(dict(data))
        except ValidationError as error:
            raise InvalidInput(problems(error)) from None
