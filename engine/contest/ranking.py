"""Compares candidates: by the reviewers' rankings, by tests, and in the order they are listed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.contest.records import Candidate, Standing


def standings(
    candidates: Mapping[str, Candidate], rankings: Sequence[Sequence[str]], *, tests_first: bool = False
) -> list[Standing]:
    """The candidates in play, the best first.

    A ranking gives its last place no point and each better place one more (Borda's count, 1781); places
    are counted among the candidates in play, and who is left out of a ranking gets no points from it.
    Ties are broken by the required tests (passing, then fewest failures, then most passed), by the
    author's own tests, and by the order of the candidates.

    Args:
        candidates: by name.
        rankings: of each reviewer, the best first.
        tests_first: whether tests count before rankings.
    """
    names = [name for name, candidate in candidates.items() if candidate.in_play]
    points = dict.fromkeys(names, 0)
    for ranking in rankings:
        placed = [name for name in ranking if name in points]
        for place, name in enumerate(placed):
            points[name] += len(names) - 1 - place
    rows = [_standing(candidates[name], points[name]) for name in names]
    own = {name: _own(candidates[name]) for name in names}

    def worth(row: Standing) -> tuple[float, ...]:
        tests = (not row.tests_ok, row.failed, -row.passed, -own[row.coder])
        return (*tests, -row.points) if tests_first else (-row.points, *tests)

    return sorted(rows, key=worth)


def _standing(candidate: Candidate, points: float) -> Standing:
    version = candidate.latest
    assert version is not None
    required = version.evidence.required
    return Standing(
        coder=candidate.coder,
        points=points,
        tests_ok=required.ok,
        passed=required.passed,
        failed=required.failed + required.errors + required.skipped,
    )


def _own(candidate: Candidate) -> int:
    version = candidate.latest
    return version.evidence.own.passed if version and version.evidence.own.ok else 0
