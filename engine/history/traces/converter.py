"""Converts a trace to a run: a chart built from the spans, and steps with their original times."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.errors import BundleError
from engine.history.bundle.validation import MAX_EDGES, MAX_STATES
from engine.history.chart_walk import ChartWalk
from engine.history.traces import attributes as names
from engine.history.traces.agent_states import (
    DONE,
    FAILED,
    THINKING,
    USING_TOOLS,
    AgentState,
    ParallelState,
    build_agent_states,
    child,
    to_state_name,
)
from engine.history.traces.kinds import model_name, workflow_name
from engine.history.traces.planned_steps import PlannedStep, StepPlanner
from engine.history.traces.tree import Trace, Visit
from engine.records import (
    Change,
    Edge,
    EdgeShape,
    Event,
    RunId,
    RunInfo,
    Shape,
    StatePath,
    StateShape,
    Transition,
)
from engine.records.shape import TRACE_PREFIX

TAG = 'imported trace'
"""The tag of all runs converted from traces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedRun:
    """What a trace becomes: a run to import, with its chart and steps."""

    info: RunInfo
    shape: Shape
    steps: list[Transition]


def convert_trace(trace: Trace) -> ConvertedRun:
    """Convert a trace to a run. Raises `BundleError` if its chart would be too large."""
    top = build_agent_states(trace.visits)
    planner = StepPlanner(top)
    planned = list(planner.plan(trace))
    states = list(_states(top))
    if len(states) > MAX_STATES:
        raise BundleError(
            0, f'its chart would have {len(states):,} states; at most {MAX_STATES:,} are allowed'
        )
    root = trace.roots[0]
    name = workflow_name(root)
    info = RunInfo(
        id=RunId(hashlib.sha256(f'trace {trace.id}'.encode()).hexdigest()[:12]),
        pattern=f'{TRACE_PREFIX}{_slug(name)}',
        title=_run_title(trace, planned) or name,
        models=_models(trace.visits),
        created=trace.start,
        updated=trace.end,
        seq=len(planned),
        simulated=root.attributes.get(names.SIMULATED) is True,
        tags=(TAG,),
    )
    edges = _edges(planned)
    if len(edges) > MAX_EDGES:
        raise BundleError(0, f'its chart would have {len(edges):,} edges; at most {MAX_EDGES:,} are allowed')
    shape = Shape(
        pattern=info.pattern,
        title=name,
        initial=next(edge.dest for edge in edges),  # type: ignore[arg-type]
        states=tuple(states),
        edges=edges,
        answer='answer',
    )
    memory = {'trace': trace.id, 'service': root.service, 'workflow': name, 'answer': ''}
    return ConvertedRun(
        info=info, shape=shape, steps=list(_steps(info, shape, planned, memory, planner.answer))
    )


def _steps(
    info: RunInfo, shape: Shape, planned: list[PlannedStep], memory: dict[str, Any], answer: str
) -> Iterator[Transition]:
    walk = ChartWalk(shape.states)
    time, entered_at = 0.0, dict[StatePath, int]()
    for seq, step in enumerate(planned, 1):
        time = max(time, step.time)
        first, last = seq == 1, seq == len(planned)
        left, entered = walk.take_edge(step.at, step.dest) if step.dest else ((), ())
        changes = tuple(step.changes)
        if last and answer:
            changes += (Change(op='replace', path='/memory/answer', value=answer),)
        yield Transition(
            run=info.id,
            seq=seq,
            time=time,
            event=Event(
                name=step.name,
                at=StatePath('') if first else step.at,
                data={'memory': memory} if first else dict(step.data),
                attempt=step.attempt,
                since=entered_at.get(step.at, 0),
            ),
            left=left,
            entered=entered,
            active=walk.active,
            edges=(Edge(source=step.at, dest=step.dest),) if step.dest else (),
            changes=changes,
        )
        entered_at |= dict.fromkeys(entered, seq)


def _states(agent: AgentState) -> Iterator[StateShape]:
    """Yield the states inside an agent's state, outermost first; final states come last."""
    ends = [name for name in agent.leaves if name in (DONE, FAILED)]
    for name in agent.leaves:
        if name not in ends:
            yield _leaf(agent, name)
    seen = set[StatePath]()
    parallel_of = {id(region): parallel for parallel in agent.parallels for region in parallel.regions}
    for inner in agent.inside:
        parallel = parallel_of.get(id(inner))
        if parallel is None:
            yield from _agent(inner)
        elif parallel.path not in seen:
            seen.add(parallel.path)
            yield from _parallel(parallel, agent)
    for name in ends:
        yield _leaf(agent, name)


def _agent(agent: AgentState) -> Iterator[StateShape]:
    first = next(iter(agent.leaves))
    yield StateShape(
        path=agent.path,
        name=agent.path.rpartition('.')[2],
        parent=StatePath(agent.path.rpartition('.')[0]),
        kind='compound',
        initial=(child(agent.path, first),),
        role=agent.role,
    )
    yield from _states(agent)


def _parallel(parallel: ParallelState, around: AgentState) -> Iterator[StateShape]:
    yield StateShape(
        path=parallel.path,
        name=parallel.path.rpartition('.')[2],
        parent=around.path,
        kind='parallel',
        initial=tuple(agent.path for agent in parallel.regions),
    )
    for agent in parallel.regions:
        yield from _agent(agent)


def _leaf(agent: AgentState, name: str) -> StateShape:
    return StateShape(
        path=child(agent.path, name),
        name=name,
        parent=agent.path,
        kind='final' if name in (DONE, FAILED) else 'atomic',
        outcome=FAILED if name == FAILED else DONE,
        invokes=name in (THINKING, USING_TOOLS),
    )


def _edges(planned: list[PlannedStep]) -> tuple[EdgeShape, ...]:
    """Return the edges taken, in the order of their first use."""
    taken = dict.fromkeys((step.name, step.at, step.dest) for step in planned if step.dest)
    return tuple(EdgeShape(trigger=name, source=source, dest=dest) for name, source, dest in taken)


def _models(visits: list[Visit]) -> dict[str, str]:
    """Return the first model that each agent called."""
    models: dict[str, str] = {}
    waiting = list(reversed(visits))
    while waiting:
        visit = waiting.pop()
        model = next(filter(None, map(model_name, visit.chats)), '')
        if model:
            models.setdefault(visit.name, model)
        waiting += reversed(visit.inside)
    return models


def _run_title(trace: Trace, planned: list[PlannedStep]) -> str:
    """Return the run's title if it has one, else the first message to an agent, cut to 100 characters."""
    if own := trace.roots[0].attributes.get(names.TITLE):
        return ' '.join(str(own).split())[:100]
    for step in planned:
        for change in step.changes:
            messages = change.value if change.path.endswith('/messages') else [change.value]
            for message in messages if isinstance(messages, list) else ():
                if isinstance(message, dict) and message.get('role') == 'user' and message.get('parts'):
                    return ' '.join(str(message['parts'][0].get('text', '')).split())[:100]
    return ''


def _slug(name: str) -> str:
    return to_state_name(name).replace('_', '-').lower()
