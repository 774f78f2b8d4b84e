"""A recorded run in words: states, steps, guards, changes of memory, conversations."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from rich.text import Text

from engine import Grounds, Message, RunInfo, Shape, Spending, StateShape, Transition, View, message_of
from ui.commands.wording import (
    STYLES,
    amount,
    asked,
    console,
    moved,
    named,
    of_workflow,
    remark,
    used,
    value_of,
    when,
)
from ui.plain import plain, short
from ui.presenters.reading import span, worded

LONGEST = 200


class Story:
    """Writes about a run at one step to standard output."""

    def __init__(self, shape: Shape, view: View) -> None:
        self._shape, self._view = shape, view
        self._console = console()

    def header(self, info: RunInfo) -> None:
        """Name, status and figures."""
        view = self._view
        self._line(short(info.title, LONGEST), style='bold')
        told = Text(f'run {info.id} · {info.pattern} · ')
        told.append(str(view.status), style=STYLES[view.status])
        at = f'step {view.seq} of {info.seq}' if view.seq < info.seq else f'{view.seq} steps'
        told.append(
            f' · {when(info.created)} · {span(max(0.0, view.time - view.started))} · {at}'
            f' · {used(view.usage)}{" · simulated" if info.simulated else ""}'
        )
        self._console.print(told)
        for kind, gauge in view.budget.items():
            state = ', spent' if gauge.exhausted else ', nearly spent' if gauge.warned else ''
            self._line(f'budget: {amount(kind, gauge.used)} of {amount(kind, gauge.limit)}{state}')
        for warning in view.warnings:
            self._line(f'warning: {plain(warning)}', style='yellow')
        for name, text in (
            ('error', view.error),
            ('waits for', view.waiting),
            ('stopped', view.stopped),
            ('held', ', '.join(view.held)),
            ('breakpoints', ', '.join(item.label for item in view.breakpoints if item.enabled)),
            ('note', info.note),
        ):
            if text:
                self._line(f'{name}: {plain(text)}', style='red' if name == 'error' else '')
        if info.tags:
            self._line(f'tags: {", ".join(info.tags)}')
        if info.parent:
            self._line(f'forked from {info.parent} at step {info.parent_at}')

    def states(self) -> None:
        """The chart as a tree; `>` marks what is active."""
        self._title('States')
        children: dict[str, list[StateShape]] = {}
        for state in self._shape.states:
            children.setdefault(state.parent, []).append(state)
        self._branch(children, '', 0)

    def steps(self, steps: Iterable[Transition]) -> None:
        """A line for each step."""
        self._title('Steps')
        for step in steps:
            line = Text(f'{step.time - self._view.started:8.1f}s {step.seq:4}  ')
            line.append(f'{named(step):<30} ', style='dim')
            line.append(moved(step), style='bold' if of_workflow(step, self._shape) else '')
            notes = [f'[{", ".join(asked(step.guards))}]'] if step.guards else []
            notes += [remark(step)] if remark(step) else []
            line.append(''.join(f'  {note}' for note in notes), style='dim')
            self._console.print(line)

    def step(self, step: Transition, grounds: Grounds, before: Mapping[str, Any]) -> None:
        """All of one step; `before` is the fold's document without it."""
        self._title(f'Step {step.seq}')
        self._line(f'{named(step)} {moved(step)}, {step.time - self._view.started:.1f} s after the start')
        if remark(step):
            self._line(remark(step))
        for guard in step.guards:
            word = 'if' if guard.wanted else 'unless'
            held = 'holds' if guard.value == guard.wanted else 'does not hold'
            where = f'{guard.source} → {guard.dest}' if guard.dest else guard.source
            self._line(f'{where}: {word} {guard.name} is {"yes" if guard.value else "no"}, {held}')
            ground = grounds.of(guard.source, guard.dest, guard.name, before, step.event)
            saw = ', '.join(f'{name} {worded(value)}' for name, value in ground.values)
            for told in filter(None, (ground.says, saw and f'it saw {saw}')):
                self._line(f'    {plain(told)}', style='dim')
        self._title('Changes')
        for change in step.changes:
            value = '' if change.op == 'remove' else f' {value_of(change.value, LONGEST)}'
            self._line(f'{change.op:<8}{change.path}{value}')
        if not step.changes:
            self._line('none')

    def conversations(self) -> None:
        """What every agent said and was told."""
        for path, agent in self._view.agents.items():
            spent = self._view.spending.get(path, Spending())
            self._title(
                f'{path}: {agent.get("role", "")}, {agent.get("model") or "no call yet"}, {used(spent.total)}'
                f'{" · " if spent.origins else ""}{", ".join(spent.origins)}'
            )
            for model, usage in spent.models.items() if len(spent.models) > 1 else ():
                self._line(f'{model}: {used(usage)}')
            for message in agent.get('messages', ()):
                self._message(message_of(message))

    def memory(self) -> None:
        """What the run remembers, a field on a line."""
        self._title('Memory')
        for name, value in self._view.memory.items():
            self._line(f'{name}: {value_of(value, LONGEST)}')

    def _message(self, message: Message) -> None:
        for part in message.parts:
            match part.kind:
                case 'text' | 'reasoning':
                    self._speech(message.role if part.kind == 'text' else 'thinks', part.text)
                case 'call':
                    self._speech('asks for', f'{part.name} {part.arguments}')
                case 'result':
                    self._speech('gets' if part.ok else 'is refused', f'{part.name}: {part.text}')

    def _speech(self, who: str, text: str) -> None:
        first, *rest = plain(text).splitlines() or ['']
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
            told = f'  ({", ".join(words)})' if words else ''
            self._line(
                f'{">" if entered else " "} {"  " * depth}{state.name}{told}', style='' if entered else 'dim'
            )
            self._branch(children, state.path, depth + 1)

    def _title(self, text: str) -> None:
        self._console.print()
        self._line(text, style='bold underline')

    def _line(self, text: Any, style: str = '') -> None:
        self._console.print(Text(plain(str(text)), style=style))
