"""Reads candidates out of a run's memory: versions, tests, ranking, who was picked and by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine import Shape, View
from ui.presenters.debates import listed, record
from ui.replay.history import History

PICKED = {
    'reviewers': 'the reviewers agree on it',
    'ranking': 'by the ranking',
    'tests': 'by the tests',
    'person': 'by a person',
    'model': 'by a model',
    'only one': 'the only one left',
}
CHOICE, LIST, CONFLICTS = 'choice', 'files', 'conflicts'
"""What a state waits for in which a person picks a candidate, lists files to merge, or settles conflicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """What came of running tests."""

    passed: int = 0
    counts: tuple[tuple[str, int], ...] = ()
    """Of those that did not pass: failed, errors, skipped."""
    failures: tuple[tuple[str, str], ...] = ()
    """Name and detail of the first that did not pass."""
    problem: str = ''

    @property
    def broken(self) -> int:
        """How many did not pass."""
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
        counts = (('passed', self.passed), *self.counts)
        return ', '.join(f'{number:,} {name}' for name, number in counts if number) or 'no tests'


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One version of a candidate's work."""

    number: int
    snapshot: str
    seq: int
    """The step that made it; 0 while that is not known."""
    required: Suite
    own: Suite
    said: str
    answers: tuple[str, ...]
    files: tuple[tuple[str, int], ...]
    """Path and size in bytes."""
    digests: Mapping[str, str]
    merged: Mapping[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """One candidate."""

    name: str
    model: str
    status: str
    problem: str
    versions: tuple[Made, ...]
    place: int = 0
    """In the ranking, from 1; 0 where there is none."""
    points: float = 0.0
    picked: str = ''
    """By whom it was picked, where it is the one."""
    why: str = field(default='', repr=False)

    @property
    def latest(self) -> Made | None:
        """Its newest version."""
        return self.versions[-1] if self.versions else None

    @property
    def in_play(self) -> bool:
        """Whether it can be chosen."""
        return self.status == 'ready' and bool(self.versions)


def entrants(view: View, shape: Shape, history: History) -> list[Entrant]:
    """The candidates: as they are ranked, and before that in their own order."""
    known = record(view.memory.get(shape.candidates)) if shape.candidates else {}
    order = [str(record(row).get('coder')) for row in listed(view.memory.get('standings'))]
    points = {str(record(row).get('coder')): row for row in listed(view.memory.get('standings'))}
    choices = [record(choice) for choice in listed(view.memory.get('choices'))]
    won = view.memory.get('winner')
    choice = choices[-1] if choices else {'candidate': won, 'by': 'tests'} if won else {}
    found = []
    for name, value in known.items():
        kept = record(value)
        mine = choice if choice.get('candidate') == name else {}
        found.append(
            Entrant(
                name=name,
                model=str(kept.get('model') or ''),
                status=str(kept.get('status') or ''),
                problem=str(kept.get('problem') or ''),
                versions=tuple(_versions(kept, name, shape, history)),
                place=order.index(name) + 1 if name in order else 0,
                points=float(record(points.get(name)).get('points') or 0),
                picked=str(mine.get('by') or ''),
                why=str(mine.get('why') or ''),
            )
        )
    return sorted(found, key=lambda entrant: entrant.place or len(found) + 1)


def _versions(kept: Mapping[str, Any], name: str, shape: Shape, history: History) -> list[Made]:
    when = history.appended.get(f'/memory/{shape.candidates}/{name}/versions', [])
    found = []
    for index, value in enumerate(map(record, listed(kept.get('versions')))):
        evidence = record(value.get('evidence'))
        files = [record(file) for file in listed(value.get('files'))]
        merged = value.get('merged')
        found.append(
            Made(
                number=int(value.get('number') or index + 1),
                snapshot=str(value.get('snapshot') or ''),
                seq=when[index][0] if index < len(when) else 0,
                required=_suite(record(evidence.get('required'))),
                own=_suite(record(evidence.get('own'))),
                said=str(value.get('said') or ''),
                answers=tuple(map(str, listed(value.get('answers')))),
                files=tuple((str(file.get('path')), int(file.get('size') or 0)) for file in files),
                digests={str(file.get('path')): str(file.get('digest')) for file in files},
                merged=merged if isinstance(merged, Mapping) else None,
            )
        )
    return found


def _suite(value: Mapping[str, Any]) -> Suite:
    counts = tuple((name, int(value.get(name) or 0)) for name in ('failed', 'errors', 'skipped'))
    failures = [record(failure) for failure in listed(value.get('failures'))]
    return Suite(
        passed=int(value.get('passed') or 0),
        counts=counts,
        failures=tuple((str(one.get('name')), str(one.get('detail') or '')) for one in failures),
        problem=str(value.get('problem') or ''),
    )


def shown_to(entrants_: Sequence[Entrant], seq: int) -> list[tuple[str, Made]]:
    """What there was of each candidate at a step: its newest version by then (0: its newest)."""
    found = []
    for entrant in entrants_:
        made = [one for one in entrant.versions if not seq or one.seq <= seq]
        if made:
            found.append((entrant.name, made[-1]))
    return found
