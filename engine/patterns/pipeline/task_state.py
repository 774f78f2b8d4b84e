"""TaskState: the state that flows through a pipeline's stages, with every agent's actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from operator import not_
from typing import Any, Self

from pydantic import Field
from pydantic_core import to_jsonable_python

from engine.errors import InvalidInput
from engine.records.frozen import FrozenModel
from engine.statechart.memory import Memory
from engine.statechart.pattern import restore_memory


class TaskStatus(StrEnum):
    """The states of a task: the pipeline's chart has one for each. Custom stages add others."""

    PENDING = 'PENDING'
    RESEARCHING = 'RESEARCHING'
    ANALYZING = 'ANALYZING'
    REVIEWING = 'REVIEWING'
    COMPLETE = 'COMPLETE'
    FAILED = 'FAILED'


class AgentMessage(FrozenModel):
    """One action of one agent, as stored in the history."""

    sender: str
    recipient: str
    kind: str
    """The kind of action: `findings`, `draft`, `verdict`, `model_call`, `tool_call`, `retry`, `error` ..."""
    content: str
    iteration: int = 0
    time: float = Field(0.0, exclude_if=not_)
    """Unix timestamp in seconds; 0 in a run's memory, which must not depend on time (see `audit_trail`)."""
    seq: int = Field(0, exclude_if=not_)
    """The step of the run; 0 in a run's memory."""


class Review(FrozenModel):
    """The verdict on a draft."""

    approved: bool = Field(description='Whether the draft can be delivered as it is')
    score: int = Field(ge=0, le=100, description='The quality of the draft, from 0 to 100')
    comments: tuple[str, ...] = Field(default=(), description='Required changes, one per item')
    summary: str = Field(description='The verdict in one sentence')


class Draft(FrozenModel):
    """One version of the analysis, and the comments it addresses."""

    version: int
    text: str
    answers: tuple[str, ...] = ()
    """The comments on the previous version that this one addresses."""


class TaskState(Memory):
    """The shared state of a pipeline. Only the orchestrator's actions write the one in a run."""

    task: str = ''
    status: TaskStatus | str = Field(TaskStatus.PENDING, union_mode='left_to_right')
    """A custom stage sets its state's name, in capitals."""
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
    caveat: str = ''
    """How a delivered result falls short; for a failed task, who failed and why."""

    @property
    def review(self) -> Review | None:
        """The latest verdict."""
        return self.reviews[-1] if self.reviews else None

    def __getitem__(self, name: str) -> Any:
        """A field by name, as graph nodes read it. Raises `KeyError`."""
        if name not in type(self).model_fields:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in type(self).model_fields

    def keys(self) -> Iterable[str]:
        """The names of the fields, so that `{**state}` works as it does for a graph node."""
        return type(self).model_fields.keys()

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field by its name; `default` if there is none."""
        return getattr(self, name) if name in self else default

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
    def from_dict(cls, data: Any) -> Self:
        """Restore a state from `to_dict`. Raises `InvalidInput`, which names the field."""
        status = data.get('status', TaskStatus.PENDING) if isinstance(data, Mapping) else TaskStatus.PENDING
        if not isinstance(status, str) or not status or _is_misspelt(status):
            known = ', '.join(TaskStatus)
            raise InvalidInput(
                {'status': f'{status!r} is no status: it is one of {known}, or that of a custom stage'}
            )
        return restore_memory(cls, data)


def _is_misspelt(status: str) -> bool:
    """Whether it differs from a built-in status only by case or spaces; others may be custom stages'."""
    return status not in set(TaskStatus) and status.strip().upper() in set(TaskStatus)
