"""Marks of a run: the steps that are worth finding again, by kind, with a shape and a key for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine import CONTROL, ENDINGS, EXHAUSTED, Transition
from ui.presenters.reading import place, reason_words

Kind = Literal['error', 'human', 'pause', 'budget', 'verdict', 'revision', 'restart', 'note', 'tool']


@dataclass(frozen=True, slots=True)
class Sort:
    """A kind of marks, as people see it."""

    title: str
    """What one of them is."""
    glyph: str
    """Its shape: no two kinds have the same, so that none is told by its colour alone."""
    key: str
    """Goes to the next one; with Shift to the one before."""


KINDS: Mapping[Kind, Sort] = {
    'error': Sort('error', '▲', 'e'),
    'human': Sort('answer of a person', '●', 'h'),
    'pause': Sort('pause', '‖', 'p'),
    'budget': Sort('budget warning', '◔', 'b'),
    'verdict': Sort('verdict', '◆', 'v'),
    'revision': Sort('revision', '↺', 'r'),
    'restart': Sort('restart', '⟳', 'g'),
    'note': Sort('note', '✎', 'n'),
    'tool': Sort('tool call', '⚒', 't'),
}
"""The gravest first: where marks stand too close, it gives the shape of them all."""
UNDRAWN = ('tool',)
"""Kinds that are gone to, and not drawn over the slider: they are too many."""

HUMAN = {
    'cancel': 'cancelled the run',
    'edit': 'changed the memory',
    'approve': 'allowed the tools',
    'deny': 'did not allow the tools',
    'extend': 'added to the budget',
}
"""What a person did, by the event."""
PAUSES = {
    'pause': 'paused the run',
    'resume': 'let the run go on',
    'step': 'let the run take one step',
    'breakpoints': 'set the breakpoints',
}
STEPS = {'over': 'stepped over', 'out': 'stepped out'}
IN_REGION = {'pause': 'held', 'resume': 'let go on', 'step': 'stepped'}
"""What was done to one region."""
MISHAPS = ('failed', 'expired', 'abort', 'exhaust', 'retry')
DEBATED = '/memory/consensuses/-'
"""Where the verdict of a debate is written."""
OWN = CONTROL | ENDINGS | {EXHAUSTED, 'always'}
"""Events of the engine: all others come from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A step that is worth finding again."""

    seq: int
    kind: Kind
    text: str


def marks_of(transition: Transition, visits: Mapping[str, Sequence[int]]) -> list[Mark]:
    """The marks a step deserves, at most one of a kind.

    Args:
        transition: the step.
        visits: the states that were entered before it, each with the steps that did.
    """
    found = [_deed(transition), *_turns(transition, visits), _tools(transition)]
    return [Mark(seq=transition.seq, kind=mark[0], text=mark[1]) for mark in found if mark]


def mark_of(transition: Transition, visits: Mapping[str, Sequence[int]]) -> Mark | None:
    """The gravest mark that is drawn of a step, if it has any."""
    found = [mark for mark in marks_of(transition, visits) if mark.kind not in UNDRAWN]
    return min(found, key=lambda mark: list(KINDS).index(mark.kind), default=None)


def _deed(transition: Transition) -> tuple[Kind, str] | None:
    """What the event says by itself: a mishap, a restart, what a person did."""
    name, data = transition.event.name, transition.event.data
    if transition.raised:
        return None
    if name in PAUSES | HUMAN or name not in OWN:
        return 'pause' if name in PAUSES else 'human', _done(transition)
    if name == 'recover':
        return 'restart', _taken_up(data)
    if name == 'warn':
        return 'budget', str(data.get('reason') or 'the budget runs low')
    return ('error', _mishap(transition)) if name in MISHAPS else None


def by_person(transition: Transition, mark: Mark) -> bool:
    """Whether a person did what is marked, and not the engine: at a breakpoint, or where a script ends."""
    said = {'pause': 'reason', 'breakpoints': 'problems'}.get(transition.event.name, '')
    return mark.kind in ('human', 'pause') and said not in transition.event.data


def _taken_up(data: Mapping[str, Any]) -> str:
    """What a run begins with, or goes on with, where it had no process."""
    if left := str(data.get('left', '')):
        return f'{reason_words(left)}: from here on it works by itself'
    run, _, at = str(data.get('forked', '')).rpartition('@')
    said = f'{"retried" if data.get("retried") else "forked"} from run {run} at step {at}'
    if not run:
        said = 'taken up again: the work in flight began anew'
    elif data.get('playing'):
        said += ': what was recorded after it is played'
    return f'{said}; paused' if data.get('paused') else said


def _done(transition: Transition) -> str:
    """What a person did, with the words that were given."""
    event = transition.event
    if 'problems' in event.data and event.name == 'breakpoints':
        return '; '.join(f'breakpoint {number}: {why}' for number, why in event.data['problems'].items())
    if event.name == 'pause' and 'breakpoints' in event.data:
        return reason_words(str(event.data['reason']))
    how = str(event.data.get('how', ''))
    if event.name in IN_REGION and (event.at or how in STEPS):
        return f'{STEPS.get(how, IN_REGION[event.name])}{f" · {place(event.at)}" if event.at else ""}'
    own = f'{event.name.replace("_", " ")}{f" · {place(event.at)}" if event.at else ""}'
    words = reason_words(str(event.data.get('reason', ''))) or event.data.get('text')
    return (PAUSES | HUMAN).get(event.name, own) + (f': {words}' if words else '')


def _mishap(transition: Transition) -> str:
    event, data = transition.event, transition.event.data
    if event.name == 'retry':
        return f'{data.get("error")}; attempt {event.attempt} in {data.get("delay", 0):.1f} s'
    return str(data.get('error') or data.get('reason') or f'{event.at} {event.name}')


def _turns(transition: Transition, visits: Mapping[str, Sequence[int]]) -> Iterator[tuple[Kind, str] | None]:
    """A way back to a state that was first entered before the one that is left; a verdict."""
    seq = transition.seq
    outer = [path for path in transition.left if '.' not in path]
    left = min((_first(visits, path, seq) for path in outer), default=0)
    back = [path for path in transition.entered if '.' not in path and _first(visits, path, seq) < left]
    if back:
        yield 'revision', f'back to {place(back[0])}'
    output = transition.event.data.get('output')
    if isinstance(output, Mapping) and isinstance(output.get('approved'), bool):
        yield 'verdict', 'approved' if output['approved'] else 'sent back'
    elif isinstance(output, Mapping) and isinstance(output.get('verdict'), str) and 'agrees' not in output:
        yield 'verdict', output['verdict']  # of one reviewer: in a debate it is only a position
    for change in transition.changes:
        if change.path == DEBATED and isinstance(change.value, Mapping):
            said = str(change.value.get('verdict', '')).replace('_', ' ').lower()
            yield 'verdict', ': '.join(filter(None, (said, str(change.value.get('best') or ''))))


def _first(visits: Mapping[str, Sequence[int]], path: str, default: int) -> int:
    steps = visits.get(path)
    return steps[0] if steps else default


def _tools(transition: Transition) -> tuple[Kind, str] | None:
    """Tools that begin to run: with the reply that calls them, or once a person has allowed them."""
    if not any(path.endswith('.using_tools') for path in transition.entered):
        return None
    names = ', '.join(called(transition.event.data))
    return 'tool', names or f'tools of {place(transition.event.at.rpartition(".")[0])}'


def called(data: Mapping[str, Any]) -> list[str]:
    """The names of the tools that a reply calls."""
    message = data.get('message')
    parts = message.get('parts') if isinstance(message, Mapping) else None
    calls = [part for part in parts or () if isinstance(part, Mapping) and part.get('kind') == 'call']
    return list(dict.fromkeys(str(part.get('name', '')) for part in calls))
