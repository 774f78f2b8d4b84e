"""Ranks candidates by the reviewers' rankings, test results and listing order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.patterns.competition.records import Candidate, Ranking


def rank_candidates(
    candidates: Mapping[str, Candidate], rankings: Sequence[Sequence[str]], *, tests_first: bool = False
) -> list[Ranking]:
    """Rank the candidates in play, best first.

    A ranking gives its last place no points and each higher place one more (Borda count, 1781); places
    are counted among the candidates in play, and a candidate missing from a ranking gets no points from it.
    Ties are broken by the required tests (passing, then fewest failures, then most passed), by the
    author's own tests, and by the order of the candidates.

    Args:
        candidates: by name.
        rankings: each reviewer's ranking, best first.
        tests_first: whether tests take precedence over rankings.
    """
    names = [name for name, candidate in candidates.items() if candidate.in_play]
    points = dict.fromkeys(names, 0)
    for ranking in rankings:
        placed = [name for name in ranking if name in points]
        for place, name in enumerate(placed):
            points[name] += len(names) - 1 - place
    rows = [_build_ranking(candidates[name], points[name]) for name in names]
    own_passed = {name: _count_own_passed(candidates[name]) for name in names}

    def sort_key(row: Ranking) -> tuple[float, ...]:
        tests = (not row.tests_ok, row.failed, -row.passed, -own_passed[row.coder])
        return (*tests, -row.points) if tests_first else (-row.points, *tests)

    return sorted(rows, key=sort_key)


def _build_ranking(candidate: Candidate, points: float) -> Ranking:
    version = candidate.latest
    assert version is not None
    required = version.evidence.required
    return Ranking(
        coder=candidate.coder,
        points=points,
        tests_ok=required.ok,
        passed=required.passed,
        failed=required.failed + required.errors + required.skipped,
    )


def _count_own_passed(candidate: Candidate) -> int:
    version = candidate.latest
    return version.evidence.own.passed if version and version.evidence.own.ok else 0
