"""What changed between two versions of a chart, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.charts.difference import EdgeDifference, FieldChange, ShapeDifference, StateDifference
from engine.records import EdgeShape
from ui.formatting.diagram.mermaid import edge_label
from ui.formatting.steps import duration, edge_name, edge_text, path_text
from ui.formatting.values import count

MAX_SECONDS = 120
"""Longest limit that is said in seconds."""
KINDS = {'atomic': 'a plain state', 'compound': 'a group', 'parallel': 'parallel', 'final': 'an end'}

STATE_WORDS = {
    'name': ('was called {old}', ''),
    'kind': ('is now {new} instead of {old}', ''),
    'initial': ('now begins in {new}', 'no longer begins in one of its states'),
    'outcome': ('now ends as {new} instead of {old}', ''),
    'role': ('is now played by {new}', 'is no longer an agent'),
    'roles': ('may now be played by {new}', 'may be played by one role only'),
    'invokes': ('now works by itself', 'no longer works by itself'),
    'waits': ('now waits for {new}', 'no longer waits for {old}'),
    'within': ('now ends after {new}', 'no longer has a time limit'),
    'criteria': ('now works until {new}', 'no longer works until {old}'),
    'caption': ('is now described as “{new}”', 'is no longer described'),
    'seat': ('now has the seat {new}', 'no longer has the seat {old}'),
}
"""Each field of a state that may change, in words after its name: if it has a value, and if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceLine:
    """One difference in words, and the states and edges of the drawing that it is about."""

    kind: str
    """`added`, `removed` or `changed`."""
    subject: str = ''
    """What it is about, for people; '' if that is the whole chart."""
    words: str
    states: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    """By name."""
    of: StateDifference | EdgeDifference | None = None

    @property
    def text(self) -> str:
        """The whole sentence, without a full stop."""
        return f'{self.subject} {self.words}'.strip()


def difference_lines(difference: ShapeDifference) -> list[DifferenceLine]:
    """Return all differences: of the chart, its states, its edges and their order.

    What is inside a state that was added or removed is not listed.
    """
    return [
        *_chart_lines(difference),
        *(line for state in difference.outermost() for line in _state_lines(state, difference)),
        *(line for edge in _edges_between(difference) for line in _edge_lines(edge)),
        *_order_lines(difference),
    ]


def _chart_lines(difference: ShapeDifference) -> Iterator[DifferenceLine]:
    for change in difference.changes:
        states: tuple[str, ...] = ()
        match change.field:
            case 'title':
                words = f'The title is now “{change.new}” instead of “{change.old}”'
            case 'initial':
                words = f'The run now begins in {path_text(change.new)} instead of {path_text(change.old)}'
                states = (str(change.new),)
            case 'answer' | 'caveat':
                name = {'answer': 'result', 'caveat': 'caveat'}[change.field]
                words = f'The {name} is now {change.new or "not named"}'
            case _:
                words = f'The {change.field} on the run page changed'
        yield DifferenceLine(kind='changed', words=words, states=states)


def _state_lines(state: StateDifference, difference: ShapeDifference) -> Iterator[DifferenceLine]:
    def line(words: str, kind: str = 'changed') -> DifferenceLine:
        return DifferenceLine(
            kind=kind, subject=path_text(state.path), words=words, states=(state.path,), of=state
        )

    if state.kind != 'changed':
        chart = difference.new if state.new else difference.old
        inside = sum(other.path.startswith(f'{state.path}.') for other in chart.states)
        shape = chart.state(state.path)
        kind = (
            ' with an agent'
            if shape and shape.role
            else f' with {count(inside, "state")} inside'
            if inside
            else ''
        )
        yield line(f'was {state.kind}{kind}', state.kind)
        return
    words = [text for change in state.changes if (text := _state_words(change))]
    if words:
        yield line(', '.join(words))


def _state_words(change: FieldChange) -> str:
    """Return a change of a state, after its name."""
    present, absent = STATE_WORDS[change.field]
    text = present if change.new or change.field == 'kind' else absent or present
    return text.format(new=_value(change.new, change.field), old=_value(change.old, change.field))


def _value(value: Any, field: str) -> str:
    """Return the value of a state's field for people."""
    match field:
        case 'kind':
            return KINDS[value]
        case 'within':
            return _seconds(value or 0)
        case 'initial':
            return ', '.join(path_text(path.rpartition('.')[2]) for path in value)
        case 'roles' | 'criteria':
            return ', '.join(map(path_text, value))
        case 'caption':
            return str(value)
    return path_text(str(value))


def _seconds(seconds: float) -> str:
    """Return a limit for people: exact, unlike a time that was measured."""
    return f'{seconds:g} s' if seconds <= MAX_SECONDS else duration(seconds)


def _edges_between(difference: ShapeDifference) -> Iterator[EdgeDifference]:
    """Yield the edges that differ, but those inside a state that was added or removed with them."""
    whole = tuple(f'{state.path}.' for state in difference.outermost() if state.kind != 'changed')
    for edge in difference.edges:
        shape = edge.new or edge.old
        if shape is not None and not shape.source.startswith(whole or '\0'):
            yield edge


def _edge_lines(edge: EdgeDifference) -> Iterator[DifferenceLine]:
    shape = edge.new or edge.old
    if shape is None:
        return
    subject = edge_text(edge_name(edge.old if edge.old and edge.is_redirected else shape))
    names = tuple(dict.fromkeys(edge_name(item) for item in (edge.new, edge.old) if item is not None))

    def line(words: str) -> DifferenceLine:
        return DifferenceLine(kind=edge.kind, subject=subject, words=words, edges=names, of=edge)

    if edge.kind != 'changed':
        yield line(f'was {edge.kind}, {when_words(shape)}')
        return
    words = list(_edge_words(edge))
    if words:
        yield line(', '.join(words))


def _edge_words(edge: EdgeDifference) -> Iterator[str]:
    changed = {change.field: change for change in edge.changes}
    old, new = edge.old, edge.new
    if old is None or new is None:
        return
    if 'dest' in changed:
        yield f'now leads to {path_text(new.dest) or "nowhere"}'
    if 'trigger' in changed:
        yield f'is now taken on {_event(new)} instead of {_event(old)}'
    if 'conditions' in changed or 'unless' in changed:
        yield f'is now taken {_guards(new)} instead of {_guards(old)}'
    elif 'words' in changed:
        yield f'now reads “{edge_label(new)}” instead of “{edge_label(old)}”'
    if 'history' in changed:
        yield 'now leads back to where its goal was left' if new.history else 'now begins its goal anew'


def when_words(edge: EdgeShape) -> str:
    """Return when an edge is taken: *on done if is_spent*."""
    guards = _guards(edge)
    return f'on {_event(edge)}' + ('' if guards == 'always' else f' {guards}')


def _event(edge: EdgeShape) -> str:
    return edge.trigger.replace('_', ' ')


def _guards(edge: EdgeShape) -> str:
    """Return the guards of an edge by their names: words for the diagram may leave some out."""
    texts = [f'if {" and ".join(edge.conditions)}'] if edge.conditions else []
    texts += [f'unless {" or ".join(edge.unless)}'] if edge.unless else []
    return ' '.join(texts) or 'always'


def _order_lines(difference: ShapeDifference) -> Iterator[DifferenceLine]:
    for source, trigger in difference.reordered:
        names = tuple(
            dict.fromkeys(
                edge_name(edge)
                for edge in difference.new.edges
                if (edge.source, edge.trigger) == (source, trigger)
            )
        )
        words = f'tries its edges on {trigger.replace("_", " ")} in another order'
        yield DifferenceLine(kind='changed', subject=path_text(source), words=words, edges=names)


def change_count(difference: ShapeDifference) -> str:
    """Return how much changed in one line: *2 states and 1 edge added, 1 edge changed*."""
    parts: list[Any] = []
    for kind in ('added', 'removed', 'changed'):
        states = sum(state.kind == kind for state in difference.outermost())
        edges = sum(edge.kind == kind for edge in _edges_between(difference))
        numbers = [count(number, noun) for number, noun in ((states, 'state'), (edges, 'edge')) if number]
        if numbers:
            parts.append(f'{" and ".join(numbers)} {kind}')
    return ', '.join(parts)
