"""The memory of a parallel review."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import override

from engine.patterns.competition.merging import Conflict, MergePlan
from engine.patterns.competition.records import CandidateSummary, ContestMemory, Ranking
from engine.patterns.debate.records import DebateMemory, LineComment
from engine.records.frozen import FrozenModel


class Choice(FrozenModel):
    """Which candidate was picked, by whom, and why."""

    candidate: str = Field(description='The name of the implementation')
    why: str = Field(default='', description='The reason, in one sentence')
    by: str = ''
    """`reviewers`, `synthesizer`, `ranking`, `tests`, `person`, `model`, or `only one`."""


class Comment(LineComment):
    """A line comment, with the revision that it was sent for."""

    version: int
    """The version it refers to."""
    by: str = ''
    """The reviewer who made it; '' for a person."""
    sent: int = 0
    """The revision for which it was sent to its coder; 0 if not sent yet."""

    @property
    def is_unheeded(self) -> bool:
        """Whether a person made it and it has not been sent to its coder."""
        return not self.by and not self.sent

    @property
    def line_text(self) -> str:
        """Its location and text, on one line."""
        return f'{self.candidate}, version {self.version}, {self.path}, line {self.line}: {self.text}'


class ReviewMemory(ContestMemory, DebateMemory):
    """Candidates, exhibits, debates and decisions."""

    strategy: str = ''
    """What to do after the debate: `APPROVE`, `REVISE_BEST` or `REVISE_ALL`; see `default`."""
    default: bool = False
    """Whether nobody named a strategy, so that the best is revised by default."""
    exhibits: dict[str, CandidateSummary] = Field(default_factory=dict)
    subjects: tuple[str, ...] = ()
    """The candidates under review, or last reviewed."""
    standings: tuple[Ranking, ...] = ()
    choices: list[Choice] = Field(default_factory=list)
    targets: tuple[str, ...] = ()
    """The coders who revise next."""
    revision_count: int = 0
    max_revisions: int = 0
    plan: MergePlan | None = None
    plan_problem: str = ''
    """Why nothing was merged, if a merge was planned."""
    file_conflicts: tuple[Conflict, ...] = ()
    taken: dict[str, str] = Field(default_factory=dict)
    """The source of each merged file."""
    refusals: list[str] = Field(default_factory=list)
    """Approvals rejected by the rules, and why."""
    comments: list[Comment] = Field(default_factory=list)
    """Comments on lines of candidates' files, oldest first."""
    approved: bool = False
    result: str = ''
    """The delivered candidate; its last version has the version number and snapshot."""
    outcome: str = ''
    """The outcome, in a few sentences."""

    @property
    def best(self) -> str:
        """The picked candidate, while it is in play."""
        names = self.in_play()
        picked = [choice.candidate for choice in self.choices if choice.candidate in names]
        return picked[-1] if picked else ''

    @property
    def approved_candidate(self) -> str:
        """The approved candidate: named as best, ranked first by all, or the only one reviewed, else ''."""
        consensus = self.consensus
        if consensus is None or consensus.best:
            return consensus.best if consensus else ''
        # A sole reviewer holds no debate.
        positions = [turn.position for turn in self.current_utterances() or self.transcript[-1:]]
        firsts = {position.ranking[0] for position in positions if position and position.ranking}
        if not firsts and len(self.subjects) == 1:
            return self.subjects[0]
        return firsts.pop() if len(firsts) == 1 else ''

    @property
    def other_approval(self) -> str:
        """Why an approval does not apply to the best: it names another candidate, or none of several."""
        approved = self.approved_candidate
        if not approved and len(self.subjects) > 1:
            return 'the reviewers did not say which one they approve'
        return f'the reviewers approved {approved}' if approved not in ('', self.best) else ''

    @property
    def silent(self) -> dict[str, str]:
        """The reviewers whose latest turn failed, and why."""
        latest = {utterance.speaker: utterance.problem for utterance in self.transcript}
        return {speaker: problem for speaker, problem in latest.items() if problem}

    def open_comments(self, candidate: str, *, human: bool = False) -> list[Comment]:
        """Return comments not yet sent to the coder; with `human`, only those made by people."""
        own_comments = (
            comment for comment in self.comments if comment.candidate == candidate and not comment.sent
        )
        return [comment for comment in own_comments if not (human and comment.by)]

    @override
    def names(self) -> dict[str, str]:
        names = {name: name for name in self.in_play()}
        for name in self.in_play():
            if version := self.candidates[name].latest:  # An approval of an earlier one is none of this one.
                names |= {f'{name}{of}{version.number}': name for of in (' version ', ' v', '@')}
        return names

    def rankings(self, reviewers: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return each reviewer's latest ranking, or just its best candidate if it gave none."""
        rankings: dict[str, tuple[str, ...]] = {}
        for utterance in self.transcript:
            position = utterance.position
            if position and utterance.speaker in reviewers and (position.ranking or position.best):
                rankings[utterance.speaker] = position.ranking or (position.best,)
        return list(rankings.values())
