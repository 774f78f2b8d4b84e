"""What a step is in words, and what the lists of commands share in style."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from engine import Guard, Shape, Status, Transition, Usage, message_of
from ui.plain import short
from ui.presenters.reading import innermost, span

STYLES = {
    Status.RUNNING: 'cyan',
    Status.PAUSED: 'yellow',
    Status.WAITING: 'magenta',
    Status.DONE: 'green',
    Status.FAILED: 'red',
    Status.CANCELLED: 'yellow',
}
UNBOUNDED = 10_000
"""Columns of an output that is no terminal: nothing is cut there."""


def console(*, stderr: bool = False) -> Console:
    """Where a command writes; text is not read as markup."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNBOUNDED
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def when(time: float) -> str:
    """A time as a list shows it, in the zone of this machine."""
    return f'{datetime.fromtimestamp(time, tz=UTC).astimezone():%Y-%m-%d %H:%M:%S}'


def used(usage: Usage) -> str:
    """Tokens, and what they cost where they cost something; what is not known is said to be so."""
    about = '' if usage.source == 'provider' else 'about '
    cost = f' · {amount("cost", usage.dollars)}' if usage.dollars else ''
    unknown = f' · price of {usage.unpriced} calls not known' if usage.unpriced else ''
    return f'{about}{usage.total:,} tokens{cost}{unknown}'


def amount(kind: str, value: float) -> str:
    """An amount of a budget."""
    if kind == 'cost':
        return f'${value:,.2f}' if value >= 0.1 or not value else f'${value:.4f}'
    return f'{value:,.0f} tokens' if kind == 'tokens' else span(value)


def moved(transition: Transition) -> str:
    """Where a step leads: the leaves that were entered."""
    entered = innermost(transition.entered)
    if entered:
        return f'→ {", ".join(entered)}'
    return 'stays' if transition.active else 'ends'


def named(transition: Transition) -> str:
    """What happened, and to whom."""
    event = transition.event
    return f'{event.name} {event.at}' if event.at else event.name


def remark(transition: Transition) -> str:
    """What is worth saying of a step beside where it leads: tools asked for, errors, retries."""
    data = transition.event.data
    match transition.event.name:
        case 'retry':
            problem = short(str(data.get('error', '')))
            return f'attempt {transition.event.attempt} in {data.get("delay", 0)} s: {problem}'
        case 'failed' | 'expired' | 'abort':
            return short(str(data.get('error', '')), 200)
        case 'cancel' | 'warn' | 'exhaust' | 'pause' | 'step' | 'breakpoints':
            return short(_reason(data), 200)
        case 'done' if 'message' in data and not transition.raised:
            return ', '.join(
                f'asks for {call.name} {short(call.arguments, 60)}'
                for call in message_of(data['message']).calls
            )
        case 'done' if 'results' in data and not transition.raised:
            return ', '.join(
                f'{result["name"]} {"gives" if result["ok"] else "refuses"} {short(result["text"], 60)}'
                for result in data['results']
            )
    return ''


def _reason(data: Mapping[str, Any]) -> str:
    """Why, or how, a control event came about."""
    problems = [f'breakpoint {number}: {problem}' for number, problem in data.get('problems', {}).items()]
    count = [f'{len(data["breakpoints"])} set'] if 'breakpoints' in data and 'reason' not in data else []
    return str(data.get('reason') or data.get('how') or '; '.join([*problems, *count]))


def asked(guards: Iterable[Guard]) -> list[str]:
    """The guards that were evaluated, as `name yes` or `name no`."""
    return [f'{guard.name} {"yes" if guard.value else "no"}' for guard in guards]


def of_workflow(transition: Transition, shape: Shape) -> bool:
    """Whether a step moves the workflow itself, not only an agent inside one of its states."""
    tops = {state.path for state in shape.states if not state.parent}
    return any(path in tops for path in (*transition.left, *transition.entered))


def value_of(value: Any, length: int = 100) -> str:
    """A JSON value on one line."""
    return short(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), length)
