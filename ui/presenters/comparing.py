"""Two runs beside each other in words: where they part and why, and what differs in numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine import Comparison, Divergence, Row, Tally, Transition, parent_of
from ui.presenters.reading import innermost, place, span
from ui.presenters.spending import dollars, money
from ui.presenters.words import WORDS, count

FACETS = {
    'text': 'other words',
    'tools': 'other tools or results',
    'files': 'other files',
    'model': 'another model',
    'guards': 'guards answered otherwise',
    'data': 'other data',
}
"""In what steps differ that went the same way."""
KINDS = {'same': 'Both', 'apart': 'Apart', 'only-a': 'Only A', 'only-b': 'Only B'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measure of both runs."""

    name: str
    a: str
    b: str
    difference: str
    """In words: how much more or less in B; '' where they are the same."""


def verdict(found: Comparison) -> str:
    """Whether they went the same way, in a sentence or two."""
    parted = found.divergence
    if parted is not None:
        return f'They part {_where(parted)}. {reason(found, parted)}'
    if found.a.info.id == found.b.info.id:
        return f'This is one run beside itself: {count(len(found.rows), "step")}, all the same.'
    told = ''
    if found.same_way:
        told = f'They went the same way, all {count(len(found.rows), "step")} of it.'
    else:
        shared = sum(row.kind == 'same' for row in found.rows)
        told = f'So far they went the same way, {count(shared, "step")} of it.{_goes_on(found)}'
    apart = sum(bool(row.facets) for row in found.rows)
    return f'{told} In {count(apart, "step")} they said or did something else.' if apart else told


def reason(found: Comparison, parted: Divergence) -> str:
    """Why they part, in a sentence."""
    a, b = parted.a, parted.b
    if a is None or b is None:
        gone, side = (b, 'A') if a is None else (a, 'B')
        assert gone is not None
        tally = found.a if side == 'A' else found.b
        other = 'B' if side == 'A' else 'A'
        ended = tally.view.status.ended and not parted.region
        was = f'is {WORDS[tally.view.status].lower()}' if ended else 'goes no further there'
        return f'{side} {was}, and {other} {_went(gone)}.'
    ways = f'A {_went(a)}, B {_went(b)}'
    match parted.cause:
        case 'guard':
            # Which guards are not asked any more follows from one that answered otherwise.
            both = [one for one in parted.guards if None not in (one.a, one.b)] or parted.guards
            said = [
                f'“{one.name.replace("_", " ")}” was {_answer(one.a)} in A and {_answer(one.b)} in B'
                for one in both
            ]
            guards = list(dict.fromkeys(said))  # one guard may stand on several edges
            more = f' (and {len(guards) - 3} more)' if len(guards) > 3 else ''
            return f'The guard {", ".join(guards[:3])}{more}: {ways}.'
        case 'event':
            return f'In A came “{_event(a)}”, in B “{_event(b)}”: {ways}.'
    return f'{ways}.'


def lines(found: Comparison) -> list[Line]:
    """The measures of both, with the differences."""
    a, b = found.a, found.b
    return [
        Line(
            name='Outcome', a=WORDS[a.view.status], b=WORDS[b.view.status],
            difference='' if a.view.status == b.view.status else 'differs',
        ),
        *_measures(a, b),
        Line(
            name='Cost', a=money(a.view.usage), b=money(b.view.usage), difference=_cost(a, b),
        ),
    ]  # fmt: skip


NUMBERS: tuple[tuple[str, Callable[[Tally], int]], ...] = (
    ('Steps', lambda side: side.view.seq),
    ('Tokens in', lambda side: side.view.usage.input),
    ('Tokens out', lambda side: side.view.usage.output),
    ('Model calls', lambda side: side.view.usage.calls),
    ('Tool calls', lambda side: sum(side.tools.values())),
    ('States entered again', lambda side: side.loops),
    ('Errors', lambda side: side.errors),
    ('Retries', lambda side: side.retries),
    ('Deeds of people', lambda side: side.people),
)


def _measures(a: Tally, b: Tally) -> Iterator[Line]:
    times = a.view.seconds, b.view.seconds
    much = abs(times[1] - times[0])
    differs = f'{_sign(times)}{span(much)}, {_more(times)} in B' if much >= 0.05 else ''
    yield Line(name='Time at work', a=span(times[0]), b=span(times[1]), difference=differs)
    for name, read in NUMBERS:
        values = read(a), read(b)
        yield Line(name=name, a=f'{values[0]:,}', b=f'{values[1]:,}', difference=difference(*values))


def difference(a: int, b: int) -> str:
    """How much more or less in B: a sign, a number, a word; '' where it is the same."""
    return '' if a == b else f'{_sign((a, b))}{abs(b - a):,}, {_more((a, b))} in B'


def _cost(a: Tally, b: Tally) -> str:
    costs = a.view.usage.cost, b.view.usage.cost
    if costs[0] is None or costs[1] is None:
        return '' if costs[0] == costs[1] and a.view.usage == b.view.usage else 'not known'
    values = costs[0], costs[1]
    return (
        ''
        if values[0] == values[1]
        else f'{_sign(values)}{dollars(abs(values[1] - values[0]))}, {_more(values)} in B'
    )


def _sign(values: tuple[float, float]) -> str:
    return '+' if values[1] > values[0] else '−'  # noqa: RUF001  (a minus sign)


def _more(values: tuple[float, float]) -> str:
    return 'more' if values[1] > values[0] else 'less'


def shown_edges(edges: tuple[str, ...]) -> str:
    """Edges in words: `reviewing → analyzing`; what both ends are in is said once."""
    return ', '.join(map(_shown, edges))


def _shown(edge: str) -> str:
    source, _, dest = edge.partition('>')
    around = parent_of(source)
    if source == '[*]':
        return f'start → {place(dest)}'
    if dest == source:
        return f'{place(source)} → itself'
    if around and around == parent_of(dest):
        return f'{place(around)}: {place(source[len(around) + 1 :])} → {place(dest[len(around) + 1 :])}'
    return f'{place(source)} → {place(dest)}'


def row_text(row: Row) -> str:
    """What the steps of a row did."""
    return _told(row.event, row.edges)


def row_other(row: Row) -> str:
    """What the step of B did, where they are apart."""
    event, *edges = row.other or ('',)
    return _told(event, tuple(edges))


def _told(event: str, edges: tuple[str, ...]) -> str:
    moved = shown_edges(edges)
    usual = event in ('done', 'always', 'start')
    return moved if moved and usual else ' · '.join(filter(None, (moved, event)))


def _where(parted: Divergence) -> str:
    steps = [f'at step {step.seq} of {side}' for side, step in (('A', parted.a), ('B', parted.b)) if step]
    region = f', in {place(parted.region)}' if parted.region else ''
    return f'{" and ".join(steps)}{region}'


def _went(step: Transition) -> str:
    dests = innermost(dict.fromkeys(edge.dest or edge.source for edge in step.edges))
    if not dests:
        return f'took “{_event(step)}”' if step.active else f'ended by “{_event(step)}”'
    return f'went to {", ".join(map(place, dests))}'


def _event(step: Transition) -> str:
    return f'{step.event.name} · {place(step.event.at)}' if step.event.at else step.event.name


def _answer(value: bool | None) -> str:
    return 'not asked' if value is None else str(value).lower()


def _goes_on(found: Comparison) -> str:
    going = [side for side, tally in (('A', found.a), ('B', found.b)) if not tally.view.status.ended]
    cut = ' Only the first steps of these long runs were compared.' if any(found.beyond) else ''
    return f' {" and ".join(going)} {"go" if len(going) > 1 else "goes"} on.{cut}' if going else cut


def said_of(found: Comparison) -> list[str]:
    """What there is to know beside: how they are related, what was left out."""
    notes = []
    if found.shared:
        notes.append(f'The first {count(found.shared, "step")} they have in common: a fork took them over.')
    if found.a.info.pattern != found.b.info.pattern:
        notes.append(
            f'A is a {found.a.info.pattern}, B is a {found.b.info.pattern}: little can answer each other.'
        )
    elif found.a.shape != found.b.shape:
        notes.append('Their charts differ: the diagram shows what is in either.')
    for side, beyond in zip('AB', found.beyond, strict=True):
        if beyond:
            notes.append(f'The last {count(beyond, "step")} of {side} were not compared: there are too many.')
    return notes
