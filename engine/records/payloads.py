"""Payloads: what the engine itself puts into an event's data, and how it is read back.

The data of patterns' own activities and of imported runs is anything: they may use these names otherwise. So
`reply_of` and the like look before they trust, and `cast` is for the engine's control events only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, cast

from engine.records.events import Event
from engine.records.usage import Origin

StepMode = Literal['in', 'over', 'out']


class UsageData(TypedDict, total=False):
    """Usage as journaled; zero and default values are left out."""

    input: int
    output: int
    calls: int
    cached: int
    written: int
    reasoning: int
    dollars: float
    unpriced: int
    source: str
    settles: bool
    """Whether it supersedes the estimates before it."""


class UsedData(TypedDict, total=False):
    """What models were used for something, and what it cost."""

    usage: UsageData
    spent: Mapping[str, UsageData]
    """The usage by model, if there are several or none is named."""
    source: Origin


class FailedCall(TypedDict):
    """A model that was tried in vain."""

    model: str
    error: str
    kind: str


class ReplyData(UsedData, total=False):
    """`done` of an agent's `thinking`: the reply of a model or an external agent."""

    message: Mapping[str, Any]
    """See `message_of`."""
    text: str
    model: str
    failed: Sequence[FailedCall]
    """The models tried first."""
    output: Any
    """The record in an agent's answer, or why it is `unfit`, and the request to repeat it, if it has one."""
    unfit: str
    again: str
    finish: str
    """`length` if the reply was cut off."""
    approval: Sequence[str]
    """The tools it calls that need a person's approval."""
    role: str
    """The agent's role, if it has several."""
    seconds: float
    external: bool
    """Whether it is part of an external agent's turn, in which it may run tools by itself."""
    session: Mapping[str, Any]
    plan: Sequence[Mapping[str, Any]]
    artifacts: Mapping[str, Any]
    snapshots: Mapping[str, str]
    """The snapshot of each folder that may have changed."""


class ResultData(TypedDict):
    """The result of one tool call."""

    id: str
    name: str
    text: str
    ok: bool


class BatchData(UsedData, total=False):
    """`done` of an agent's `using_tools`, or `asked` if a tool's server has a question for a person."""

    results: Sequence[ResultData]
    """In the order of the calls."""
    finished: Sequence[ResultData]
    """The results so far, if there is a `question`."""
    question: Mapping[str, Any]
    store: Mapping[str, Any]
    """The agent's notes afterwards."""
    images: Sequence[Mapping[str, Any]]
    artifacts: Mapping[str, Any]
    seconds: float
    snapshots: Mapping[str, str]


class FailureData(UsedData, total=False):
    """`failed`, `expired` and `retry`: why work ended without a result."""

    error: str
    kind: str
    status: int
    code: str
    request_id: str
    delay: float
    """Seconds until the next attempt (`retry`)."""


class StartData(TypedDict, total=False):
    """`start`."""

    memory: Mapping[str, Any]
    budget: Mapping[str, Any]
    paused: bool
    breakpoints: Sequence[Mapping[str, Any]]
    unpriced: Sequence[str]
    """Models without a known price, if there is a budget for the cost."""
    snapshots: Mapping[str, str]
    """The snapshot of the files that agents start with, by folder."""


class RecoverData(TypedDict, total=False):
    """`recover`: a process continues the run, a fork begins, or its replay has ended."""

    paused: bool
    unpriced: Sequence[str]
    budget: Mapping[str, Any]
    forked: str
    """The parent and its step, as `RUN@STEP`."""
    playing: bool
    """Whether the parent's later steps are replayed strictly."""
    retried: bool
    varied: Mapping[str, Any]
    changes: Sequence[Mapping[str, Any]]
    left: str
    """Why the replay has ended."""


class PauseData(TypedDict, total=False):
    """`pause`; empty if a person sent it without a reason."""

    reason: str
    breakpoints: Sequence[str]
    """The numbers of those hit."""


class StepData(TypedDict, total=False):
    """`step`."""

    how: StepMode
    until: str
    """For `out`: the state whose end completes it."""


class BreakpointsData(TypedDict, total=False):
    """`breakpoints`: the full list that a person set, or why conditions could not be evaluated."""

    breakpoints: Sequence[Mapping[str, Any]]
    problems: Mapping[str, str]
    """By the number of the breakpoint."""


class BudgetData(TypedDict, total=False):
    """`warn` (a limit is near, or a price is unknown) and `exhaust` (a limit is reached)."""

    budget: str
    used: float
    limit: float
    reason: str
    notice: str
    """What the agents are told."""


class ExhaustedData(TypedDict):
    """`exhausted`, and the `abort` that follows."""

    budget: str
    error: str


P = TypeVar('P')


def payload(kind: type[P], event: Event) -> P:
    """Return the data of one of the engine's own events, as what the engine has put into it."""
    return cast(P, event.data)


def reply_of(event: Event) -> ReplyData | None:
    """Return the data of an agent's reply; None for any other event."""
    if event.name == 'done' and isinstance(event.data.get('message'), Mapping):
        return cast(ReplyData, event.data)
    return None


def calls_of(event: Event) -> list[Mapping[str, Any]]:
    """Return the tool calls of a reply, each with `id`, `name` and `arguments`; none for any other event."""
    reply = reply_of(event)
    parts = reply['message'].get('parts') if reply else None
    return [part for part in parts or () if isinstance(part, Mapping) and part.get('kind') == 'call']


def results_of(event: Event) -> list[ResultData]:
    """Return the results of a batch of tool calls; none for any other event."""
    results = event.data.get('results') if event.name == 'done' else None
    if not isinstance(results, list | tuple):
        return []
    return [cast(ResultData, item) for item in results if isinstance(item, Mapping) and _is_result(item)]


def _is_result(item: Mapping[str, Any]) -> bool:
    texts = (item.get('id'), item.get('name'), item.get('text'))
    return all(isinstance(text, str) for text in texts) and isinstance(item.get('ok'), bool)


def snapshots_of(event: Event) -> Mapping[str, str]:
    """Return the snapshots of folders that work has left, or that a run starts with, by folder."""
    snapshots = event.data.get('snapshots') if event.name in ('start', 'done', 'asked') else None
    return snapshots if isinstance(snapshots, Mapping) else {}


def is_given(event: Event) -> bool:
    """Whether the snapshots of an event are of folders that no agent has worked in before it."""
    return not {'results', 'finished', 'message', 'evidence'} & event.data.keys()
