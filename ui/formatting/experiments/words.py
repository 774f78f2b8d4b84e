"""An experiment in words: its state, its variants by their changes, how far it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count as count_from
from typing import Any

from engine.operations.experiments import Experiment, Score, ScorerSpec, Variant
from engine.records import clip
from ui.formatting.experiments.table import CellTable, figure
from ui.formatting.steps import duration, role_title, short_json
from ui.formatting.usage import amount_text, dollars
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
MAX_PROPOSED = 60
"""Maximum number of characters of a name that is proposed."""
AS_IT_IS = 'as it is'
LIMITS = ('tokens', 'cost', 'seconds')
UNCHANGED = 'the base, unchanged'


def variant_words(variant: Variant) -> str:
    """Return a variant's change on one line."""
    return ', '.join(change_lines(variant.change)) or UNCHANGED


def change_lines(change: Mapping[str, Any]) -> list[str]:
    """Return each difference from the base in a few words."""
    return [part.words for part in change_parts(change)]


@dataclass(frozen=True, slots=True)
class ChangePart:
    """One difference of a variant from the base."""

    field: str
    """The field of the launch; `key` is the parameter, role or path, None if the whole field differs."""
    key: str | None
    words: str


def change_parts(change: Mapping[str, Any]) -> list[ChangePart]:
    """Return each difference from the base, in words."""
    parts = []
    for name, value in change.items():
        if isinstance(value, Mapping) and name in (*BY_NAME, 'parameters', 'files'):
            parts += [ChangePart(name, key, _entry_words(name, key, item)) for key, item in value.items()]
        else:
            parts.append(ChangePart(name, None, _field_words(name, value)))
    return parts


def without_part(change: Mapping[str, Any], part: ChangePart) -> dict[str, Any]:
    """Return a change without one of its differences."""
    left = dict(change)
    value = left.pop(part.field)
    if part.key is not None and len(value) > 1:
        left[part.field] = {key: item for key, item in value.items() if key != part.key}
    return left


def proposed_name(change: Mapping[str, Any], taken: Collection[str] = ()) -> str:
    """Return a name for a variant by its change, which is none of those that are taken."""
    return free_name(clip(', '.join(change_lines(change)), MAX_PROPOSED) or AS_IT_IS, taken)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name, with another number if it is taken."""
    stem = re.sub(r' \(\d+\)$', '', name)
    numbered = (f'{stem} ({number})' for number in count_from(2))
    return name if name not in taken else next(other for other in numbered if other not in taken)


def _entry_words(name: str, key: str, value: Any) -> str:
    if name in ('parameters', 'files'):
        given = f'{key.replace("_", " ")} = {short_json(value, MAX_VALUE)}'
        file = f'{"without the " if value is None else ""}file {key}'
        return given if name == 'parameters' else file
    who = role_title(key) if key else 'all'
    if value is None:
        return f'{who}: {name} of the pattern'
    if name == 'instructions':
        return f'{who}: “{clip(" ".join(str(value).split()), MAX_VALUE)}”'
    if name == 'tools':
        return f'{who}: {", ".join(map(str, value)) or "no tools"}'
    if name == 'stubs':
        return f'{who}: {count(len(value), "stub") if isinstance(value, list | tuple) else "stubs"}'
    return f'{who}: {"effort " if name == "effort" else ""}{value}'


def _field_words(name: str, value: Any) -> str:
    if name == 'budget':
        limits = value if isinstance(value, Mapping) else {}
        words = [
            amount_text(kind, limits[kind]) + ' tokens' * (kind == 'tokens')
            for kind in LIMITS
            if isinstance(limits.get(kind), int | float)
        ]
        return f'budget: {", ".join(words) or "none"}'
    if name in ('pattern', 'version'):
        return f'{name} {value or "of today"}'
    return f'{name.replace("_", " ")} = {short_json(value, MAX_VALUE)}'


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
