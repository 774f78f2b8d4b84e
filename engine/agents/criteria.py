"""Completion criteria: what must hold before an agent's work is done."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

FENCE = re.compile(r'^\s*(```|~~~)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a check may look at: the agent's state after its latest reply."""

    artifacts: Mapping[str, Any]
    """By name; only the first 50,000 characters of a long one."""
    text: str
    """What the agent said last; '' while its tools run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One criterion: a named function of the evidence, pure like every guard."""

    name: str
    """Its name in the journal and the inspector: `content_is_long_enough`."""
    missing: str
    """The message to the agent if it does not hold."""
    holds: Callable[[Evidence], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """When the work of an agent that has stopped calling tools is complete."""

    rule: Literal['either', 'all'] = 'either'
    """`either` the signal, or the artifacts and the checks; or `all` of them."""

    signal: str = ''
    """A line by which the agent signals that it is done."""
    artifacts: tuple[str, ...] = ()
    """Artifacts that must exist."""
    checks: tuple[Check, ...] = ()
    turns: int = 24
    """The most replies."""
    reminders: int = 3
    """How often the agent is reminded of what is missing before it fails."""
    words: str = ''
    """The artifact made from its final text (or structured output) if no tool made it."""
    proofs: tuple[str, ...] = ()
    """Tools whose artifacts the criteria look at; where an external agent works, which cannot call them, they
    are run at the end of its turn."""

    @property
    def signal_name(self) -> str:
        """The name of the signal's criterion; '' if there is no signal."""
        return f'says_{self.signal.lower()}' if self.signal else ''

    @property
    def all(self) -> tuple[Check, ...]:
        """All criteria as checks, in evaluation order."""
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
                        name=self.signal_name,
                        missing=f'a last line that is {self.signal} and nothing else',
                        holds=lambda seen: has_signal(self.signal, seen.text),
                    )
                ]
                if self.signal
                else []
            ),
        )


def has_signal(signal: str, text: str) -> bool:
    """Whether a text has the signal on a line of its own, outside quotes and code fences."""
    return any(_is_signal(signal, line) for line, fenced in _lines(text) if not fenced)


def strip_signal(signal: str, text: str) -> str:
    """The text without signal lines."""
    if not signal:
        return text.strip()
    return '\n'.join(line for line, fenced in _lines(text) if fenced or not _is_signal(signal, line)).strip()


def _has(name: str, seen: Evidence) -> bool:
    return name in seen.artifacts


def _lines(text: str) -> list[tuple[str, bool]]:
    """The lines, each with whether it is inside a code fence."""
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
    # Models like to embolden it or end it with a full stop.
    return line.strip().strip('*_`').rstrip('.!').strip('*_`') == signal
