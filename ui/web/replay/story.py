"""The story of a run at a step: who works on what, what was decided last, what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.records import Shape, View, is_within, parent_of
from ui.formatting.steps import excerpt, path_text, short_json
from ui.formatting.values import status_text
from ui.web.replay.conversation import json_to_markdown
from ui.web.replay.index import Index
from ui.web.replay.marks import JUMPS, Tone

DECISIONS = 3
"""The number of decisions told, the newest first."""
DOING = {
    'thinking': 'thinking',
    'using_tools': 'using tools',
    'approving': 'waits for your approval',
    'asking': 'asks you',
    'person': 'waits for a person',
    'done': 'done',
    'failed': 'failed',
}
"""What an agent does, by the last part of its active state."""
NEEDS_PERSON = ('approving', 'asking', 'person')


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one agent, or the engine itself, is doing."""

    path: str
    """The agent's state; for the engine's own work, the active state."""
    name: str
    doing: str
    since: float
    """When the agent began, in seconds since 1970."""
    line: str
    """The newest text, tool call or task, on one line; '' before the first, and for work of the engine."""
    needs_person: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict; in runs without any, the end of an agent's work."""

    seq: int
    path: str
    """The state of the agent who decided; '' if several did."""
    text: str
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What a person wants to know of a run at a step."""

    work: Sequence[Work]
    decisions: Sequence[Decision]
    outcome: str
    """How the run ended and what came out, on one line; '' before its end."""

    @property
    def needs(self) -> Sequence[Work]:
        """What waits for a person."""
        return [item for item in self.work if item.needs_person]


NameOf = Callable[[str, str], str]
"""Returns an agent's name; its arguments are the path and the role it plays, or ''."""


def tell(view: View, shape: Shape, index: Index, name_of: NameOf) -> Story:
    """Tell the story of a run at the step of `view`; `index` may go on beyond it."""
    return Story(
        work=() if view.status.ended else tell_work(view, shape, name_of),
        decisions=_decisions(view, shape, index, name_of),
        outcome=_outcome(view, shape) if view.status.ended else '',
    )


def tell_work(view: View, shape: Shape, name_of: NameOf) -> list[Work]:
    """Tell who works on what at the step of `view`."""
    names = {str(state.path): '' for state in shape.states if state.role}
    for path in names:
        names[path] = name_of(path, str(view.agents.get(path, {}).get('role', '')))
    work = []
    for leaf in view.active:
        agent, stage = next((path for path in names if is_within(leaf, path)), ''), leaf.rpartition('.')[2]
        state, path = shape.state(leaf), agent or leaf
        if agent and stage in DOING:
            name, doing, asks = names[agent], DOING[stage], stage in NEEDS_PERSON
        elif agent or state is None or state.kind == 'final':
            continue
        else:  # work of the engine, such as the tests of an agent in the same region
            owner = next((path for path in names if parent_of(path) == parent_of(leaf) != ''), '')
            asks = bool(view.waiting) and len(view.active) == 1
            name = names.get(owner) or path_text(stage).capitalize()
            doing = 'waits for you' if asks else (state.caption or path_text(stage)).lower()
        work.append(
            Work(
                path=path,
                name=name,
                doing=doing,
                since=view.entered.get(path, (0, view.time))[1],
                line=newest_line(view.agents.get(agent, {})),
                needs_person=asks,
            )
        )
    return work


def newest_line(agent: Mapping[str, Any]) -> str:
    """Return the newest part of an agent's conversation that says something, on one line."""
    for message in reversed(agent.get('messages', ())):
        for part in reversed(message['parts']):
            match part['kind']:
                case 'call':
                    return f'{part["name"]} {short_json(part.get("arguments", ""))}'
                case 'text' if part['text'].strip():
                    return excerpt(json_to_markdown(part['text']))
    return ''


def _decisions(view: View, shape: Shape, index: Index, name_of: NameOf) -> list[Decision]:
    agents = [str(state.path) for state in shape.states if state.role]
    verdicts = [mark for mark in index.marks if mark.kind in JUMPS['v'] and mark.seq <= view.seq]
    if verdicts:
        return [
            Decision(
                seq=mark.seq,
                path=mark.by,
                text=f'{name_of(mark.by, "")}: {mark.text}' if mark.by in agents else mark.text.capitalize(),
                tone=mark.tone,
            )
            for mark in reversed(verdicts[-DECISIONS:])
        ]
    ends = [
        Decision(seq=stay.seq, path=path, text=f'{name_of(path, "")} finished', tone='')
        for path in agents
        for stay in index.history.stays.get(path, ())
        if stay.seq <= view.seq
    ]
    return sorted(ends, key=lambda end: -end.seq)[:DECISIONS]


def _outcome(view: View, shape: Shape) -> str:
    answer = view.memory.get(shape.answer) if shape.answer else None
    how, why = status_text(view.status, view.error), view.error
    return ': '.join(filter(None, (how, why or (excerpt(answer) if isinstance(answer, str) else ''))))
