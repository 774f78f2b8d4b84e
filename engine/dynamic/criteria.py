"""Completion criteria: when an agent has done its work; each is a guard of its own on its chart."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.course import Scope
from engine.dynamic.artifacts import Artifact, as_text
from engine.frozen import Record
from engine.message import Message
from engine.records import Event

if TYPE_CHECKING:
    from engine.agent import AgentSpec
    from engine.state import AgentState

FENCE = re.compile(r'^\s*(```|~~~)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a check may look at: an agent as it is after its latest reply."""

    artifacts: Mapping[str, Any]
    """By name; of one that is too long, its first 50,000 characters."""
    text: str
    """What the agent said last; '' while its tools run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One criterion: a named function of the evidence, pure as every guard."""

    name: str
    """As the journal and the inspector call it: `content_is_long_enough`."""
    missing: str
    """What the agent is told where it does not hold."""
    holds: Callable[[Evidence], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """When an agent's work is complete: all of it must hold when it stops calling tools."""

    signal: str = ''
    """A line of its own that the agent must end its last reply with."""
    artifacts: tuple[str, ...] = ()
    """Those that must have been made."""
    checks: tuple[Check, ...] = ()
    turns: int = 24
    """Replies before it is stopped."""
    reminders: int = 3
    """How often it is told what is missing; then it fails."""
    words: str = ''
    """The artifact that its last reply becomes (or its record, where one is asked for) if no tool made it."""

    @property
    def all(self) -> tuple[Check, ...]:
        """All criteria as checks, in the order in which they are asked for."""
        made = [partial(_has, name) for name in self.artifacts]
        return (
            *(
                Check(name=f'has_{name}', missing=f'the artifact {name!r}', holds=holds)
                for name, holds in zip(self.artifacts, made, strict=True)
            ),
            *self.checks,
            *(
                [
                    Check(
                        name=f'says_{self.signal.lower()}',
                        missing=f'a last line that is {self.signal} and nothing else',
                        holds=lambda seen: says(self.signal, seen.text),
                    )
                ]
                if self.signal
                else []
            ),
        )


class Criterion(Record):
    """Whether a criterion holds, as the journal has it."""

    name: str
    holds: bool
    missing: str = ''
    """What is missing, in words; '' where it holds."""


def says(signal: str, text: str) -> bool:
    """Whether a text has the signal as a line of its own, outside of what is quoted or fenced."""
    return any(_is_signal(signal, line) for line, fenced in _lines(text) if not fenced)


def without(signal: str, text: str) -> str:
    """The text without the lines that are the signal."""
    if not signal:
        return text.strip()
    return '\n'.join(line for line, fenced in _lines(text) if fenced or not _is_signal(signal, line)).strip()


def guards(spec: AgentSpec) -> list[Callable[[Scope, Event], bool]]:
    """A guard for each criterion, under its own name."""
    assert spec.until is not None
    return [_guard(spec, check) for check in spec.until.all]


def may_remind(spec: AgentSpec, scope: Scope, event: Event) -> bool:
    """The agent has not been told too often what is missing."""
    assert spec.until is not None
    return scope.state.agents[scope.path].reminders < spec.until.reminders


def take_words(spec: AgentSpec, scope: Scope, event: Event) -> None:
    """Keep what the agent said as the artifact that its last words are."""
    agent = scope.state.agents[scope.path]
    found = _words(spec, agent, event)
    if found is not None:
        put(agent, found)
    note(spec, scope, event)


def note(spec: AgentSpec, scope: Scope, event: Event) -> None:
    """Write down which criteria hold."""
    assert spec.until is not None
    agent = scope.state.agents[scope.path]
    seen = _evidence(spec, agent, event)
    judged = tuple(_judged(check, seen) for check in spec.until.all)
    left = max(0, spec.turns - agent.turns)
    turns = Criterion(name='turns_left', holds=left > 0, missing='' if left else 'it has had all its turns')
    if (*judged, turns) != agent.criteria:
        agent.criteria = (*judged, turns)


def remind(spec: AgentSpec, scope: Scope, event: Event) -> None:
    """Tell the agent what is missing."""
    agent = scope.state.agents[scope.path]
    agent.reminders += 1
    listed = ''.join(f'\n- {missing}' for missing in lacking(agent))
    agent.messages.append(Message.of('user', f'This is not complete yet. What is missing:{listed}\nGo on.'))


def give_up(spec: AgentSpec, scope: Scope, event: Event) -> None:
    """Write down what an agent that stopped, or had all its turns, was lacking."""
    agent = scope.state.agents[scope.path]
    stopped = f'it stopped {agent.reminders + 1} times' if agent.reminders else 'it stopped'
    if event.data['message'] and any(part['kind'] == 'call' for part in event.data['message']['parts']):
        stopped = f'it used all its {spec.turns} turns'
    agent.problem = f'{stopped}, and there is still missing: {"; ".join(lacking(agent)) or "nothing"}'


def lacking(agent: AgentState) -> list[str]:
    """What is missing, in words."""
    return [item.missing for item in agent.criteria if not item.holds and item.name != 'turns_left']


def put(agent: AgentState, found: Mapping[str, Artifact]) -> None:
    """Put artifacts into an agent's state."""
    if found and not agent.artifacts:  # A state that had none was written down without this field.
        agent.artifacts = dict(found)
        return
    for name, item in found.items():
        agent.artifacts[name] = item


def _guard(spec: AgentSpec, check: Check) -> Callable[[Scope, Event], bool]:
    def holds(scope: Scope, event: Event) -> bool:
        return _judged(check, _evidence(spec, scope.state.agents[scope.path], event)).holds

    holds.__name__ = check.name
    holds.__doc__ = f'Complete: {check.name.replace("_", " ")}.'
    return holds


def _judged(check: Check, seen: Evidence) -> Criterion:
    holds = bool(check.holds(seen))
    return Criterion(name=check.name, holds=holds, missing='' if holds else check.missing)


def _evidence(spec: AgentSpec, agent: AgentState, event: Event) -> Evidence:
    """The agent as it is, or as it is about to be with this reply."""
    reply = event.data.get('message') or {'parts': ()}
    text = ''.join(part['text'] for part in reply['parts'] if part['kind'] == 'text')
    artifacts = {name: found.value for name, found in agent.artifacts.items()}
    words = _words(spec, agent, event) or {}
    return Evidence(artifacts=artifacts | {name: found.value for name, found in words.items()}, text=text)


def _words(spec: AgentSpec, agent: AgentState, event: Event) -> dict[str, Artifact] | None:
    """The artifact that this reply is, if it is one."""
    until, reply = spec.until, event.data.get('message')
    if until is None or not until.words or not reply or event.data.get('unfit'):
        return None
    if any(part['kind'] == 'call' for part in reply['parts']):
        return None
    value: Any = event.data.get('output')
    known = agent.artifacts.get(until.words)
    if value is None:
        value = without(until.signal, str(event.data.get('text', '')))
        # A word of farewell is no new version of a page that was written before.
        if not value or (known and (known.by or len(value) < known.size / 2)):
            return None
    return {until.words: Artifact(value=value, size=len(as_text(value)))}


def _has(name: str, seen: Evidence) -> bool:
    return name in seen.artifacts


def _lines(text: str) -> list[tuple[str, bool]]:
    """The lines, each with whether it is inside a fence."""
    found: list[tuple[str, bool]] = []
    open_with = ''
    for line in text.split('\n'):
        fence = FENCE.match(line)
        found.append((line, bool(open_with or fence)))
        if fence and not open_with:
            open_with = fence[1]
        elif fence and fence[1] == open_with:
            open_with = ''
    return found


def _is_signal(signal: str, line: str) -> bool:
    # Models like to make it bold, or to end it with a full stop.
    return line.strip().strip('*_`').rstrip('.!').strip('*_`') == signal
