"""The blocks a result is made of: plain records, which every reader draws in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal['', 'good', 'bad']
"""Whether something went well; '' if that is not the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """A text in Markdown: the answer itself."""

    text: str
    as_piece: bool = False
    """Whether it is set like something published, to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A number on a scale."""

    label: str
    value: float
    words: str
    note: str = ''
    tone: Tone = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Numbers on one scale, from 0 to `most`."""

    title: str
    most: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Somebody's part: a place, a name, facts about it, and one sentence."""

    mark: str = ''
    """`1st`, for example; '' if nothing is ranked."""
    name: str
    facts: tuple[str, ...] = ()
    note: str = ''
    tone: Tone = ''
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Who took part, in order."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Sentences under a title."""

    title: str
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A value under its name."""

    name: str
    words: str
    tone: Tone = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Values by name."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What was found at a line of a file."""

    file: str
    line: int
    severity: str
    text: str
    suggestion: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """What was found, the gravest first."""

    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """What an agent changed in the files; the changes are read where they are drawn."""

    title: str
    agent: str = ''
    """Its name among the run's deliverables; '' for the one picked, or the only one."""


Block = Prose | Bars | Rows | Points | Facts | Remarks | Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came out of a run."""

    headline: str = ''
    """The outcome in one sentence; '' if `main` says it."""
    main: tuple[Block, ...] = ()
    aside: tuple[Block, ...] = ()
    """How it came about."""
