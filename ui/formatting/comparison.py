"""Two runs compared in words: where and why they diverge, and how the numbers differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine import Transition
from engine.history import Comparison, Divergence, GuardDifference, Row, RunStats
from engine.records import EdgeShape
from ui.formatting.steps import answer_text, duration, edges_text, guard_text, innermost, path_text
from ui.formatting.usage import cost_text, dollars
from ui.formatting.values import count, status_text

FACETS = {
    'text': 'different text',
    'tools': 'different tools or results',
    'files': 'different files',
    'model': 'different model',
    'guards': 'different guard results',
    'data': 'different data',
}
"""How steps on the same path can differ."""
KINDS = {'same': 'Both', 'apart': 'Different', 'only-a': 'Only A', 'only-b': 'Only B'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure of both runs."""

    name: str
    a: str
    b: str
    difference: str
    """In words: how much more or less in B; '' if equal."""


def verdict_sentence(comparison: Comparison) -> str:
    """Say whether the runs took the same path, in a sentence or two."""
    divergence = comparison.divergence
    if divergence is not None:
        return f'The runs diverge {_describe_place(divergence)}. {divergence_reason(comparison, divergence)}'
    if comparison.a.info.id == comparison.b.info.id:
        return f'The same run twice: {count(comparison.a.view.seq, "step")}, all identical.'
    if comparison.same_path:
        # Retries, say, may differ on the same path.
        same_length = comparison.a.view.seq == comparison.b.view.seq
        steps = f', all {count(comparison.a.view.seq, "step")}' if same_length else ''
        sentence = f'The runs took the same path{steps}.'
    else:
        shared = sum(row.kind == 'same' for row in comparison.rows)
        sentence = (
            f'So far the runs took the same path, {count(shared, "step")}.{_describe_unfinished(comparison)}'
        )
    apart = sum(bool(row.facets) for row in comparison.rows)
    return f'{sentence} In {count(apart, "step")}, output or tool calls differ.' if apart else sentence


def divergence_reason(comparison: Comparison, divergence: Divergence) -> str:
    """Explain why they diverge, in a sentence."""
    a, b = divergence.a, divergence.b
    if a is None or b is None:
        step, side = (b, 'A') if a is None else (a, 'B')
        assert step is not None
        tally = comparison.a if side == 'A' else comparison.b
        other = 'B' if side == 'A' else 'A'
        ended = tally.view.status.ended and not divergence.region
        was = f'ended ({_outcome(tally).lower()})' if ended else 'stops there'
        return f'{side} {was}, and {other} {_describe_step(step)}.'
    both = f'A {_describe_step(a)}, B {_describe_step(b)}'
    match divergence.cause:
        case 'guard' if divergence.guards:
            # One that answered differently explains why others are no longer evaluated.
            in_both = [guard for guard in divergence.guards if None not in (guard.a, guard.b)]
            answers = (
                f'{guard_text(guard.name, guard.a, _edge_of(comparison, guard))} in A,'
                f' {answer_text(guard.b)} in B'
                for guard in in_both or divergence.guards
            )
            reasons = list(dict.fromkeys(answers))  # one guard may be on several edges
            more = f' (and {len(reasons) - 3} more)' if len(reasons) > 3 else ''
            return f'{". ".join(reasons[:3])}{more}: {both}.'
        case 'event':
            return f'A received “{_event(a)}”, B “{_event(b)}”: {both}.'
    return f'{both}.'


def _edge_of(comparison: Comparison, guard: GuardDifference) -> EdgeShape | None:
    for edge in comparison.a.shape.edges:
        ends = edge.source, edge.dest
        if ends == (guard.source, guard.dest) and guard.name in (*edge.conditions, *edge.unless):
            return edge
    return None


def _outcome(tally: RunStats) -> str:
    return status_text(tally.view.status, tally.view.error)


def measures(comparison: Comparison) -> list[Measure]:
    """Return the measures of both runs, with their differences."""
    a, b = comparison.a, comparison.b
    return [
        Measure(
            name='Outcome', a=_outcome(a), b=_outcome(b),
            difference='' if _outcome(a) == _outcome(b) else 'differs',
        ),
        *_measures(a, b),
        Measure(
            name='Cost', a=cost_text(a.view.usage), b=cost_text(b.view.usage), difference=_cost(a, b),
        ),
    ]  # fmt: skip


NUMBERS: tuple[tuple[str, Callable[[RunStats], int]], ...] = (
    ('Steps', lambda side: side.view.seq),
    ('Tokens in', lambda side: side.view.usage.input),
    ('Tokens out', lambda side: side.view.usage.output),
    ('Model calls', lambda side: side.view.usage.calls),
    ('Tool calls', lambda side: sum(side.tools.values())),
    ('States re-entered', lambda side: side.loops),
    ('Errors', lambda side: side.errors),
    ('Retries', lambda side: side.retries),
    ('Human actions', lambda side: side.people),
)


def _measures(a: RunStats, b: RunStats) -> Iterator[Measure]:
    times = a.view.seconds, b.view.seconds
    much = abs(times[1] - times[0])
    differs = f'{_sign(times)}{duration(much)}, {_more(times)} in B' if much >= 0.05 else ''
    yield Measure(name='Working time', a=duration(times[0]), b=duration(times[1]), difference=differs)
    for name, read in NUMBERS:
        values = read(a), read(b)
        yield Measure(name=name, a=f'{values[0]:,}', b=f'{values[1]:,}', difference=difference(*values))


def difference(a: int, b: int) -> str:
    """Return how much more or less in B: a sign, a number, a word; '' if equal."""
    return '' if a == b else f'{_sign((a, b))}{abs(b - a):,}, {_more((a, b))} in B'


def _cost(a: RunStats, b: RunStats) -> str:
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


def row_text(row: Row) -> str:
    """Describe what the steps of a row did."""
    return _event_text(row.event, row.edges)


def row_other(row: Row) -> str:
    """Describe what B's step did, if the runs diverge there."""
    event, *edges = row.other or ('',)
    return _event_text(event, tuple(edges))


def _event_text(event: str, edges: tuple[str, ...]) -> str:
    moved = edges_text(edges)
    if moved and event in ('done', 'start'):
        return moved
    return f'{moved} ({"automatic" if event == "always" else event})' if moved else event


def _describe_place(divergence: Divergence) -> str:
    steps = [
        f'at step {step.seq} of {side}' for side, step in (('A', divergence.a), ('B', divergence.b)) if step
    ]
    region = f', in {path_text(divergence.region)}' if divergence.region else ''
    return f'{" and ".join(steps)}{region}'


def _describe_step(step: Transition) -> str:
    dests = innermost(dict.fromkeys(edge.dest or edge.source for edge in step.edges))
    if not dests:
        return f'took “{_event(step)}”' if step.active else f'ended by “{_event(step)}”'
    return f'went to {", ".join(map(path_text, dests))}'


def _event(step: Transition) -> str:
    return f'{step.event.name} · {path_text(step.event.at)}' if step.event.at else step.event.name


def _describe_unfinished(comparison: Comparison) -> str:
    going = [
        side for side, tally in (('A', comparison.a), ('B', comparison.b)) if not tally.view.status.ended
    ]
    cut = ' Only the first steps of these long runs were compared.' if any(comparison.beyond) else ''
    return f' {" and ".join(going)} {"are" if len(going) > 1 else "is"} still running.{cut}' if going else cut


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return further notes: how the runs are related, what was not compared."""
    notes = []
    if comparison.shared:
        notes.append(f'The first {count(comparison.shared, "step")} are shared: the fork inherited them.')
    patterns = comparison.a.info.pattern, comparison.b.info.pattern
    if patterns[0] != patterns[1]:
        notes.append(f'A is a {patterns[0]}, B is a {patterns[1]}: few steps can be matched.')
    elif comparison.a.shape != comparison.b.shape:
        notes.append('The charts differ; the diagram merges both.')
    versions = comparison.a.info.version, comparison.b.info.version
    if patterns[0] == patterns[1] and versions[0] != versions[1] and all(versions):
        notes.append(f'Different versions of {patterns[0]}: A {versions[0]}, B {versions[1]}.')
    for side, beyond in zip('AB', comparison.beyond, strict=True):
        if beyond:
            notes.append(
                f'The last {count(beyond, "step")} of {side} were not compared: the run is too long.'
            )
    return notes
