"""Candidates in a run's memory: versions, tests, ranking, and which was picked by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.records import Shape, View
from ui.pages.run.review.debate_records import as_list, as_record, as_records
from ui.replay.history import History

PICKED = {
    'reviewers': 'by the reviewers',
    'ranking': 'by the ranking',
    'tests': 'by the tests',
    'person': 'by a person',
    'model': 'by a model',
    'only one': 'only one left',
}
CHOICE, FILES, CONFLICTS = 'choice', 'files', 'conflicts'
"""`waits` of the states in which a person picks a candidate, picks files, or resolves conflicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """The result of running tests."""

    passed: int = 0
    counts: tuple[tuple[str, int], ...] = ()
    """Tests that did not pass: failed, errors, skipped."""
    failures: tuple[tuple[str, str], ...] = ()
    """Name and detail of the first failures."""
    problem: str = ''
    counted: bool = True
    """Whether tests were counted; otherwise the whole command counts as one."""

    @property
    def broken(self) -> int:
        """The number of tests that did not pass."""
        return sum(number for _, number in self.counts)

    @property
    def ok(self) -> bool:
        """Whether there were tests, and all of them passed."""
        return not self.problem and self.passed > 0 and not self.broken

    @property
    def line(self) -> str:
        """The counts in words."""
        if self.problem:
            return 'no result'
        if not self.counted:
            return f'the test command {"succeeded" if self.ok else "failed"}; it reported no tests'
        counts = (('passed', self.passed), *self.counts)
        return ', '.join(f'{number:,} {name}' for name, number in counts if number) or 'no tests'


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a candidate's work."""

    number: int
    snapshot: str
    seq: int
    """The step that made it; 0 while unknown."""
    required: SuiteResult
    own: SuiteResult
    summary: str
    answers: tuple[str, ...]
    files: tuple[tuple[str, int], ...]
    """Path and size in bytes."""
    digests: Mapping[str, str]
    merged: Mapping[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One candidate."""

    name: str
    model: str
    status: str
    problem: str
    versions: tuple[Version, ...]
    rank: int = 0
    """In the ranking, from 1; 0 if unranked."""
    points: float = 0.0
    picked: str = ''
    """Who picked it: a key of `PICKED`, or ''."""
    why: str = field(default='', repr=False)

    @property
    def latest(self) -> Version | None:
        """Its newest version."""
        return self.versions[-1] if self.versions else None

    @property
    def can_be_chosen(self) -> bool:
        """Whether it can be chosen."""
        return self.status == 'ready' and bool(self.versions)


def candidates_of(view: View, shape: Shape, history: History) -> list[Candidate]:
    """Return the candidates, in ranking order once they are ranked."""
    known = as_record(view.memory.get(shape.field('candidates')))
    over = bool(view.memory.get('winner')) or view.status.ended
    order = [str(as_record(row).get('coder')) for row in as_list(view.memory.get('standings'))]
    points = {str(as_record(row).get('coder')): row for row in as_list(view.memory.get('standings'))}
    choices = as_records(view.memory.get('choices'))
    won = view.memory.get('winner')
    choice = choices[-1] if choices else {'candidate': won, 'by': 'tests'} if won else {}
    found = []
    for name, value in known.items():
        kept = as_record(value)
        mine = choice if choice.get('candidate') == name else {}
        found.append(
            Candidate(
                name=name,
                model=str(kept.get('model') or ''),
                status='stopped'
                if over and kept.get('status') == 'working'
                else str(kept.get('status') or ''),
                problem=str(kept.get('problem') or ''),
                versions=tuple(_versions(kept, name, shape, history)),
                rank=order.index(name) + 1 if name in order else 0,
                points=float(as_record(points.get(name)).get('points') or 0),
                picked=str(mine.get('by') or ''),
                why=str(mine.get('why') or ''),
            )
        )
    return sorted(found, key=lambda candidate: candidate.rank or len(found) + 1)


def _versions(kept: Mapping[str, Any], name: str, shape: Shape, history: History) -> list[Version]:
    when = history.appended_to(f'{shape.field("candidates")}/{name}/versions')
    found = []
    for index, value in enumerate(as_records(kept.get('versions'))):
        evidence = as_record(value.get('evidence'))
        files = as_records(value.get('files'))
        merged = value.get('merged')
        found.append(
            Version(
                number=int(value.get('number') or index + 1),
                snapshot=str(value.get('snapshot') or ''),
                seq=when[index].seq if index < len(when) else 0,
                required=_suite(as_record(evidence.get('required'))),
                own=_suite(as_record(evidence.get('own'))),
                summary=str(value.get('said') or ''),
                answers=tuple(map(str, as_list(value.get('answers')))),
                files=tuple((str(file.get('path')), int(file.get('size') or 0)) for file in files),
                digests={str(file.get('path')): str(file.get('digest')) for file in files},
                merged=merged if isinstance(merged, Mapping) else None,
            )
        )
    return found


def _suite(value: Mapping[str, Any]) -> SuiteResult:
    counts = tuple((name, int(value.get(name) or 0)) for name in ('failed', 'errors', 'skipped'))
    failures = as_records(value.get('failures'))
    return SuiteResult(
        passed=int(value.get('passed') or 0),
        counts=counts,
        failures=tuple((str(one.get('name')), str(one.get('detail') or '')) for one in failures),
        problem=str(value.get('problem') or ''),
        counted=value.get('counted') is not False,
    )


def versions_at(candidates: Sequence[Candidate], seq: int) -> list[tuple[str, Version]]:
    """Return the newest version of each candidate as of a step (0: the newest of all)."""
    found = []
    for candidate in candidates:
        made = [one for one in candidate.versions if not seq or one.seq <= seq]
        if made:
            found.append((candidate.name, made[-1]))
    return found
