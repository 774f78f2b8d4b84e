"""A contest at one step: candidates by rank, who picked which, and the steps of versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.patterns import Candidate, Choice, Ranking, Version
from engine.records import Shape, View
from engine.statechart import read_leniently
from ui.web.replay.history import History, pad_positions

PICKED = {
    'reviewers': 'by the reviewers',
    'synthesizer': 'by the synthesizer, as the reviewers did not agree',
    'ranking': 'by the ranking',
    'tests': 'by the tests',
    'person': 'by a person',
    'model': 'by a model',
    'only one': 'only one left',
}
CHOICE, FILES, CONFLICTS = 'choice', 'files', 'conflicts'
"""`waits` of the states in which a person picks a candidate, picks files, or resolves conflicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A candidate, and its standing."""

    name: str
    candidate: Candidate
    seqs: tuple[int, ...] = ()
    """The step that reached each version; 0 while unknown."""
    rank: int = 0
    """In the ranking, from 1; 0 if unranked."""
    points: float = 0.0
    picked: str = ''
    """Who picked it: a key of `PICKED`, or ''."""
    stopped: bool = False
    """Whether it was still at work when the contest ended."""

    @property
    def status(self) -> str:
        """The candidate's status, or `stopped` if its work was interrupted."""
        return 'stopped' if self.stopped else self.candidate.status

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each file of its newest version, by path."""
        latest = self.candidate.latest
        return {file.path: file.digest for file in latest.files} if latest else {}


def read_candidates(view: View, shape: Shape) -> dict[str, Candidate]:
    """Return the candidates in a run's memory, by name."""
    return read_leniently(dict[str, Candidate], view.memory.get(shape.field('candidates')))


def contestants(view: View, shape: Shape, history: History) -> list[Contestant]:
    """Return the candidates, in ranking order once they are ranked."""
    by_name, winner = read_candidates(view, shape), str(view.memory.get('winner') or '')
    rankings = read_leniently(list[Ranking], view.memory.get('standings'))
    choices = read_leniently(list[Choice], view.memory.get('choices'))
    choice = choices[-1] if choices else Choice(candidate=winner, by='tests')
    ranks = {ranking.coder: rank for rank, ranking in enumerate(rankings, start=1)}
    points = {ranking.coder: ranking.points for ranking in rankings}
    over = bool(winner) or view.status.ended
    candidates = [
        Contestant(
            name=name,
            candidate=candidate,
            seqs=_list_steps(candidate, f'{shape.field("candidates")}/{name}/versions', history),
            rank=ranks.get(name, 0),
            points=points.get(name, 0.0),
            picked=choice.by if choice.candidate == name else '',
            stopped=over and candidate.status == 'working',
        )
        for name, candidate in by_name.items()
    ]
    return sorted(candidates, key=lambda contestant: contestant.rank or len(candidates) + 1)


def _list_steps(candidate: Candidate, field: str, history: History) -> tuple[int, ...]:
    return tuple(at.seq for at in pad_positions(history.appended_to(field), len(candidate.versions)))


def versions_at(candidates: Sequence[Contestant], seq: int) -> list[tuple[str, Version]]:
    """Return the newest version of each candidate as of a step (0: the newest of all)."""
    versions_shown = []
    for contestant in candidates:
        versions = zip(contestant.candidate.versions, contestant.seqs, strict=True)
        reached = [version for version, step in versions if not seq or step <= seq]
        if reached:
            versions_shown.append((contestant.name, reached[-1]))
    return versions_shown
