"""Questions: finds the questions that a run asks at a step, with asker, time, purpose and digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from engine import Catalog
from engine.history import open_question
from engine.records import (
    ANSWER,
    ENGINE_EVENTS,
    Instant,
    Question,
    RunId,
    Shape,
    StatePath,
    View,
    message_of,
    parent_of,
)

APPROVAL = 'approve'
OF_AGENTS = {'approval': 'your approval', 'answer': 'your answer'}
"""What an agent of any pattern may wait for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A tool call that is waiting for approval."""

    id: str
    name: str
    arguments: str
    """As JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A run's question to a person."""

    id: str
    """The id of this question; if the state asks again later, that is another question."""
    run: RunId
    at: StatePath
    """The waiting state; '' means the whole run."""
    step: int
    """The step at which the wait began."""
    since: Instant
    kind: str
    """The kind of input: `approval`, `answer`, `choice`, `word`, `more time` and so on."""
    text: str
    """The question as a sentence."""
    digest: str
    """The digest of everything asked and to be approved; an answer must include it."""
    events: tuple[str, ...]
    """The events that answer it."""
    calls: tuple[PendingCall, ...] = ()
    question: Question | None = None
    """The question of a tool's server."""
    said: str = ''
    """The agent's last message."""


def find_asks(catalog: Catalog, shape: Shape, view: View) -> list[Ask]:
    """Return a run's questions at the step of `view`, oldest first."""
    if view.status.ended:
        return []
    waits = {state.path: state.waits for state in shape.states if state.waits}
    texts = wait_texts(catalog, shape.pattern)
    asks = [_ask(shape, view, leaf, waits[leaf], texts) for leaf in view.active if leaf in waits]
    return sorted(asks, key=lambda ask: (ask.since, ask.step, ask.at))


def run_and_step(ask: str) -> tuple[RunId, int]:
    """The run and the step in a question's id. Raises `ValueError`."""
    run, step, _ = ask.rsplit('.', 2)
    return RunId(run), int(step)


def _ask(shape: Shape, view: View, leaf: StatePath, kind: str, texts: Mapping[str, str]) -> Ask:
    step, since = view.entered.get(leaf, (view.seq, view.time))
    events = tuple(dict.fromkeys(_events(shape, view, leaf)))
    agent = view.agents.get(parent_of(leaf), {})
    last = message_of(agent['messages'][-1]) if agent.get('messages') else None
    pending = last.calls if last and APPROVAL in events else ()
    calls = tuple(PendingCall(id=call.id, name=call.name, arguments=call.arguments) for call in pending)
    question = open_question(view, leaf) if ANSWER in events else None
    who = str(agent.get('role') or parent_of(leaf) or leaf).replace('_', ' ').rpartition('.')[2]
    text = _question_text(texts.get(kind, kind) or 'you', who, calls, question)
    contents = {
        'run': view.run,
        'at': leaf,
        'step': step,
        'text': text,
        'events': events,
        'calls': [asdict(call) for call in calls],
        'question': question.model_dump(mode='json') if question else None,
    }
    canonical = json.dumps(contents, sort_keys=True, separators=(',', ':'))
    return Ask(
        id=f'{view.run}.{step}.{hashlib.sha256(leaf.encode()).hexdigest()[:8]}',
        run=view.run,
        at=leaf,
        step=step,
        since=since,
        kind=kind,
        text=text,
        digest=hashlib.sha256(canonical.encode()).hexdigest(),
        events=events,
        calls=calls,
        question=question,
        said=last.text if last else '',
    )


def _events(shape: Shape, view: View, leaf: StatePath) -> Iterator[str]:
    """Yield the events that the waiting state accepts; an exhausted time budget can also be extended."""
    for edge in shape.edges:
        if edge.source == leaf and edge.trigger not in ENGINE_EVENTS:
            yield edge.trigger
    gauge = view.budget.get('seconds')
    if gauge is not None and gauge.exhausted:
        yield 'extend'


def _question_text(wait: str, who: str, calls: tuple[PendingCall, ...], question: Question | None) -> str:
    if calls:
        return f'Allow {who} to use {", ".join(dict.fromkeys(call.name for call in calls))}?'
    if question:
        return f'{question.server} asks: {question.message}'
    return f'{who.capitalize()}: waiting for {wait}'


def wait_texts(catalog: Catalog, pattern: str) -> Mapping[str, str]:
    """Return what runs of a pattern may wait for as people read it, such as *your verdict*, by its kind."""
    pattern_class = catalog.find(pattern)
    return {**OF_AGENTS, **(pattern_class.wait_texts if pattern_class else {})}
