"""An experiment in words: its state, its variants by their changes, how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.operations.experiments import Experiment, Score, ScorerSpec, Variant
from engine.records import clip
from ui.formatting.experiments.table import CellTable, figure
from ui.formatting.steps import duration, role_title, short_json
from ui.formatting.usage import dollars
from ui.formatting.values import count

MAX_VALUE = 40
"""Maximum number of characters shown of a value."""
MAX_SETTINGS = 160
"""And of the settings of a scorer."""
STATES: Mapping[str, tuple[str, str]] = {
    'running': ('Running', 'running'),
    'scoring': ('Scoring', 'running'),
    'paused': ('Paused', 'paused'),
    'done': ('Done', 'done'),
    'cancelled': ('Cancelled', 'cancelled'),
    'failed': ('Failed', 'failed'),
}
"""The words for a state, and the class of its pill."""
BY_NAME = ('models', 'effort', 'instructions', 'tools', 'stubs')
LONG = ('instructions', 'stubs')
"""Fields whose values are too long to be shown."""
UNCHANGED = 'the base, unchanged'


def variant_words(variant: Variant) -> str:
    """Return a variant's change on one line."""
    return ', '.join(change_lines(variant.change)) or UNCHANGED


def change_lines(change: Mapping[str, Any]) -> list[str]:
    """Return each difference from the base in a few words."""
    return [line for name, value in change.items() for line in _lines(name, value)]


def _lines(name: str, value: Any) -> Iterator[str]:
    if name == 'parameters' and isinstance(value, Mapping):
        for key, item in value.items():
            yield f'{key.replace("_", " ")} = {short_json(item, MAX_VALUE)}'
    elif name == 'files' and isinstance(value, Mapping):
        for path in value:
            yield f'file {path}'
    elif name in BY_NAME and isinstance(value, Mapping):
        for role, item in value.items():
            who = role_title(role) if role else 'all'
            if name in LONG:
                yield f'{who}: other {name}'
            elif name == 'tools':
                yield f'{who}: {", ".join(map(str, item)) or "no tools"}'
            else:
                yield f'{who}: {"effort " if name == "effort" else ""}{item}'
    elif name == 'budget' and isinstance(value, Mapping):
        limits = [f'{key} {item}' for key, item in value.items() if item is not None]
        yield f'budget: {", ".join(limits) or "none"}'
    else:
        yield f'{name} = {short_json(value, MAX_VALUE)}'


def settings_words(spec: ScorerSpec) -> str:
    """Return a scorer's settings on one line."""
    parts = (
        f'{name.replace("_", " ")}: {value if isinstance(value, str) else short_json(value, MAX_VALUE)}'
        for name, value in spec.settings.items()
    )
    return clip(', '.join(parts), MAX_SETTINGS)


def size_words(cases: int, variants: int, repeats: int) -> str:
    """Return the size of an experiment: 8 cases × 3 variants × 2 repeats."""
    parts = [count(cases, 'case'), count(variants, 'variant')]
    if repeats > 1:
        parts.append(count(repeats, 'repeat'))
    return ' \N{MULTIPLICATION SIGN} '.join(parts)


def progress_words(table: CellTable, planned: int) -> str:
    """Return how far an experiment is: 37 of 48 runs · 2 running · 1 failed."""
    ended = failed = 0
    for line in table.runs():
        ended += line.state != 'running'
        failed += line.has_failed
    parts = [f'{ended:,} of {count(planned, "run")}']
    parts += [f'{len(table.running):,} running'] if table.running else []
    parts += [f'{failed:,} failed'] if failed else []
    return ' · '.join(parts)


def spent_words(table: CellTable, experiment: Experiment) -> str:
    """Return what all runs so far have used, against the budget."""
    costs = [line.dollars for line in table.runs()]
    known = sum(cost for cost in costs if cost is not None)
    limit = experiment.budget.cost if experiment.budget else None
    cost = dollars(known) + ('+' if None in costs else '')
    of = f' of {dollars(limit)}' if limit else ''
    tokens = count(sum(line.tokens for line in table.runs()), 'token')
    return f'{cost}{of} · {tokens} · {duration(sum(line.seconds for line in table.runs()))} of work'


def score_words(score: Score | None) -> str:
    """Return a score, or that there is none: 0.83, not scored."""
    if score is None:
        return '–'
    if score.value is None:
        return 'to be scored' if score.waits else 'not scored'
    return figure(score.value)
