"""Completion criteria: conditions that must be met before an agent's work is done."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

FENCE = re.compile(r'^\s*(```|~~~)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The input of a check: the agent's state after its latest reply."""

    artifacts: Mapping[str, Any]
    """By name; a long one has only its first 50,000 characters."""
    text: str
    """The text of its latest reply; '' while its tools run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One criterion: a named function of the evidence, pure like every guard."""

    name: str
    """Its name in the journal and the inspector: `content_is_long_enough`."""
    missing: str
    """The message to the agent if it is not met."""
    holds: Callable[[Evidence], bool]
    reason: Callable[[Evidence], str] = lambda evidence: ''
    """Why it is not met, for the person who reads that the agent failed; '' if nothing more is known."""


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
    """Maximum number of replies."""
    reminders: int = 3
    """How often the agent is reminded of what is missing before it fails."""
    words: str = ''
    """The artifact made from its final text (or structured output) if no tool made it."""
    proofs: tuple[str, ...] = ()
    """Tools whose artifacts the criteria examine. An external agent cannot call them, so they are run at the
    end of its turn."""

    @property
    def signal_name(self) -> str:
        """The name of the signal's criterion; '' if there is no signal."""
        return f'says_{self.signal.lower()}' if self.signal else ''

    @property
    def all(self) -> tuple[Check, ...]:
        """All criteria as checks, in evaluation order."""
        exist = [
            Check(name=f'has_{name}', missing=f'the artifact {name!r}', holds=partial(_has, name))
            for name in self.artifacts
        ]
        signal = Check(
            name=self.signal_name,
            missing=f'a last line that is {self.signal} and nothing else',
            holds=lambda evidence: has_signal(self.signal, evidence.text),
        )
        return (*exist, *self.checks, *([signal] if self.signal else []))


def has_signal(signal: str, text: str) -> bool:
    """Whether a text has the signal on a line of its own, outside quotes and code fences."""
    return any(_is_signal(signal, line) for line, fenced in _lines(text) if not fenced)


def strip_signal(signal: str, text: str) -> str:
    """Return the text without signal lines."""
    if not signal:
        return text.strip()
    return '\n'.join(line for line, fenced in _lines(text) if fenced or not _is_signal(signal, line)).strip()


def _has(name: str, evidence: Evidence) -> bool:
    return name in evidence.artifacts


def _lines(text: str) -> list[tuple[str, bool]]:
    """Return the lines, each with whether it belongs to a code block."""
    lines: list[tuple[str, bool]] = []
    open_with = ''
    for line in text.split('\n'):
        fence = FENCE.match(line)
        lines.append((line, bool(open_with or fence)))
        if fence and not open_with:
            open_with = fence[1]
        elif fence and fence[1] == open_with:
            open_with = ''
    return lines


def _is_signal(signal: str, line: str) -> bool:
    # Models often make it bold or end it with a full stop.
    return line.strip().strip('*_`').rstrip('.!').strip('*_`') == signal
