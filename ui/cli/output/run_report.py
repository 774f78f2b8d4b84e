"""A recorded run in words: states, steps, guards, changes of memory, conversations."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text

from engine import Transition
from engine.records import (
    EdgeShape,
    GuardResult,
    Message,
    RunInfo,
    Shape,
    Spending,
    StateShape,
    View,
    message_of,
)
from engine.runtime import GuardExplanations
from ui.app.colours import FAILED
from ui.cli.output.step_text import (
    console,
    format_value,
    status_in_color,
    step_line,
)
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.sentences import step_sentence
from ui.formatting.steps import (
    brief_value,
    decisive_guards,
    duration,
    edge_outcomes,
    guard_text,
    other_outcomes,
    others_title,
)
from ui.formatting.usage import LIMITS, dollars, gauge_text, usage_headline
from ui.formatting.values import count, moment_text

MAX_TEXT = 200


class RunReport:
    """Prints a run at one step to standard output."""

    def __init__(self, shape: Shape, view: View) -> None:
        self._shape, self._view = shape, view
        self._console = console()

    def header(self, info: RunInfo) -> None:
        """Print name, status and figures."""
        view = self._view
        self._line(one_line(info.title, MAX_TEXT), style='bold')
        version = f' {info.version}' if info.version else ''
        title = Text(f'run {info.id} · {info.pattern}{version} · ')
        title.append_text(status_in_color(view.status, view.error))
        at = f'step {view.seq} of {info.seq}' if view.seq < info.seq else f'{view.seq} steps'
        title.append(
            f' · {moment_text(info.created)} · {duration(max(0.0, view.time - view.started))} · {at}'
            f' · {usage_headline(view.usage)}{" · simulated" if info.simulated else ""}'
        )
        self._console.print(title)
        for kind, gauge in view.budget.items():
            self._line(f'{LIMITS[kind].lower()} budget: {gauge_text(kind, gauge)}')
        for warning in view.warnings:
            self._line(f'warning: {strip_control(warning)}', style='bold')
        for name, text in (
            ('error', view.error),
            ('waits for', view.waiting),
            ('stopped', view.stopped),
            ('held', ', '.join(view.held)),
            ('breakpoints', ', '.join(item.label for item in view.breakpoints if item.enabled)),
            ('note', info.note),
        ):
            if text:
                self._line(f'{name}: {strip_control(text)}', style=FAILED if name == 'error' else '')
        if info.tags:
            self._line(f'tags: {", ".join(info.tags)}')
        if info.parent:
            self._line(f'forked from {info.parent} at step {info.parent_at}')

    def states(self) -> None:
        """Print the chart as a tree; `>` marks active states."""
        self._title('States')
        children: dict[str, list[StateShape]] = {}
        for state in self._shape.states:
            children.setdefault(state.parent, []).append(state)
        self._branch(children, '', 0)

    def steps(self, steps: Iterable[Transition]) -> None:
        """Print a line for each step."""
        self._title('Steps')
        for step in steps:
            self._console.print(step_line(step, self._shape, self._view.started))

    def step(self, step: Transition, explanations: GuardExplanations, before: Mapping[str, Any]) -> None:
        """Print everything about one step; `before` is the fold's document before it."""
        self._title(f'Step {step.seq}')
        self._line(step_sentence(step, self._shape), style='bold')
        self._line(f'{duration(step.time - self._view.started)} after the start', style='dim')

        def describe(edge: EdgeShape, guard: GuardResult) -> str:
            ground = explanations.of(guard.source, guard.dest, guard.name, before, step.event)
            values = ', '.join(f'{name} = {brief_value(value)}' for name, value in ground.values)
            return f'{guard_text(guard.name, guard.value, edge)}{values and f" ({values})"}'

        outcomes = edge_outcomes(step, self._shape)
        for edge, guard in decisive_guards(outcomes):
            self._line(describe(edge, guard))
        others = other_outcomes(outcomes)
        if others:
            self._line(f'{others_title(len(others))}:')
        for outcome, target in others.items():
            self._line(f'{target}: {outcome.reason.lower()}')
            for guard in outcome.guards:
                self._line(f'    {describe(outcome.edge, guard)}')
        self._title('Changes')
        for change in step.changes:
            value = '' if change.op == 'remove' else f' {format_value(change.value, MAX_TEXT)}'
            self._line(f'{change.op:<8}{change.path}{value}')
        if not step.changes:
            self._line('none')

    def conversations(self) -> None:
        """Print every agent's conversation."""
        for path, agent in self._view.agents.items():
            spent = self._view.spending.get(path, Spending())
            self._title(
                f'{path}: {agent.get("role", "")}, {agent.get("model") or "no call yet"}, '
                f'{usage_headline(spent.total)}'
                f'{" · " if spent.origins else ""}{", ".join(spent.origins)}'
            )
            for model, usage in spent.models.items() if len(spent.models) > 1 else ():
                self._line(f'{model}: {usage_headline(usage)}')
            for message in agent.get('messages', ()):
                self._message(message_of(message))

    def comparison(self) -> None:
        """Print the figures and the output of each mode, if several were compared."""
        for text in compared_modes(self._shape, self._view):
            self._line('')
            self._line(text)

    def memory(self) -> None:
        """Print the run's memory, one field per line."""
        self._title('Memory')
        for name, value in self._view.memory.items():
            self._line(f'{name}: {format_value(value, MAX_TEXT)}')

    def _message(self, message: Message) -> None:
        for part in message.parts:
            match part.kind:
                case 'text' | 'reasoning':
                    self._speech(message.role if part.kind == 'text' else 'thinks', part.text)
                case 'call':
                    self._speech('asks for', f'{part.name} {part.arguments}')
                case 'result':
                    self._speech('gets' if part.ok else 'fails', f'{part.name}: {part.text}')

    def _speech(self, who: str, text: str) -> None:
        first, *rest = strip_control(text).splitlines() or ['']
        line = Text(f'{who:>10} ', style='dim')
        line.append(first, style='' if who == 'assistant' else 'dim')
        self._console.print(line)
        if rest:
            style = '' if who == 'assistant' else 'dim'
            self._line(textwrap.indent('\n'.join(rest), ' ' * 11), style=style)

    def _branch(self, children: Mapping[str, list[StateShape]], parent: str, depth: int) -> None:
        for state in children.get(parent, ()):
            entered = self._view.entered.get(state.path)
            words: list[str] = [state.kind] if state.kind != 'atomic' else []
            words += [f'agent: {state.role}'] if state.role else []
            words += [f'since step {entered[0]}'] if entered else []
            details = f'  ({", ".join(words)})' if words else ''
            self._line(
                f'{">" if entered else " "} {"  " * depth}{state.name}{details}',
                style='' if entered else 'dim',
            )
            self._branch(children, state.path, depth + 1)

    def _title(self, text: str) -> None:
        self._console.print()
        self._line(text, style='bold underline')

    def _line(self, text: Any, style: str = '') -> None:
        self._console.print(Text(strip_control(str(text)), style=style))


def compared_modes(shape: Shape, view: View) -> list[str]:
    """Return each mode of a comparison as text: its figures, then its output; [] for any other run."""
    texts = []
    for side in view.memory.get(shape.field('comparison')) or ():
        if isinstance(side, Mapping):
            cost = side.get('cost')
            facts = (
                'complete' if side.get('done') else f'failed: {side.get("problem", "")}',
                count(side.get('steps', 0), 'step'),
                count(side.get('tool_calls', 0), 'tool call'),
                count(side.get('input_tokens', 0) + side.get('output_tokens', 0), 'token'),
                duration(side.get('seconds', 0.0)),
                'cost unknown' if cost is None else dollars(cost),
            )
            title = f'Compared: {side.get("way", "")}\n{", ".join(facts)}'
            texts.append(strip_control(f'{title}\n\n{side.get("output", "") or "no output"}'))
    return texts
