"""Tokens and dollars as people read them: what is estimated is marked, and what is not known is not 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine import Usage, View
from ui.presenters.words import compact, count

UNKNOWN = 'unknown'
COLUMNS: tuple[tuple[str, Callable[[Usage], int]], ...] = (
    ('Input', lambda usage: usage.input),
    ('Cached', lambda usage: usage.cached),
    ('Output', lambda usage: usage.output),
    ('Thinking', lambda usage: usage.reasoning),
)
SELDOM = ('Cached', 'Thinking')
"""Columns that are left out where nothing is in them."""


def number(usage: Usage, value: int) -> str:
    """A number of tokens: as counted, with a sign where it is estimated, or unknown."""
    if usage.source == 'missing':
        return f'{value:,}+' if value else UNKNOWN
    return f'{"≈" if usage.source == "estimated" else ""}{value:,}'


def dollars(amount: float) -> str:
    """An amount of money: $0, $0.0042, $1.27."""
    if amount == 0:
        return '$0'
    if amount < 0.0001:
        return 'under $0.0001'
    return f'${amount:.4f}' if amount < 0.1 else f'${amount:,.2f}'


def money(usage: Usage) -> str:
    """What it cost; where the price of a part is not known, that it is more, or not known."""
    if usage.unpriced:
        return f'{dollars(usage.dollars)}+' if usage.dollars else UNKNOWN
    return dollars(usage.dollars)


def in_short(usage: Usage) -> str:
    """What an agent has used, in few words; '' where that is nothing."""
    sign = '≈' if usage.source == 'estimated' else ''
    tokens = f'{sign}{compact(usage.input)} in, {sign}{compact(usage.output)} out'
    if usage.source == 'missing':
        tokens = f'{compact(usage.total)}+ tokens' if usage.total else 'tokens unknown'
    known_as_none = not usage.total and usage.source != 'missing' and not usage.unpriced
    return '' if known_as_none else ' · '.join([tokens, *_cost(usage)])


def headline_of(usage: Usage) -> str:
    """What a run has used, for its head."""
    total = number(usage, usage.total)
    tokens = 'tokens unknown' if total == UNKNOWN else f'{total} tokens'
    return ' · '.join([tokens, count(usage.calls, 'call'), *_cost(usage)])


def _cost(usage: Usage) -> list[str]:
    """The cost, where there is anything to say of it: what is simulated costs nothing."""
    said = money(usage)
    return ['cost unknown' if said == UNKNOWN else said] if usage.unpriced or usage.dollars else []


def table(view: View, named: Callable[[str], str]) -> tuple[list[str], list[tuple[str, list[list[str]]]]]:
    """What was used, by agent and by model.

    Returns:
        The names of the columns, and groups of rows with their titles; the last one is the whole.
    """
    agents = [(named(path), spent.total) for path, spent in sorted(view.spending.items())]
    models = sorted(view.models.items(), key=lambda item: -item[1].total)
    columns = [
        (name, read)
        for name, read in COLUMNS
        if name not in SELDOM or any(read(usage) for _, usage in [*models, ('', view.usage)])
    ]

    def row(name: str, usage: Usage) -> list[str]:
        return [name, *(number(usage, read(usage)) for _, read in columns), f'{usage.calls:,}', money(usage)]

    def groups() -> Iterator[tuple[str, list[list[str]]]]:
        if agents:
            yield 'By agent', [row(*item) for item in agents]
        if models:
            yield 'By model', [row(*item) for item in models]
        yield 'Together', [row('The whole run', view.usage)]

    return ['', *(name for name, _ in columns), 'Calls', 'Cost'], list(groups())


def notes(view: View) -> list[str]:
    """What is to be known of the numbers."""
    usage = view.usage
    told = [*([usage] if usage.calls else []), *view.models.values()]
    found = []
    if any(item.source == 'estimated' for item in told):
        found.append('≈ is an estimate: the provider gave no numbers.')
    if any(item.source == 'missing' for item in told):
        found.append('Some calls came without numbers of tokens.')
    if any(item.unpriced for item in told):
        found.append('The price of some models is not known; it can be set in the endpoints’ file.')
    return found
