"""The schema of streams: the messages of the socket, and the data of events."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from engine import Transition
from engine.records import Delta, JournalOutage, RunInfo
from ui.api.problems import Problem
from ui.api.wire import wire


class _Message(BaseModel):
    model_config = ConfigDict(extra='forbid')


class _OfRun(_Message):
    run: str = Field(description="The run's id.")


class StepMessage(_OfRun):
    """A step was journaled. Subscribe with its `seq` as `after` to continue after it."""

    type: Literal['step']
    seq: int
    data: wire(Transition)  # type: ignore[valid-type]


class TextMessage(_OfRun):
    """A piece of a streamed reply; the whole reply comes with a step."""

    type: Literal['text']
    data: wire(Delta)  # type: ignore[valid-type]


class ResetMessage(_OfRun):
    """The streamed text of an agent's attempt is void: the agent tries again."""

    type: Literal['reset']
    data: wire(Delta)  # type: ignore[valid-type]


class RunName(_Message):
    """Which run."""

    run: str


class BehindMessage(_OfRun):
    """You were too slow: all streamed text is void, and steps follow from the journal."""

    type: Literal['behind']
    data: RunName


class Rest(RunName):
    """A run that is paused with nothing in progress."""

    at: int = Field(description='Its last step.')


class RestMessage(_OfRun):
    """The run rests at the step that follows."""

    type: Literal['rest']
    data: Rest


class OutageMessage(_OfRun):
    """The run cannot be journaled at the moment, or can again."""

    type: Literal['outage']
    data: wire(JournalOutage)  # type: ignore[valid-type]


class EndMessage(_OfRun):
    """The run has ended; nothing follows."""

    type: Literal['end']
    data: wire(RunInfo)  # type: ignore[valid-type]


class RunMessage(_Message):
    """In the stream of the list: a run as it is now."""

    type: Literal['run']
    data: wire(RunInfo)  # type: ignore[valid-type]


class GoneMessage(_Message):
    """In the stream of the list: a run left the list."""

    type: Literal['gone']
    data: RunName


class DoneMessage(_Message):
    """A command was carried out."""

    type: Literal['done']
    id: int | str | None = Field(description="The command's id.")


class ProblemMessage(_Message):
    """A command was refused, or a stream broke off."""

    type: Literal['problem']
    id: int | str | None = Field(description="The command's id; null if it could not be read.")
    run: str | None = Field(None, description='The run whose stream broke off.')
    problem: Problem


MESSAGES: TypeAdapter[Any] = TypeAdapter(
    Annotated[
        StepMessage
        | TextMessage
        | ResetMessage
        | BehindMessage
        | RestMessage
        | OutageMessage
        | EndMessage
        | RunMessage
        | GoneMessage
        | DoneMessage
        | ProblemMessage,
        Field(discriminator='type'),
    ]
)
