"""Marks of a run: steps worth finding again, by kind, each kind with a shape and a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from engine import Transition
from engine.records import ENGINE_EVENTS, Change, MarkField, RecoverData, calls_of, parent_of, payload
from ui.formatting.sentences import (
    FAILURES,
    HUMAN,
    PAUSES,
    action_text,
    failure_text,
    is_by_engine,
    recovery_text,
    verdict_text,
)
from ui.formatting.steps import path_text

Kind = Literal[
    'error',
    'human',
    'pause',
    'budget',
    'rejected',
    'approved',
    'verdict',
    'revision',
    'restart',
    'note',
    'tool',
]

Tone = Literal['good', 'bad', '']
APPROVALS = ('approve', 'accept', 'pass')
REJECTIONS = ('sent back', 'revise', 'reject', 'request')
"""The first words of verdicts."""
TONES: Mapping[Kind, Tone] = {'approved': 'good', 'rejected': 'bad'}


@dataclass(frozen=True, slots=True)
class MarkKind:
    """A kind of mark, as people see it."""

    title: str
    """The name of one such mark."""
    glyph: str
    """Its shape: unique, so that no kind is identified by colour alone."""
    key: str
    """The key that jumps to the next one; with Shift, to the previous one. Kinds may share a key."""


KINDS: Mapping[Kind, MarkKind] = {
    'error': MarkKind('error', '▲', 'e'),
    'human': MarkKind('human answer', '●', 'h'),
    'pause': MarkKind('pause', '‖', 'p'),
    'budget': MarkKind('budget warning', '◔', 'b'),
    'rejected': MarkKind('sent back', '✗', 'v'),
    'approved': MarkKind('approved', '✓', 'v'),
    'verdict': MarkKind('verdict', '◆', 'v'),
    'revision': MarkKind('revision', '↺', 'r'),
    'restart': MarkKind('restart', '⟳', 'g'),
    'note': MarkKind('note', '✎', 'n'),
    'tool': MarkKind('tool call', '⚒', 't'),
}
"""Most severe first: that one gives merged marks their shape."""
JUMPS: Mapping[str, tuple[Kind, ...]] = {
    sort.key: tuple(kind for kind, other in KINDS.items() if other.key == sort.key) for sort in KINDS.values()
}
"""By key: the kinds of marks that it jumps between; the last one names them all."""
UNDRAWN = ('tool',)
"""Kinds you can jump to but that have no flag: there are too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A step worth finding again."""

    seq: int
    kind: Kind
    text: str
    by: str = ''
    """The state of the agent who gave a verdict; '' if several did."""
    at: str = ''
    """The state that the step's event was addressed to."""

    @property
    def tone(self) -> Tone:
        """Whether it approves or sends back; '' for marks that do neither."""
        return TONES.get(self.kind, '')


def marks_of(
    transition: Transition, fields: Sequence[MarkField], visits: Mapping[str, Sequence[int]]
) -> list[Mark]:
    """The marks of a step, at most one of each kind.

    Args:
        transition: the step.
        fields: the memory fields whose changes are marked.
        visits: the states entered before it, each with the steps that entered it.
    """
    candidates = [_event_mark(transition), *_turns(transition, fields, visits), _tools(transition)]
    by = parent_of(transition.event.at) if transition.event.name == 'done' else ''
    return [
        Mark(
            seq=transition.seq,
            kind=kind,
            text=text,
            by=by if kind in JUMPS['v'] else '',
            at=transition.event.at,
        )
        for kind, text in filter(None, candidates)
    ]


def mark_of(
    transition: Transition, fields: Sequence[MarkField], visits: Mapping[str, Sequence[int]]
) -> Mark | None:
    """Return the most severe of a step's marks that are drawn, if any; arguments as of `marks_of`."""
    drawn = [mark for mark in marks_of(transition, fields, visits) if mark.kind not in UNDRAWN]
    return min(drawn, key=lambda mark: list(KINDS).index(mark.kind), default=None)


def _event_mark(transition: Transition) -> tuple[Kind, str] | None:
    """Return the mark of the event itself: a failure, a restart, an action of a person."""
    name = transition.event.name
    if transition.raised:
        return None
    if name in PAUSES | HUMAN or name not in ENGINE_EVENTS:
        return 'pause' if name in PAUSES else 'human', action_text(transition)
    if name == 'recover':
        return 'restart', recovery_text(payload(RecoverData, transition.event))
    if name == 'warn':
        return 'budget', failure_text(transition)
    return ('error', failure_text(transition)) if name in FAILURES else None


def is_by_person(transition: Transition, mark: Mark) -> bool:
    """Whether a person did it, rather than the engine at a breakpoint or at the end of a script."""
    return mark.kind in ('human', 'pause') and not is_by_engine(transition)


def _turns(
    transition: Transition, fields: Sequence[MarkField], visits: Mapping[str, Sequence[int]]
) -> Iterator[tuple[Kind, str] | None]:
    """Yield the beginning of a revision, and verdicts."""
    written = {
        field.kind: change.value
        for field in fields
        for change in transition.changes
        if _writes(change, field)
    }
    if count := written.get('revision'):
        yield 'revision', f'revision {count} begins'
    else:
        yield _return(transition, visits)
    if verdict := verdict_text(transition.event.data.get('output')):
        yield _verdict(verdict), verdict
    joint = written.get('verdict')
    if isinstance(joint, Mapping):
        agreed = str(joint.get('verdict', '')).replace('_', ' ').lower()
        yield _verdict(agreed), ': '.join(filter(None, (agreed, str(joint.get('best') or ''))))


def _verdict(text: str) -> Kind:
    """Return the kind of a verdict, by the word that it begins with."""
    first = text.replace('_', ' ').lower()
    return (
        'approved'
        if first.startswith(APPROVALS)
        else 'rejected'
        if first.startswith(REJECTIONS)
        else 'verdict'
    )


def _writes(change: Change, marked: MarkField) -> bool:
    """Return whether it sets the field or, if that is a list, appends to it."""
    return change.path in (f'/memory/{marked.field}', f'/memory/{marked.field}/-')


def _return(transition: Transition, visits: Mapping[str, Sequence[int]]) -> tuple[Kind, str] | None:
    """Return a revision, if the step goes back to a state that was entered before the one being left."""
    seq = transition.seq
    outer = [path for path in transition.left if '.' not in path]
    left = min((_first(visits, path, seq) for path in outer), default=0)
    # An atomic state that `always` enters only decides what follows: entering it is no return.
    passed = transition.active if transition.event.name == 'always' else ()
    back = [
        path
        for path in transition.entered
        if '.' not in path and path not in passed and _first(visits, path, seq) < left
    ]
    return ('revision', f'back to {path_text(back[0])}') if back else None


def _first(visits: Mapping[str, Sequence[int]], path: str, default: int) -> int:
    steps = visits.get(path)
    return steps[0] if steps else default


def _tools(transition: Transition) -> tuple[Kind, str] | None:
    """Return the tools that start running: with the reply that calls them, or once a person has approved."""
    if not any(path.endswith('.using_tools') for path in transition.entered):
        return None
    names = ', '.join(dict.fromkeys(str(call.get('name', '')) for call in calls_of(transition.event)))
    return 'tool', names or f'tools of {path_text(transition.event.at.rpartition(".")[0])}'
