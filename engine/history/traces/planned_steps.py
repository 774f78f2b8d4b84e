"""The steps of a run converted from a trace: model calls, tool batches, and agents' starts and ends."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import Any, Literal

from engine.history.traces.agent_states import (
    DONE,
    FAILED,
    IDLE,
    THINKING,
    USING_TOOLS,
    AgentState,
    VisitGroup,
)
from engine.history.traces.conversation import Conversation
from engine.history.traces.kinds import model_name, usage_of
from engine.history.traces.messages import read_messages
from engine.history.traces.otlp import Span
from engine.history.traces.tree import Trace, Visit
from engine.journal.usage_records import usage_to_dict
from engine.records import Change, StatePath
from engine.records.message import ToolResult
from engine.records.usage import SOURCES
from engine.statechart.shape_builder import START

NOWHERE = StatePath('')


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A step of the converted run: an event and the edge taken for it; no edge if `dest` is `NOWHERE`."""

    time: float
    name: str
    at: StatePath
    dest: StatePath = NOWHERE
    data: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[Change] = ()
    attempt: int = 1


@dataclass(slots=True)
class _Point:
    """An act of an agent, and the time it takes effect."""

    time: float
    kind: Literal['reply', 'results', 'inline results', 'call']
    chat: Span | None = None
    """The model call; for results without a span, the call whose request contains them."""
    batch: list[Span] = field(default_factory=list)
    """The tools that the agent used in this act; for a reply, those that ran after it."""
    group: VisitGroup | None = None
    before: str = ''
    """The agent's inner state until then."""
    next_chat: Span | None = None
    """The model call of this act, or else the next one."""


class StepPlanner:
    """Plans the steps of a run converted from one trace."""

    def __init__(self, top: AgentState) -> None:
        self._top = top
        self._conversations: dict[str, Conversation] = {}
        self._points_by_visit: dict[int, list[_Point]] = {}
        self.answer = ''
        """The last text of the last top-level agent."""

    def plan(self, trace: Trace) -> Iterator[PlannedStep]:
        """Yield all steps of the run, without the start event's data."""
        at, name = START, 'start'
        for group in self._top.groups(self._top.visits[0]):
            at, name = yield from self._plan_group(at, name, group)
            self.answer = self._conversation(group.visits[-1][0]).last_text or self.answer
        error = max(trace.roots, key=lambda root: root.end).error
        dest = self._top.leaf(FAILED if error else DONE)
        yield PlannedStep(
            time=trace.end, name='failed' if error else name, at=at, dest=dest,
            data={'error': error} if error else {},
        )  # fmt: skip

    def _plan_group(
        self, at: StatePath, name: str, group: VisitGroup
    ) -> Generator[PlannedStep, None, tuple[StatePath, str]]:
        """Yield the steps of visits called from `at`; return the state that has then ended, and its event."""
        if group.parallel is None:
            agent, visit = group.visits[0]
            yield self._plan_entry(at, name, agent, visit)
            failed = yield from self._plan_visit(agent, visit)
            return agent.path, 'failed' if failed else 'done'
        yield PlannedStep(time=group.start, name=name, at=at, dest=group.parallel.path)
        regions: dict[int, list[tuple[AgentState, Visit]]] = {}
        for agent, visit in group.visits:
            regions.setdefault(id(agent), []).append((agent, visit))
        yield from merge(*map(self._plan_region, regions.values()), key=lambda move: move.time)
        return group.parallel.path, 'done'

    def _plan_region(self, visits: Sequence[tuple[AgentState, Visit]]) -> Iterator[PlannedStep]:
        at, name = visits[0][0].leaf(IDLE), 'always'
        for agent, visit in visits:
            yield self._plan_entry(at, name, agent, visit)
            yield from self._plan_visit(agent, visit)
            at, name = agent.path, 'done'

    def _plan_entry(self, at: StatePath, name: str, agent: AgentState, visit: Visit) -> PlannedStep:
        points = self._points(agent, visit)
        first = points[0].before if points else THINKING
        leaf = agent.leaf(first)
        changes = self._conversation(agent).record_entry(visit)
        if first == THINKING:
            changes += self._record_request(agent, points[:1], visit.span)
        dest = agent.path if next(iter(agent.leaves)) == first else leaf
        return PlannedStep(time=visit.start, name=name, at=at, dest=dest, changes=changes)

    def _plan_visit(self, agent: AgentState, visit: Visit) -> Generator[PlannedStep, None, bool]:
        """Yield an agent's steps after its start; return whether it failed."""
        points, conversation = self._points(agent, visit), self._conversation(agent)
        last = points[-1].chat if points and points[-1].kind == 'reply' else None
        failed = visit.error or (last.error if last else '')
        leaf = points[0].before if points else THINKING
        for number, point in enumerate(points):
            rest = points[number + 1 : number + 2]
            after = rest[0].before if rest else leaf if failed else DONE
            here, requests = agent.leaf(leaf), rest if after == THINKING else []
            if point.group:
                at, name = yield from self._plan_group(here, 'always', point.group)
                changes = self._record_request(agent, requests)
                yield PlannedStep(
                    time=point.group.end, name=name, at=at, dest=agent.leaf(after), changes=changes
                )
                leaf = after
                continue
            if point.chat and point.chat.error and point.kind == 'reply':
                if rest:
                    data = {'error': point.chat.error, 'delay': 0.0, **_failed_usage(point.chat)}
                    changes = self._record_request(agent, requests)
                    dest = NOWHERE if after == leaf else agent.leaf(after)
                    yield PlannedStep(time=point.time, name='retry', at=here, dest=dest, data=data,
                               changes=changes, attempt=number + 2)  # fmt: skip
                    leaf = after
                continue
            data, changes = self._record_act(conversation, point, None if rest else visit.span)
            changes = [*changes, *self._record_request(agent, requests)]
            dest = agent.leaf(after) if rest or not failed else NOWHERE
            yield PlannedStep(time=point.time, name='done', at=here, dest=dest, data=data, changes=changes)
            leaf = after
        if failed:
            lost = _failed_usage(last) if last and last.error else {}
            yield PlannedStep(
                time=visit.end, name='failed', at=agent.leaf(leaf), dest=agent.leaf(FAILED),
                data={'error': failed, **lost}, changes=conversation.record_failure(failed),
            )  # fmt: skip
        elif not points:
            data, changes = conversation.record_end(visit)
            yield PlannedStep(
                time=visit.end,
                name='done',
                at=agent.leaf(leaf),
                dest=agent.leaf(DONE),
                data=data,
                changes=changes,
            )
        return bool(failed)

    def _record_act(
        self, conversation: Conversation, point: _Point, ended: Span | None
    ) -> tuple[dict[str, Any], list[Change]]:
        if point.kind == 'results':
            return conversation.record_tool_spans(point.batch)
        assert point.chat is not None
        if point.kind == 'inline results':
            return conversation.record_results(conversation.find_inline_results(point.chat))
        return conversation.record_reply(point.chat, point.batch, ended)

    def _record_request(
        self, agent: AgentState, points: Sequence[_Point], began: Span | None = None
    ) -> list[Change]:
        """Return the changes made by the next model call's request; none if no point follows."""
        chat = points[0].next_chat if points else None
        return self._conversation(agent).record_request(chat, began) if chat else []

    def _conversation(self, agent: AgentState) -> Conversation:
        if agent.path not in self._conversations:
            self._conversations[agent.path] = Conversation(agent.path, agent.role)
        return self._conversations[agent.path]

    def _points(self, agent: AgentState, visit: Visit) -> list[_Point]:
        if id(visit) not in self._points_by_visit:
            points = _list_operations(visit)
            for group in agent.groups(visit):
                at = next((n for n, point in enumerate(points) if _is_after(point, group.start)), len(points))
                points.insert(at, _Point(group.start, 'call', group=group))
            _set_states_before(points)
            self._points_by_visit[id(visit)] = points
        return self._points_by_visit[id(visit)]


def _list_operations(visit: Visit) -> list[_Point]:
    """Return model calls and tool batches in the order in which they ended."""
    spans = [(chat, True) for chat in visit.chats] + [(tool, False) for tool in visit.tools]
    points: list[_Point] = []
    for span, is_chat in sorted(spans, key=lambda item: (item[0].end, item[0].start)):
        last = points[-1] if points else None
        if is_chat:
            if last and last.chat and _has_inline_results(last.chat, span):
                points.append(_Point(span.start, 'inline results', chat=span))
            points.append(_Point(span.end, 'reply', chat=span))
        elif last and last.kind == 'results':
            last.batch.append(span)
            last.time = span.end
        else:
            batch = [span]
            if last:
                last.batch = batch
            points.append(_Point(span.end, 'results', batch=batch))
    return points


def _has_inline_results(previous: Span, chat: Span) -> bool:
    """Return whether a request contains results of the previous reply's calls, which have no spans."""
    reply = read_messages(previous).reply
    called = {call.id for call in reply.calls if call.id} if reply else set()
    return bool(called) and any(
        isinstance(part, ToolResult) and part.id in called
        for message in read_messages(chat).inputs
        for part in message.parts
    )


def _is_after(point: _Point, time: float) -> bool:
    """Return whether a point comes after a call to an agent at this time."""
    return point.time > time or (point.kind == 'results' and point.time == time)


def _set_states_before(points: Sequence[_Point]) -> None:
    """Set the agent's state before each point: the one whose work ends with the next operation."""
    act, chat = '', None
    for point in reversed(points):
        if point.kind == 'reply':
            act, chat = THINKING, point.chat
        elif point.kind != 'call':
            act = USING_TOOLS
        point.before, point.next_chat = act or THINKING, chat


def _failed_usage(chat: Span) -> dict[str, Any]:
    """Return the usage of a failed model call, if known."""
    usage, model = usage_of(chat), model_name(chat)
    return {'model': model, 'usage': usage_to_dict(usage)} if usage.source == SOURCES[0] else {}
