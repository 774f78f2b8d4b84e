"""What is kept of a contest: candidates, the versions of their work, and the tests of each."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.frozen import Record
from engine.memory import Memory


class FailedTest(Record):
    """A test that did not pass."""

    name: str
    detail: str


class Suite(Record):
    """What came of running tests."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    failures: tuple[FailedTest, ...] = ()
    problem: str = ''
    """Why there is no result: no test was found, they did not start, or were ended."""

    @property
    def ok(self) -> bool:
        """Whether there are tests, and all of them passed: one that was skipped has shown nothing."""
        return not self.problem and self.passed > 0 and self.failed + self.errors + self.skipped == 0

    @property
    def line(self) -> str:
        """The counts: `40 passed, 2 failed`."""
        counts = (
            f'{getattr(self, name)} {name}'
            for name in ('passed', 'failed', 'errors', 'skipped')
            if getattr(self, name)
        )
        return self.problem or ', '.join(counts) or 'no test was found'


class Evidence(Record):
    """The tests of one version, as they were really run."""

    required: Suite
    """The tests that its author could not change."""
    own: Suite
    """Those that its author wrote."""
    unsafe: bool = False
    """Whether they ran without a sandbox."""

    @property
    def ok(self) -> bool:
        """Whether the required tests pass."""
        return self.required.ok


class FileNote(Record):
    """A file of a version."""

    path: str
    digest: str
    size: int
    executable: bool = False


class Version(Record):
    """One version of a candidate's work."""

    number: int
    snapshot: str
    files: tuple[FileNote, ...] = ()
    said: str = ''
    """What its author says of it."""
    evidence: Evidence
    answers: tuple[str, ...] = ()
    """The demands that it was to meet."""
    merged: dict[str, str] | None = None
    """For a merged version: from whose folder each file was taken that is not the author's own."""


class Candidate(Memory):
    """One coder and its work."""

    coder: str
    model: str = ''
    status: Literal['working', 'ready', 'failed', 'set aside'] = 'working'
    problem: str = ''
    """Why its latest attempt came to nothing."""
    versions: list[Version] = Field(default_factory=list)
    said: str = ''
    """Its last words, kept until its tests were run."""

    @property
    def latest(self) -> Version | None:
        """Its newest version."""
        return self.versions[-1] if self.versions else None

    @property
    def in_play(self) -> bool:
        """Whether it may still be chosen."""
        return self.status == 'ready' and bool(self.versions)


class Standing(Record):
    """A candidate's place when they were compared."""

    coder: str
    points: float = 0
    """From the reviewers' rankings."""
    tests_ok: bool = False
    passed: int = 0
    failed: int = 0


class Exhibit(Record):
    """A candidate's work as the reviewers are shown it."""

    coder: str
    version: int
    text: str
    """The files, one after another."""
    changed: str = ''
    """What differs from the version before, as a unified diff."""


class ContestMemory(Memory):
    """What a pattern with candidates remembers."""

    task: str = ''
    candidates: dict[str, Candidate] = Field(default_factory=dict)

    def in_play(self) -> tuple[str, ...]:
        """The candidates that may still be chosen."""
        return tuple(name for name, candidate in self.candidates.items() if candidate.in_play)
