"""Marks of a run: steps worth finding again, by kind, each kind with a shape and a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from engine import Transition
from engine.records import ENGINE_EVENTS, Change, MarkField, RecoverData, calls_of, parent_of, payload
from ui.formatting.steps import path_text, reason_text

Kind = Literal['error', 'human', 'pause', 'budget', 'verdict', 'revision', 'restart', 'note', 'tool']

Tone = Literal['good', 'bad', '']
APPROVALS = ('approve', 'accept', 'pass')
REJECTIONS = ('sent back', 'revise', 'reject', 'request')
"""The first words of verdicts."""


@dataclass(frozen=True, slots=True)
class MarkKind:
    """A kind of mark, as people see it."""

    title: str
    """The name of one such mark."""
    glyph: str
    """Its shape: unique, so that no kind is identified by colour alone."""
    key: str
    """The key that jumps to the next one; with Shift, to the previous one."""


KINDS: Mapping[Kind, MarkKind] = {
    'error': MarkKind('error', '▲', 'e'),
    'human': MarkKind('answer of a person', '●', 'h'),
    'pause': MarkKind('pause', '‖', 'p'),
    'budget': MarkKind('budget warning', '◔', 'b'),
    'verdict': MarkKind('verdict', '◆', 'v'),
    'revision': MarkKind('revision', '↺', 'r'),
    'restart': MarkKind('restart', '⟳', 'g'),
    'note': MarkKind('note', '✎', 'n'),
    'tool': MarkKind('tool call', '⚒', 't'),
}
"""Most severe first: that one gives merged marks their shape."""
UNDRAWN = ('tool',)
"""Kinds you can jump to but that are not drawn over the slider: there are too many."""

HUMAN = {
    'cancel': 'cancelled the run',
    'edit': 'changed the memory',
    'approve': 'allowed the tools',
    'deny': 'did not allow the tools',
    'answer': 'answered the question of a tool',
    'extend': 'added to the budget',
}
"""What a person did, by event."""
PAUSES = {
    'pause': 'paused the run',
    'resume': 'resumed the run',
    'step': 'let the run take one step',
    'breakpoints': 'set the breakpoints',
}
STEPS = {'over': 'stepped over', 'out': 'stepped out'}
IN_REGION = {'pause': 'held', 'resume': 'resumed', 'step': 'stepped'}
"""What was done to one region."""
FAILURE_EVENTS = ('failed', 'expired', 'abort', 'exhaust', 'retry')


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A step worth finding again."""

    seq: int
    kind: Kind
    text: str
    by: str = ''
    """The state of the agent who gave a verdict; '' if several did."""

    @property
    def tone(self) -> Tone:
        """Whether a verdict approves; '' for one that does neither, and for other marks."""
        if self.kind != 'verdict':
            return ''
        first = self.text.lower()
        return 'good' if first.startswith(APPROVALS) else 'bad' if first.startswith(REJECTIONS) else ''


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
        Mark(seq=transition.seq, kind=kind, text=text, by=by if kind == 'verdict' else '')
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
    name, data = transition.event.name, transition.event.data
    if transition.raised:
        return None
    if name in PAUSES | HUMAN or name not in ENGINE_EVENTS:
        return 'pause' if name in PAUSES else 'human', _describe_action(transition)
    if name == 'recover':
        return 'restart', _describe_recovery(payload(RecoverData, transition.event))
    if name == 'warn':
        return 'budget', str(data.get('reason') or 'the budget runs low')
    return ('error', _describe_failure(transition)) if name in FAILURE_EVENTS else None


def is_by_person(transition: Transition, mark: Mark) -> bool:
    """Whether a person did it, rather than the engine at a breakpoint or at the end of a script."""
    field = {'pause': 'reason', 'breakpoints': 'problems'}.get(transition.event.name, '')
    return mark.kind in ('human', 'pause') and field not in transition.event.data


def _describe_recovery(data: RecoverData) -> str:
    """Describe how a fork begins, or how a run continues after its process died."""
    if left := str(data.get('left', '')):
        return f'{reason_text(left)}: it continues on its own from here'
    run, _, at = str(data.get('forked', '')).rpartition('@')
    origin = f'{"retried" if data.get("retried") else "forked"} from run {run} at step {at}'
    if not run:
        origin = 'recovered: the work in flight was restarted'
    elif data.get('playing'):
        origin += ': later steps are replayed from the record'
    return f'{origin}; paused' if data.get('paused') else origin


def _describe_action(transition: Transition) -> str:
    """Describe what a person did, in their words if they gave any."""
    event = transition.event
    if 'problems' in event.data and event.name == 'breakpoints':
        return '; '.join(f'breakpoint {number}: {why}' for number, why in event.data['problems'].items())
    if event.name == 'pause' and 'breakpoints' in event.data:
        return reason_text(str(event.data['reason']))
    how = str(event.data.get('how', ''))
    if event.name in IN_REGION and (event.at or how in STEPS):
        return f'{STEPS.get(how, IN_REGION[event.name])}{f" · {path_text(event.at)}" if event.at else ""}'
    own = f'{event.name.replace("_", " ")}{f" · {path_text(event.at)}" if event.at else ""}'
    words = reason_text(str(event.data.get('reason', ''))) or event.data.get('text')
    return (PAUSES | HUMAN).get(event.name, own) + (f': {words}' if words else '')


def _describe_failure(transition: Transition) -> str:
    event, data = transition.event, transition.event.data
    if event.name == 'retry':
        return f'{data.get("error")}; attempt {event.attempt} in {data.get("delay", 0):.1f} s'
    return str(data.get('error') or data.get('reason') or f'{event.at} {event.name}')


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
    output = transition.event.data.get('output')
    if isinstance(output, Mapping) and isinstance(output.get('approved'), bool):
        yield 'verdict', 'approved' if output['approved'] else 'sent back'
    elif isinstance(output, Mapping) and isinstance(output.get('verdict'), str) and 'agrees' not in output:
        yield 'verdict', output['verdict']  # of one reviewer: in a debate it is only a position
    joint = written.get('verdict')
    if isinstance(joint, Mapping):
        verdict = str(joint.get('verdict', '')).replace('_', ' ').lower()
        yield 'verdict', ': '.join(filter(None, (verdict, str(joint.get('best') or ''))))


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
