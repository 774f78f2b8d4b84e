"""Records of the author: what is found in a draft, the drafts, and the memory of a run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.records.frozen import FrozenModel
from engine.records.jsonable import clip
from engine.statechart.memory import Memory

MAX_NOTE = 300
"""Maximum characters of a version's note that is made of the request."""


class Found(FrozenModel):
    """Something that is wrong with a draft, or worth knowing."""

    line: int = 0
    """In the draft's text; 0 for the whole."""
    level: Literal['error', 'warning', 'note'] = 'error'
    """With an error or a warning, a draft is sent back."""
    text: str

    @property
    def is_serious(self) -> bool:
        """Whether a draft with it is sent back."""
        return self.level != 'note'

    @property
    def sentence(self) -> str:
        """With its line."""
        return f'line {self.line}: {self.text}' if self.line else self.text


class Worst(FrozenModel):
    """What a run of a draft uses at most; None where there is no bound, or none is known."""

    calls: float | None = None
    tokens: float | None = None
    dollars: float | None = None
    answers: float | None = None
    """What people are asked for."""
    least_calls: int = 0
    """The fewest model calls of a run in which nothing fails."""


class ChartDraft(FrozenModel):
    """One version of the chart file."""

    number: int
    text: str
    by: Literal['author', 'person']
    note: str = ''
    """What its writer says about it."""
    chart: str = ''
    """The chart's name; '' if the file cannot be read."""
    findings: tuple[Found, ...] = ()
    worst: Worst | None = None
    tried: str = ''
    """How its simulated runs ended, in a sentence; '' if none was tried."""

    @property
    def sound(self) -> bool:
        """Whether it can be read, nothing serious was found, and its simulated runs end as they should."""
        return bool(self.tried) and not self.serious

    @property
    def serious(self) -> list[str]:
        """The findings for which it is sent back, each with its line."""
        return [finding.sentence for finding in self.findings if finding.is_serious]


class AuthorMemory(Memory):
    """The request, what it is about, the drafts, and where the last one was saved."""

    request: str = ''
    base: str = ''
    base_text: str = ''
    base_version: str = ''
    """The version of the chart that is changed; '' if there is none to save over."""
    tools: tuple[str, ...] = ()
    """What the agents of the chart may use."""
    rounds: int = 0
    prompt: str = ''
    """The agent's task."""
    drafts: list[ChartDraft] = Field(default_factory=list)
    sound: bool = False
    """Whether the latest draft is."""
    corrections: int = 0
    """How often a draft was sent back for what was found in it."""
    wish: str = ''
    """What a person wants changed."""
    seen: bool = False
    """Whether a person has seen a draft."""
    answer: str = ''
    """The text of the chart file."""
    approver: str = ''
    """The account that approved the draft."""
    approval: str = ''
    """What they said about it."""
    version: str = ''
    """The version that the draft was saved as."""
    problem: str = ''
    """Why it could not be saved."""
    caveat: str = ''

    @property
    def version_note(self) -> str:
        """What is said about the version."""
        return clip(self.approval or ' '.join(self.request.split()), MAX_NOTE)
