"""Descriptions of steps, and styles shared by commands that list runs or steps."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from engine import Status, Transition
from engine.records import GuardResult, Shape, Usage, calls_of, results_of
from ui.formatting.plain_text import one_line
from ui.formatting.steps import duration, innermost

STYLES = {
    Status.RUNNING: 'cyan',
    Status.PAUSED: 'yellow',
    Status.WAITING: 'magenta',
    Status.DONE: 'green',
    Status.FAILED: 'red',
    Status.CANCELLED: 'yellow',
}


def style_of(status: Status, error: str = '') -> str:
    """Return the colour of a run's status; a run that is done with an `error` fell short."""
    return 'yellow' if status is Status.DONE and error else STYLES[status]


def status_in_color(status: Status, error: str = '') -> Text:
    """Return a run's status in its colour, by `style_of`."""
    short = status is Status.DONE and error
    return Text('done with issues' if short else str(status), style=style_of(status, error))


UNBOUNDED = 10_000
"""Width of an output that is not a terminal, where nothing is cut."""


def console(*, stderr: bool = False) -> Console:
    """Return the console that a command writes to; text is not interpreted as markup."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNBOUNDED
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def format_time(time: float) -> str:
    """Format a time as lists show it, in this machine's time zone."""
    return f'{datetime.fromtimestamp(time, tz=UTC).astimezone():%Y-%m-%d %H:%M:%S}'


def format_usage(usage: Usage) -> str:
    """Format tokens, and their cost if there is any; unknown amounts are marked as such."""
    about = '' if usage.source == 'provider' else 'about '
    cost = f' · {format_amount("cost", usage.dollars)}' if usage.dollars else ''
    unknown = f' · price of {usage.unpriced} calls not known' if usage.unpriced else ''
    cached = f' ({usage.cached:,} from the cache)' if usage.cached else ''
    return f'{about}{usage.total:,} tokens{cached}{cost}{unknown}'


def format_amount(kind: str, value: float) -> str:
    """Return dollars, tokens or a duration in words; `kind` is that of the budget's limit."""
    if kind == 'cost':
        return f'${value:,.2f}' if value >= 0.1 or not value else f'${value:.4f}'
    return f'{value:,.0f} tokens' if kind == 'tokens' else duration(value)


def format_entered(transition: Transition) -> str:
    """Format the leaves that a step entered."""
    entered = innermost(transition.entered)
    if entered:
        return f'→ {", ".join(entered)}'
    return 'stays' if transition.active else 'ends'


def event_label(transition: Transition) -> str:
    """Return a step's event and the state it concerns."""
    event = transition.event
    return f'{event.name} {event.at}' if event.at else event.name


def step_remark(transition: Transition) -> str:
    """Return anything notable about a step: requested tools, errors, retries."""
    data = transition.event.data
    match transition.event.name:
        case 'retry':
            problem = one_line(str(data.get('error', '')))
            return f'attempt {transition.event.attempt} in {data.get("delay", 0)} s: {problem}'
        case 'failed' | 'expired' | 'abort':
            return one_line(str(data.get('error', '')), 200)
        case 'cancel' | 'warn' | 'exhaust' | 'pause' | 'step' | 'breakpoints':
            return one_line(_reason(data), 200)
        case 'asked' if 'question' in data and not transition.raised:
            question = data['question']
            return one_line(f'{question.get("server", "")} asks: {question.get("message", "")}', 200)
        case 'done':
            calls = (
                f'asks for {call["name"]} {one_line(call["arguments"], 60)}'
                for call in calls_of(transition.event)
            )
            results = (
                f'{result["name"]} {"gives" if result["ok"] else "refuses"} {one_line(result["text"], 60)}'
                for result in results_of(transition.event)
            )
            return ', '.join([*calls, *results])
    return ''


def _reason(data: Mapping[str, Any]) -> str:
    """Return why or how a control event happened."""
    problems = [f'breakpoint {number}: {problem}' for number, problem in data.get('problems', {}).items()]
    count = [f'{len(data["breakpoints"])} set'] if 'breakpoints' in data and 'reason' not in data else []
    return str(data.get('reason') or data.get('how') or '; '.join([*problems, *count]))


def format_guards(guards: Iterable[GuardResult]) -> list[str]:
    """Format the evaluated guards, as `name yes` or `name no`."""
    return [f'{guard.name} {"yes" if guard.value else "no"}' for guard in guards]


def is_workflow_step(transition: Transition, shape: Shape) -> bool:
    """Whether a step moves the workflow itself, not just an agent inside one of its states."""
    tops = {state.path for state in shape.states if not state.parent}
    return any(path in tops for path in (*transition.left, *transition.entered))


def format_value(value: Any, length: int = 100) -> str:
    """Format a JSON value on one line."""
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), length)
