"""Parallel review: coders work side by side, reviewers debate, the best is revised until they approve."""

from __future__ import annotations

from functools import partial
from typing import Any

from engine.activity import Activity
from engine.agent import Role
from engine.contest import coder, gather
from engine.contest.coder import Desk
from engine.contest.evidence import Checks
from engine.contest.records import Candidate
from engine.debate.chart import debate, seat_edges
from engine.debate.records import Phase
from engine.debate.terms import Terms
from engine.edge import edge
from engine.pattern import Pattern
from engine.review import chart, prompts
from engine.review.inputs import INPUTS
from engine.review.memory import ReviewMemory
from engine.review.parameters import ReviewParameters
from engine.review.rules import Rules

PHASES = (
    'preparing', 'implementing', 'consolidating', 'reviewing', 'debating', 'choosing', 'picking', 'iterating',
    'revising', 'gathering', 'final_review', 'weighing',
)  # fmt: skip
"""The outermost states in which a run is at work."""


class ParallelReview(Rules, Pattern):
    """Coders implement one task side by side; reviewers debate; it is revised until they approve."""

    class Parameters(ReviewParameters):
        """What the launch form asks for."""

    Memory = ReviewMemory
    family = 'Side by side'
    initial = 'preparing'
    answer = 'outcome'
    debate = 'transcript'
    candidates = 'candidates'
    inputs = INPUTS

    def states(self) -> list[Any]:
        """The nine phases, with a region for each coder and each reviewer."""
        parameters = self.parameters
        merges = parameters.merge == 'files'
        return [
            {'name': 'preparing', 'invoke': 'prepare'},
            {'name': 'implementing', 'parallel': [coder.region(self._desk(name)) for name in self.coders]},
            {'name': 'consolidating', 'invoke': 'gather'},
            {
                'name': 'reviewing',
                'parallel': [chart.first_review(role, parameters) for role in self._roles()],
            },
            debate('debating', self._terms('debate', parameters.max_rounds)),
            {'name': 'choosing', 'on_enter': 'decide'},
            chart.picking(parameters),
            *([chart.merge(parameters, self._checks)] if merges else []),
            {'name': 'iterating', 'on_enter': 'refuse'},
            {
                'name': 'revising',
                'parallel': [chart.revision(self._desk(name, again=True)) for name in self.coders],
            },
            {'name': 'gathering', 'invoke': 'gather'},
            debate('final_review', self._terms('final', parameters.final_rounds)),
            {'name': 'weighing', 'on_enter': 'weigh'},
            {'name': 'complete', 'final': True, 'on_enter': 'deliver'},
            {'name': 'failed', 'final': True, 'outcome': 'failed', 'on_enter': 'give_up'},
        ]

    def transitions(self) -> list[Any]:
        """From phase to phase; revision, final review and the check between them are a loop."""
        merges = self.parameters.merge == 'files'
        work = [*PHASES[:7], *(['merging'] if merges else []), *PHASES[7:]]
        failing = ['preparing', 'consolidating', 'debating', 'gathering', 'final_review']
        return [
            ['done', 'preparing', 'implementing'],
            ['done', 'implementing', 'consolidating', 'has_survivors'],
            ['done', 'implementing', 'failed'],
            edge('done', 'consolidating', 'reviewing', before='keep_exhibits'),
            ['done', 'reviewing', 'debating'],
            ['done', 'debating', 'choosing'],
            ['always', 'choosing', 'iterating', 'concerns_all'],
            ['always', 'choosing', 'picking'],
            *chart.picked(self.parameters),
            *([['done', 'merging', 'iterating']] if merges else []),
            edge('always', 'iterating', 'complete', ['wants_approval', 'has_evidence'], before='approve'),
            ['always', 'iterating', 'complete', 'is_spent'],
            edge('always', 'iterating', 'revising', before='send_back'),
            ['done', 'revising', 'gathering', 'is_revised'],
            ['done', 'revising', 'iterating'],
            edge('done', 'gathering', 'final_review', before='keep_exhibits'),
            ['done', 'final_review', 'weighing'],
            ['always', 'weighing', 'picking', 'needs_pick'],
            ['always', 'weighing', 'iterating'],
            *(['failed', state, 'failed'] for state in [*failing, *(['merging'] if merges else [])]),
            *seat_edges(work, self.reviewers),
        ]

    def remember(self) -> ReviewMemory:
        """With an empty candidate for each coder."""
        memory = super().remember()
        assert isinstance(memory, ReviewMemory)
        memory.candidates = {name: Candidate(coder=name) for name in self.coders}
        return memory

    @property
    def coders(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f'coder{number}' for number in range(1, self.parameters.coders + 1))

    async def prepare(self, memory: ReviewMemory, activity: Activity) -> dict[str, Any]:
        """Give every coder the files to begin with, and the tests."""
        return await coder.equip(self.coders, (self.parameters.project, self.parameters.tests), activity)

    async def gather(self, memory: ReviewMemory, activity: Activity) -> dict[str, Any]:
        """Read what the coders have made, for the reviewers."""
        return await gather.gather(memory, activity)

    def _desk(self, name: str, *, again: bool = False) -> Desk:
        return Desk(
            coder=name,
            checks=self._checks,
            prompt=partial(prompts.revise, name) if again else coder.implement,
            seconds=self.parameters.coder_seconds,
            demands=prompts.demands if again else lambda memory: (),
            again=again,
        )

    @property
    def _checks(self) -> Checks:
        parameters = self.parameters
        return Checks(tests=parameters.tests, command=parameters.command, seconds=parameters.test_seconds)

    def _roles(self) -> list[Role]:
        return [prompts.reviewer(name) for name in self.reviewers]

    def _terms(self, phase: Phase, rounds: int) -> Terms:
        return Terms(
            phase=phase,
            reviewers=tuple(self._roles()),
            rounds=rounds,
            recent=self.parameters.recent,
            seconds=self.parameters.reviewer_seconds,
            words_only=self.parameters.answers == 'words',
            brief=prompts.brief,
        )
