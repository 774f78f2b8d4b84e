"""Tokens and dollars as people read them: estimates are marked, and unknown is not 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.models import CHARACTERS_A_TOKEN
from engine.operations.rehearsal import Cost, Figures, Unbounded
from engine.records import Gauge, Usage, View
from ui.formatting.steps import duration, edges_text
from ui.formatting.values import compact, count

UNKNOWN = 'unknown'
COLUMNS: tuple[tuple[str, Callable[[Usage], int]], ...] = (
    ('Input', lambda usage: usage.input),
    ('Cached', lambda usage: usage.cached),
    ('Output', lambda usage: usage.output),
    ('Thinking', lambda usage: usage.reasoning),
)
OPTIONAL_COLUMNS = ('Cached', 'Thinking')
"""Columns omitted if empty."""


def token_count(usage: Usage, value: int) -> str:
    """Return a number of tokens: exact, marked as an estimate, or unknown."""
    if usage.source == 'missing':
        return f'{value:,}+' if value else UNKNOWN
    return f'{"≈" if usage.source == "estimated" else ""}{value:,}'


def dollars(amount: float) -> str:
    """Return an amount of money: $0, $0.0042, $1.27."""
    if amount == 0:
        return '$0'
    if amount < 0.0001:
        return 'under $0.0001'
    return f'${amount:.4f}' if amount < 0.1 else f'${amount:,.2f}'


def cost_text(usage: Usage) -> str:
    """Return the cost; if the price of a part is unknown, a lower bound, or unknown."""
    if usage.unpriced:
        return f'{dollars(usage.dollars)}+' if usage.dollars else UNKNOWN
    return dollars(usage.dollars)


def usage_summary(usage: Usage) -> str:
    """Return an agent's usage in a few words; '' if there is none."""
    sign = '≈' if usage.source == 'estimated' else ''
    parts = {'in': usage.input, 'out': usage.output}
    if usage.source == 'estimated' and not usage.input:
        parts.pop('in')  # the first reply is still streaming: its input is not known yet
    tokens = ', '.join(f'{sign}{compact(number)} {direction}' for direction, number in parts.items())
    if usage.source == 'missing':
        tokens = f'{compact(usage.total)}+ tokens' if usage.total else 'tokens unknown'
    known_as_none = not usage.total and usage.source != 'missing' and not usage.unpriced
    return '' if known_as_none else ' · '.join([tokens, *_cost(usage)])


def with_streamed(usage: Usage, characters: int) -> Usage:
    """Return the usage together with an estimate of a reply that is still being streamed."""
    if not characters:
        return usage
    source = usage.source if usage.source == 'missing' else 'estimated'
    return replace(usage, output=usage.output + -(-characters // CHARACTERS_A_TOKEN), source=source)


def usage_headline(usage: Usage) -> str:
    """Return a run's usage, for its header."""
    total = token_count(usage, usage.total)
    tokens = 'tokens unknown' if total == UNKNOWN else f'{total} tokens'
    calls = [count(usage.calls, 'call')] if usage.calls else []  # none while the first streams
    return ' · '.join([tokens, *calls, *_cost(usage)])


LIMITS = {'tokens': 'Tokens', 'cost': 'Cost', 'seconds': 'Time'}
"""The limits of a budget, as people see them."""


def amount_text(kind: str, amount: float) -> str:
    """Return dollars, a duration or a number of tokens; `kind` is that of the budget's limit."""
    if kind == 'tokens':
        return f'{amount:,.0f}'
    return dollars(amount) if kind == 'cost' else duration(amount)


def gauge_text(kind: str, gauge: Gauge) -> str:
    """Return how much of a limit is left: `$0.40 of $1.00 left, running low`; `kind` is that of the limit."""
    left = amount_text(kind, max(0.0, gauge.limit - gauge.used))
    word = {'spent': ', used up', 'low': ', running low', '': ''}[gauge_state(gauge)]
    return f'{left} of {amount_text(kind, gauge.limit)} left{word}'


def gauge_state(gauge: Gauge) -> str:
    """Return whether a limit is `spent`, or `low` on what is left; else ''."""
    return 'spent' if gauge.exhausted or gauge.used >= gauge.limit else 'low' if gauge.warned else ''


def _cost(usage: Usage) -> list[str]:
    """Return the cost, if there is any to report: simulated work costs nothing."""
    cost = cost_text(usage)
    return ['cost unknown' if cost == UNKNOWN else cost] if usage.unpriced or usage.dollars else []


def usage_rows(
    view: View, named: Callable[[str], str]
) -> tuple[list[str], list[tuple[str, list[list[str]]]]]:
    """Return usage by agent and by model.

    Returns:
        The column names, and groups of rows with their titles; the last one is the total.
    """
    agents = [(named(path), spent.total) for path, spent in sorted(view.spending.items())]
    models = sorted(view.models.items(), key=lambda item: -item[1].total)
    columns = [
        (name, read)
        for name, read in COLUMNS
        if name not in OPTIONAL_COLUMNS or any(read(usage) for _, usage in [*models, ('', view.usage)])
    ]

    def row(name: str, usage: Usage) -> list[str]:
        return [
            name,
            *(token_count(usage, read(usage)) for _, read in columns),
            f'{usage.calls:,}',
            cost_text(usage),
        ]

    def groups() -> Iterator[tuple[str, list[list[str]]]]:
        if agents:
            yield 'By agent', [row(*item) for item in agents]
        if models:
            yield 'By model', [row(*item) for item in models]
        yield 'Total', [row('Run', view.usage)]

    return ['', *(name for name, _ in columns), 'Calls', 'Cost'], list(groups())


def cache_note(usage: Usage, saving: float | None) -> str:
    """Describe what prompt caching did, or '' if nothing. `saving` is in dollars, None if unknown."""
    if not (usage.cached or usage.written):
        return ''
    share = f'{usage.cached / max(usage.input, 1):.0%}'
    text = f'Prompt caching: {usage.cached:,} of {usage.input:,} input tokens ({share}) came from the cache'
    if saving is None or not round(saving, 6):
        return f'{text}.'
    if saving < 0:
        return f'{text}; so far, writing to it has cost {dollars(-saving)} more than it saved.'
    return f'{text}, which saved about {dollars(saving)}.'


def usage_notes(view: View) -> list[str]:
    """Return caveats about the numbers, each with the models that it concerns."""
    usages = {**({'': view.usage} if view.usage.calls else {}), **view.models}

    def concerned(is_meant: Callable[[Usage], object], caveat: str) -> list[str]:
        names = [name for name, usage in usages.items() if is_meant(usage)]
        named = ', '.join(filter(None, names)) or 'some models'
        return [caveat.format(named)] if names else []

    return [
        *concerned(lambda usage: usage.source == 'estimated', '≈ is an estimate: {} reported no usage.'),
        *concerned(lambda usage: usage.source == 'missing', 'No token counts were reported by {}.'),
        *concerned(
            lambda usage: usage.unpriced,
            'The price of {} is not known; it can be set in the configuration file.',
        ),
    ]


def cost_sentence(cost: Cost) -> str:
    """Return the range of a run's calls and the most it can cost: `3 to 41 calls, at most $1.90`."""
    if open_end := cost.unbounded_calls:
        return f'No upper bound: {unbounded_text(open_end)}.'
    calls, least = int(cost.most.calls or 0), min(cost.least_calls, int(cost.most.calls or 0))
    numbers = count(calls, 'call') if least == calls else f'{compact(least)} to {count(calls, "call")}'
    price = '' if cost.most.dollars is None else f', at most {dollars(cost.most.dollars)}'
    return f'{numbers}{price if cost.most.dollars else ""}.'


def unbounded_text(item: Unbounded) -> str:
    """Return why a figure has no bound; an edge is named by the states it links."""
    if not item.edge:
        return item.text
    return f'nothing limits how often a run goes {edges_text([f"{item.state}>{item.dest}"])}'


def unbounded_lines(cost: Cost) -> list[str]:
    """Return why figures have no bound, each reason once; that a state has no time limit is left out."""
    figures: dict[str, list[str]] = {}
    for item in cost.unbounded:
        if item.edge or item.figure != 'seconds':
            figures.setdefault(unbounded_text(item), []).append(item.figure)
    return [f'{", ".join(names).capitalize()}: {text}.' for text, names in figures.items()]


def repeats_sentence(cost: Cost) -> str:
    """Return what each event of people adds at most: `hand back up to 164 calls`; '' if none does."""
    most: dict[str, float] = {}
    for repeat in cost.repeats:
        event = repeat.edge.partition(': ')[0].replace('_', ' ')
        most[event] = max(most.get(event, 0), math.inf if repeat.calls is None else repeat.calls)
    parts = [
        f'{event} {"any number of calls" if calls == math.inf else "up to " + count(int(calls), "call")}'
        for event, calls in most.items()
    ]
    return f'People can add to it, each time: {", ".join(parts)}.' if parts else ''


def usual_sentence(cost: Cost) -> str:
    """Return what recorded runs used on average, and how many there are."""
    if cost.usual is None:
        return 'No run of this pattern has ended yet, so nothing is known of its usual cost.'
    runs = count(cost.runs, 'recorded run')
    return f'Usual: {_figures_text(cost.usual)} (mean of {runs}).'


def _figures_text(figures: Figures) -> str:
    """Return figures in one line; those without a bound are left out."""
    parts = []
    for name, unit in (('calls', 'call'), ('tokens', 'token'), ('answers', 'answer of a person')):
        amount = getattr(figures, name)
        if amount:
            plural = 'answers of people' if name == 'answers' else ''
            parts.append(count(max(1, round(amount)), unit, plural))
    if figures.dollars:
        parts.append(dollars(figures.dollars))
    if figures.seconds:
        parts.append(f'{compact(max(1, round(figures.seconds)))} s')
    return ', '.join(parts) or 'nothing'


def figure(amount: float | None) -> str:
    """Return a number of a table; `no bound` if there is none."""
    return 'no bound' if amount is None else compact(round(amount))
