"""The records of a contest: candidates, versions of their work, and test results."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.records.frozen import FrozenModel
from engine.statechart.deliverables import AgentWork
from engine.statechart.memory import Memory
from engine.workspace.testing.junit import format_counts


class FailedTest(FrozenModel):
    """A test that did not pass."""

    name: str
    detail: str


class Suite(FrozenModel):
    """The results of tests that were run on a version, as they are kept in memory."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    failures: tuple[FailedTest, ...] = ()
    problem: str = ''
    """Why there is no result: no tests found, they did not start, or they were stopped."""
    counted: bool = True
    """Whether individual tests were counted; otherwise the command as a whole counts as one."""

    @property
    def ok(self) -> bool:
        """Whether there are tests and all passed; a skipped test proves nothing."""
        return not self.problem and self.passed > 0 and not self.broken

    @property
    def broken(self) -> int:
        """The number of tests that did not pass."""
        return self.failed + self.errors + self.skipped

    @property
    def line(self) -> str:
        """The outcome, such as `40 passed, 2 failed`."""
        return self.describe()

    def describe(self, grouping: str = '') -> str:
        """Return the outcome in words; `grouping` separates thousands."""
        if not self.counted:
            return f'the test command {"succeeded" if self.ok else "failed"}; it reported no tests'
        return self.problem or format_counts(self, grouping) or 'no test was found'


class Evidence(FrozenModel):
    """The results of the tests that were actually run on one version."""

    required: Suite
    """Tests that the author could not change."""
    own: Suite
    """Tests that the author wrote."""
    none_required: bool = False
    """Whether no tests were required, so that `required` holds the author's own."""
    unsafe: bool = False
    """Whether they ran without a sandbox."""

    @property
    def ok(self) -> bool:
        """Whether the required tests pass."""
        return self.required.ok

    @property
    def title(self) -> str:
        """What the tests are that decide."""
        return 'own tests' if self.none_required else 'required tests'

    @property
    def line(self) -> str:
        """The outcomes, such as `required tests: 40 passed; own tests: 3 passed`."""
        own = '' if self.none_required else f'; own tests: {self.own.line}'
        return f'{self.title}: {self.required.line}{own}'


class FileEntry(FrozenModel):
    """A file of a version, as in its snapshot."""

    path: str
    digest: str
    size: int
    executable: bool = False


class Version(FrozenModel):
    """One version of a candidate's work."""

    number: int
    snapshot: str
    files: tuple[FileEntry, ...] = ()
    said: str = ''
    """The author's summary."""
    evidence: Evidence
    answers: tuple[str, ...] = ()
    """The demands it was meant to meet."""
    merged: dict[str, str] | None = None
    """For a merged version: the source coder of each file that is not the author's own."""


class FileEdit(FrozenModel):
    """A person's change to a file."""

    path: str
    text: str | None = None
    """The new content; None removes the file."""


class Candidate(Memory):
    """One coder and its work."""

    coder: str
    model: str = ''
    status: Literal['working', 'ready', 'failed', 'set aside'] = 'working'
    problem: str = ''
    """Why its latest attempt failed."""
    versions: list[Version] = Field(default_factory=list)
    said: str = ''
    """Its summary, kept until its tests have run."""
    edits: tuple[FileEdit, ...] = ()
    """The submission of a person in its seat, until it is written and tested."""

    @property
    def latest(self) -> Version | None:
        """Its newest version; None before the first."""
        return self.versions[-1] if self.versions else None

    @property
    def work(self) -> AgentWork:
        """Its work, as it can be merged."""
        version = self.latest
        if version is None:
            return AgentWork(summary=self.said)
        return AgentWork(
            snapshot=version.snapshot, summary=version.said, tests=version.evidence.required.line
        )

    @property
    def in_play(self) -> bool:
        """Whether it may still be chosen."""
        return self.status == 'ready' and bool(self.versions)


class Ranking(FrozenModel):
    """A candidate's standing in a comparison."""

    coder: str
    points: float = 0
    """From the reviewers' rankings."""
    tests_ok: bool = False
    passed: int = 0
    failed: int = 0


class CandidateSummary(FrozenModel):
    """A candidate's work as shown to the reviewers."""

    coder: str
    version: int
    text: str
    """The concatenated files."""
    changed: str = ''
    """Changes since the previous version, as a unified diff."""


class ContestMemory(Memory):
    """Memory of a pattern with candidates."""

    task: str = ''
    candidates: dict[str, Candidate] = Field(default_factory=dict)
    caveat: str = ''
    """How the result falls short, or why there is none."""

    def works(self) -> dict[str, AgentWork]:
        """The work of each candidate, as it can be merged."""
        return {name: candidate.work for name, candidate in self.candidates.items()}

    def in_play(self) -> tuple[str, ...]:
        """The candidates that may still be chosen."""
        return tuple(name for name, candidate in self.candidates.items() if candidate.in_play)
