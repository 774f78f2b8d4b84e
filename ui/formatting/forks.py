"""Describes what a fork changes, and what it may cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine import Transition
from engine.history import CostEstimate
from engine.records import RunInfo
from ui.formatting.steps import duration, pointer_text, role_title, short_json
from ui.formatting.usage import dollars as money
from ui.formatting.values import count

BASES = {
    'parent': 'an estimate from what the original used after this step',
    'runs': 'an estimate from other runs of this pattern, first step to last',
    'none': '',
}
FREE = 'Free: no provider is called.'
BEYOND = 'Free while the recording lasts. If the fork goes beyond it, live models are called.'


def turn_sentence(step: int, end: int) -> str:
    """Name the steps that a fork keeps after the one requested: its immediate consequences."""
    if end == step + 1:
        return f'Step {end} is an immediate consequence of step {step} and is kept with it.'
    return f'Steps {step + 1} to {end} are immediate consequences of step {step} and are kept with it.'


def cost_sentence(forecasts: Sequence[CostEstimate]) -> tuple[bool, str]:
    """Return whether the forks are certain to cost nothing, and what they may use in total."""
    if not forecasts:
        return True, ''
    if all(forecast.free for forecast in forecasts):
        takes = _sum([forecast.seconds for forecast in forecasts])
        about = f'about {duration(takes)}' if takes and takes >= 1 else 'less than a second'
        return True, f'{FREE} It takes {about}.' if takes else FREE
    paying = [forecast for forecast in forecasts if not forecast.free]
    calls = _sum([forecast.calls for forecast in paying])
    tokens = _sum([forecast.tokens for forecast in paying])
    cost = _sum([forecast.dollars for forecast in paying])
    seconds = _sum([forecast.seconds for forecast in paying])
    if calls is None or tokens is None:
        return False, 'Calls live models. The cost is unknown: no similar run has ended yet.'
    if not round(calls):
        return False, BEYOND
    facts = [
        count(round(calls), 'live call'),
        f'{round(tokens):,} tokens',
        money(cost) if cost is not None else 'an unknown cost',
        *([duration(seconds)] if seconds is not None else []),
    ]
    return False, f'About {", ".join(facts[:-1])} and {facts[-1]}: {BASES[paying[0].basis]}.'


def _sum(amounts: Sequence[float | None]) -> float | None:
    known_amounts = [amount for amount in amounts if amount is not None]
    return sum(known_amounts) if len(known_amounts) == len(amounts) else None


MAX_VALUE = 40
"""Maximum number of characters shown of a value."""
SAME = 'as the original'


def summarize_overrides(parent: RunInfo | None, info: RunInfo, begin: Transition | None) -> str:
    """Return the overrides of a fork, on one line.

    Args:
        parent: the run that was forked; None if it no longer exists.
        info: the fork.
        begin: its own first step, which holds its edits.
    """
    changes = [*_edits(begin.event.data if begin else {}), *(_settings(parent, info) if parent else ())]
    if dict(info.options.get('play') or {}).get('after') == 'recorded':
        changes.append('replayed')
    return ', '.join(dict.fromkeys(changes)) or SAME


def _edits(data: Mapping[str, Any]) -> Iterator[str]:
    for change in data.get('changes') or ():
        pointer = str(change['path'])
        if pointer.startswith('/memory/'):
            yield f'{pointer_text(pointer)} = {short_json(change.get("value"), MAX_VALUE)}'
        elif '/messages/' in pointer:
            yield 'agents got different messages'


def _settings(parent: RunInfo, info: RunInfo) -> Iterator[str]:
    for name, value in info.parameters.items():
        if value != parent.parameters.get(name):
            yield f'{name.replace("_", " ")} = {short_json(value, MAX_VALUE)}'
    for role, model in info.models.items():
        if model != parent.models.get(role, parent.models.get('')):
            yield f'{role_title(role) if role else "all"}: {model}'
    before, now = (dict(run.options.get('effort') or {}) for run in (parent, info))
    for role in dict.fromkeys([*before, *now]):
        if now.get(role) != before.get(role):
            level = now.get(role)
            yield f'{role_title(role) if role else "all"}: {f"effort {level}" if level else "default effort"}'
    for what in ('instructions', 'tools'):
        before, now = (dict(run.options.get(what) or {}) for run in (parent, info))
        for role in now:
            if now[role] != before.get(role):
                yield f'{role_title(role)}: different {what}'
