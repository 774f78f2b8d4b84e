"""What a parallel review remembers."""

from __future__ import annotations

from pydantic import Field

from engine.contest.merging import Conflict, Plan
from engine.contest.records import ContestMemory, Exhibit, Standing
from engine.debate.records import DebateMemory
from engine.frozen import Record


class Choice(Record):
    """Which candidate was picked, by whom, and why."""

    candidate: str = Field(description='The name of the implementation')
    why: str = Field(default='', description='Why, in a sentence')
    by: str = ''
    """`reviewers`, `ranking`, `tests`, `person`, `model`, or `only one`."""


class ReviewMemory(ContestMemory, DebateMemory):
    """Candidates, exhibits, debates and decisions."""

    strategy: str = ''
    """What is done after the debate: `APPROVE`, `REVISE_BEST` or `REVISE_ALL`; and as marked in `default`."""
    default: bool = False
    """Whether nobody named a strategy, so that the best is revised."""
    exhibits: dict[str, Exhibit] = Field(default_factory=dict)
    standings: tuple[Standing, ...] = ()
    choices: list[Choice] = Field(default_factory=list)
    targets: tuple[str, ...] = ()
    """Who revises next."""
    revision_count: int = 0
    max_revisions: int = 0
    plan: Plan | None = None
    plan_problem: str = ''
    """Why nothing was merged, where something was to be."""
    file_conflicts: tuple[Conflict, ...] = ()
    taken: dict[str, str] = Field(default_factory=dict)
    """From whom each merged file is taken."""
    refusals: list[str] = Field(default_factory=list)
    """Approvals that the rules did not let pass, and why."""
    approved: bool = False
    result: str = ''
    """The candidate that is delivered, its version and its snapshot: see the candidate's last version."""
    outcome: str = ''
    """How it ended, in a few sentences."""

    @property
    def best(self) -> str:
        """The candidate that was picked, while it is in play."""
        names = self.in_play()
        picked = [choice.candidate for choice in self.choices if choice.candidate in names]
        return picked[-1] if picked else ''

    def names(self) -> tuple[str, ...]:
        """What a position may name."""
        return self.in_play()

    def rankings(self, reviewers: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The latest ranking of each reviewer; the best one alone, where it gave no ranking."""
        found: dict[str, tuple[str, ...]] = {}
        for said in self.transcript:
            position = said.position
            if position and said.speaker in reviewers and (position.ranking or position.best):
                found[said.speaker] = position.ranking or (position.best,)
        return list(found.values())
