"""Parallel review: coders work in parallel, reviewers debate, and the best is revised until approved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from engine.agents.spec import Role
from engine.charts.seats import edges_of_all
from engine.patterns.competition import coder, collect
from engine.patterns.competition.coder import CoderConfig, add_version
from engine.patterns.competition.evidence import Checks
from engine.patterns.competition.merging import (
    MergePlan,
    are_answers,
    find_conflicts,
    parse_plan,
    plan_problem,
    resolve_by_rank,
    settle_conflicts,
)
from engine.patterns.competition.ranking import rank_candidates
from engine.patterns.competition.records import Candidate, CandidateSummary
from engine.patterns.debate.candidate_names import resolve_name
from engine.patterns.debate.chart import debate_state
from engine.patterns.debate.config import DebateConfig
from engine.patterns.debate.consensus import are_enough
from engine.patterns.debate.records import SYNTHESIZER, Consensus, LineComment, Phase
from engine.patterns.review import chart, outcome, prompts
from engine.patterns.review.memory import Choice, ReviewMemory
from engine.patterns.review.parameters import INPUTS, WAIT_TEXTS, ReviewParameters
from engine.records import Event
from engine.runtime.activity import Activity
from engine.statechart.deliverables import Deliverables
from engine.statechart.edges import edge
from engine.statechart.lenient_reading import read_leniently
from engine.statechart.pattern import Pattern

PHASES = (
    'preparing', 'implementing', 'consolidating', 'reviewing', 'debating', 'choosing', 'picking', 'iterating',
    'revising', 'gathering', 'final_review', 'weighing',
)  # fmt: skip
"""The top-level states of a run that has not ended."""


COLLECTING = 'Collecting and testing the candidates'
CONCLUSIONS = {'verdict', 'best', 'text', 'changes', 'rests_on'}
"""The fields that a position and a consensus share."""
REVISIONS = ('REVISE_BEST', 'REVISE_ALL')


class ParallelReview(Pattern):
    """Coders implement one task in parallel, reviewers debate, and the best is revised until they approve."""

    class Parameters(ReviewParameters):
        """Launch form parameters."""

    Memory = ReviewMemory
    family = 'Parallel'
    suits = ('implementation', 'algorithm', 'library', 'scratch', 'specification', 'quality')
    initial = 'preparing'
    answer = 'outcome'
    projects = ('project', 'tests')
    caveat = 'caveat'
    wait_texts = WAIT_TEXTS
    words = {
        'wants_approval': 'approved',
        'has_evidence': '',
        'is_spent': 'no revisions left',
        'asks_nothing': 'nothing to change',
        'concerns_all': 'nothing to pick',
        'needs_pick': 'approved, not picked',
        'has_survivors': 'enough versions',
        'is_revised': 'something new',
        'is_void': 'all reviewers failed',
        'is_turn': 'their turn',
        'is_target': ('asked to revise', 'spared'),
        'is_taken': ('a person took over', ''),
        'names_seat': '',
        'is_word': '',
        'may_merge': 'merging',
    }
    marks = {'verdict': 'consensuses', 'revision': 'revision_count'}
    panels = {'result': {'review': 'candidates'}, 'debate': 'transcript', 'candidates': 'candidates'}
    inputs = INPUTS

    def states(self) -> list[Any]:
        """The nine phases, with a region per coder and per reviewer."""
        parameters = self.parameters
        merges, debates = parameters.merge == 'files', parameters.reviewers > 1
        return [
            {'name': 'preparing', 'invoke': 'prepare', 'caption': 'Copying the project'},
            {
                'name': 'implementing',
                'parallel': [coder.coder_region(self._coder_config(name)) for name in self.coders],
            },
            {'name': 'consolidating', 'invoke': 'collect_submissions', 'caption': COLLECTING},
            {
                'name': 'reviewing',
                'parallel': [chart.review_region(role, parameters) for role in self._roles()],
            },
            *(
                [debate_state('debating', self._debate_config('debate', parameters.max_rounds))]
                if debates
                else []
            ),
            {'name': 'choosing', 'on_enter': 'choose_strategy'},
            chart.picking_state(parameters),
            *([chart.merging_state(parameters, Checks.of(parameters))] if merges else []),
            {'name': 'iterating', 'on_enter': 'record_refusal'},
            {
                'name': 'revising',
                'parallel': [coder.coder_region(self._revision_config(name)) for name in self.coders],
            },
            {'name': 'gathering', 'invoke': 'collect_submissions', 'caption': COLLECTING},
            debate_state(
                'final_review', self._debate_config('final', parameters.final_rounds if debates else 1)
            ),
            {'name': 'weighing', 'on_enter': 'act_on_final_review'},
            {'name': 'complete', 'final': True, 'on_enter': 'deliver'},
            {'name': 'failed', 'final': True, 'outcome': 'failed', 'on_enter': 'record_failure'},
        ]

    def transitions(self) -> list[Any]:
        """Transitions between phases; revision, final review and the check between them form a loop."""
        merges, debates = self.parameters.merge == 'files', self.parameters.reviewers > 1
        work = [*PHASES[:7], *(['merging'] if merges else []), *PHASES[7:]]
        failing = ['preparing', 'consolidating', 'debating', 'gathering', 'final_review']
        if not debates:
            work.remove('debating')
            failing.remove('debating')
        reviewed = (
            [['done', 'reviewing', 'debating'], ['done', 'debating', 'choosing']]
            if debates
            else [
                edge('done', 'reviewing', 'choosing', 'is_reviewed', before='adopt_sole_review'),
                ['done', 'reviewing', 'failed'],
            ]
        )
        return [
            ['done', 'preparing', 'implementing'],
            ['done', 'implementing', 'consolidating', 'has_survivors'],
            ['done', 'implementing', 'failed'],
            edge('done', 'consolidating', 'reviewing', before='store_exhibits'),
            *reviewed,
            ['always', 'choosing', 'iterating', 'concerns_all'],
            ['always', 'choosing', 'picking'],
            *chart.picking_edges(self.parameters),
            *([['done', 'merging', 'iterating']] if merges else []),
            edge('always', 'iterating', 'complete', ['wants_approval', 'has_evidence'], before='approve'),
            ['always', 'iterating', 'complete', 'is_spent'],
            ['always', 'iterating', 'complete', 'asks_nothing'],
            edge('always', 'iterating', 'revising', before='begin_revision'),
            ['done', 'revising', 'gathering', 'is_revised'],
            ['done', 'revising', 'iterating'],
            edge('done', 'gathering', 'final_review', before='store_exhibits'),
            ['done', 'final_review', 'weighing'],
            ['always', 'weighing', 'picking', 'needs_pick'],
            ['always', 'weighing', 'iterating'],
            *(['failed', state, 'failed'] for state in [*failing, *(['merging'] if merges else [])]),
            *(edge('comment', state, None, 'is_line', after='store_comment') for state in work),
            *edges_of_all(work, (*self.reviewers, *self.coders)),
        ]

    def remember(self) -> ReviewMemory:
        """Initial memory, with an empty candidate per coder."""
        memory = super().remember()
        assert isinstance(memory, ReviewMemory)
        memory.candidates = {name: Candidate(coder=name) for name in self.coders}
        return memory

    def facts(self, memory: ReviewMemory) -> dict[str, Any]:
        """Facts for the tools: the project, the versions of each candidate, and the test command."""
        versions = {
            name: [version.snapshot for version in candidate.versions]
            for name, candidate in memory.candidates.items()
        }
        return {
            'candidates': {name: snapshots for name, snapshots in versions.items() if snapshots},
            'command': self.parameters.command,
            'tests': {'project': self.parameters.project},
        }

    @classmethod
    def deliverables(cls, parameters: Mapping[str, Any], memory: Mapping[str, Any]) -> Deliverables:
        """The coders' newest versions; the result is the one picked last."""
        contest = read_leniently(cls.Memory, memory)
        return Deliverables.of(
            parameters,
            contest.works(),
            contest.choices[-1].candidate if contest.choices else '',
        )

    @property
    def coders(self) -> tuple[str, ...]:
        """`coder1`, `coder2`, and so on."""
        return tuple(f'coder{number}' for number in range(1, self.parameters.coders + 1))

    async def prepare(self, memory: ReviewMemory, activity: Activity) -> dict[str, Any]:
        """Give every coder the initial files and the tests."""
        return await coder.prepare_workspaces(self.coders, self.parameters, activity)

    async def collect_submissions(self, memory: ReviewMemory, activity: Activity) -> dict[str, Any]:
        """Collect the coders' work for the reviewers, and copy it into their folders."""
        given = self.parameters
        summaries = await collect.collect_summaries(
            memory,
            [project for project in (given.project, given.tests) if project],
            activity,
            worktree=given.worktrees,
        )
        if not self._has_tools:
            return summaries
        return {**summaries, 'snapshots': await collect.copy_versions(memory, self.reviewers, activity)}

    @property
    def reviewers(self) -> tuple[str, ...]:
        """`reviewer1`, `reviewer2`, and so on."""
        return tuple(f'reviewer{number}' for number in range(1, self.parameters.reviewers + 1))

    # -- guards

    def has_survivors(self, memory: ReviewMemory, event: Event) -> bool:
        """Enough coders have an implementation."""
        return bool(len(memory.in_play()) >= self.parameters.survivors)

    def is_reviewed(self, memory: ReviewMemory, event: Event) -> bool:
        """The sole reviewer has given a review."""
        return any(utterance.position for utterance in memory.transcript)

    def concerns_all(self, memory: ReviewMemory, event: Event) -> bool:
        """There is nothing to pick: all candidates will be revised, or only one is left."""
        return memory.strategy == 'REVISE_ALL' or len(memory.in_play()) == 1

    def may_merge(self, memory: ReviewMemory, event: Event) -> bool:
        """Files are to be merged, there are others to take them from, and nothing is approved."""
        is_wanted = self.parameters.merge == 'files' and memory.plan is None
        return is_wanted and memory.strategy != 'APPROVE' and len(memory.in_play()) > 1

    def needs_pick(self, memory: ReviewMemory, event: Event) -> bool:
        """The reviewers approved, and no best candidate has been picked yet."""
        return memory.strategy == 'APPROVE' and not memory.best

    def is_candidate(self, memory: ReviewMemory, event: Event) -> bool:
        """The candidate is still in play."""
        return resolve_name(str(event.data.get('candidate')), memory.names()) in memory.in_play()

    def wants_approval(self, memory: ReviewMemory, event: Event) -> bool:
        """The reviewers agreed to approve; a synthesis does not count."""
        consensus = memory.consensus
        return (
            consensus is not None
            and consensus.verdict == 'APPROVE'
            and not consensus.synthesized
            and are_enough(len(consensus.by), self.reviewers)
        )

    def has_evidence(self, memory: ReviewMemory, event: Event) -> bool:
        """The reviewers approved this candidate in this version, and its required tests pass."""
        return not outcome.objection(memory, must_pass=self.parameters.must_pass)

    def is_spent(self, memory: ReviewMemory, event: Event) -> bool:
        """The revision limit is reached."""
        return bool(memory.revision_count >= self.parameters.max_revisions)

    def asks_nothing(self, memory: ReviewMemory, event: Event) -> bool:
        """Too few reviewers agree, and no reviewer, person or test asks for a change."""
        consensus = memory.consensus
        assert consensus is not None
        positions = {turn.speaker: turn.position for turn in memory.current_utterances()}
        wants_revision = any(position and position.verdict in REVISIONS for position in positions.values())
        if wants_revision or not consensus.synthesized or prompts.demands(memory):
            return False
        if self.is_revised(memory, event):  # Files were merged, and nobody has reviewed them.
            return False
        return not any(
            memory.open_comments(name)
            or outcome.test_problem(memory, name, must_pass=self.parameters.must_pass)
            for name in memory.targets
        )

    def is_revised(self, memory: ReviewMemory, event: Event) -> bool:
        """There is something new to review."""
        return any(name in memory.in_play() and not outcome.is_shown(memory, name) for name in memory.targets)

    def is_plan(self, memory: ReviewMemory, event: Event) -> bool:
        """Each file is in the newest version of a candidate that is in play."""
        plan = parse_plan(event.data)
        return plan is not None and not plan_problem(plan, memory.candidates)

    def is_line(self, memory: ReviewMemory, event: Event) -> bool:
        """The file is part of a candidate's newest version."""
        candidate = memory.candidates.get(str(event.data.get('candidate')))
        version = candidate.latest if candidate else None
        return version is not None and event.data.get('path') in {file.path for file in version.files}

    def has_plan(self, memory: ReviewMemory, event: Event) -> bool:
        """There are files to take, and the list is valid."""
        return memory.plan is not None and bool(memory.plan.files) and not memory.plan_problem

    def is_open(self, memory: ReviewMemory, event: Event) -> bool:
        """There are unsettled conflicts."""
        return bool(memory.file_conflicts) and not memory.taken

    def settles(self, memory: ReviewMemory, event: Event) -> bool:
        """Each conflict is settled in favour of one of its candidates."""
        return are_answers(event.data.get('files'), memory.file_conflicts)

    # -- actions

    def store_exhibits(self, memory: ReviewMemory, event: Event) -> None:
        """Store the collected work for the reviewers."""
        for item in event.data['exhibits']:
            exhibit = CandidateSummary.model_validate(item)
            memory.exhibits[exhibit.coder] = exhibit
        names = memory.in_play()
        revised = tuple(name for name in memory.targets if name in names)
        memory.subjects = revised if memory.consensuses else names

    def adopt_sole_review(self, memory: ReviewMemory, event: Event) -> None:
        """Let the sole reviewer decide: its first review replaces a debate."""
        memory.debate.number = 1
        utterance = memory.transcript[-1]
        position = utterance.position
        assert position is not None
        memory.consensuses.append(
            Consensus(debate=1, by=(utterance.speaker,), **position.model_dump(include=CONCLUSIONS))
        )

    def choose_strategy(self, memory: ReviewMemory, event: Event) -> None:
        """Turn the consensus into a strategy and its targets."""
        consensus, names = memory.consensus, memory.in_play()
        assert consensus is not None
        memory.default = consensus.verdict == 'UNDECIDED'
        memory.strategy = 'REVISE_BEST' if memory.default else consensus.verdict
        memory.standings = tuple(rank_candidates(memory.candidates, memory.rankings(self.reviewers)))
        memory.targets = names
        chart.store_comments(memory)
        if len(names) == 1:
            self._choose(memory, names[0], 'only one', '')

    def act_on_final_review(self, memory: ReviewMemory, event: Event) -> None:
        """Choose the strategy anew, and the winner or the coder to revise."""
        previous_targets = memory.targets
        self.choose_strategy(memory, event)
        consensus = memory.consensus
        assert consensus is not None
        if consensus.best in memory.in_play() and self.parameters.pick == 'ranking':
            self._choose(memory, consensus.best, consensus.source, consensus.text)
        if memory.strategy == 'REVISE_BEST':
            named = memory.best or consensus.best
            memory.targets = (named,) if named in memory.in_play() else previous_targets

    def pick_by_rule(self, memory: ReviewMemory, event: Event) -> None:
        """Pick by rule: the reviewers' agreement, their rankings, or the tests."""
        consensus, names = memory.consensus, memory.in_play()
        if self.parameters.pick == 'tests':
            order = rank_candidates(memory.candidates, memory.rankings(self.reviewers), tests_first=True)
            memory.standings = tuple(order)
            self._choose(memory, order[0].coder, 'tests', '')
        elif consensus and consensus.best in names:
            self._choose(memory, consensus.best, consensus.source, consensus.text)
        else:
            self._choose(memory, memory.standings[0].coder, 'ranking', '')

    def apply_choice(self, memory: ReviewMemory, event: Event) -> None:
        """Apply a person's choice."""
        name = resolve_name(event.data['candidate'], memory.names())
        self._choose(memory, name, 'person', str(event.data.get('why', '')))

    def apply_model_choice(self, memory: ReviewMemory, event: Event) -> None:
        """Apply a model's choice; if it names no candidate in play, pick by rule."""
        choice = Choice.model_validate(event.data['output'])
        name = resolve_name(choice.candidate, memory.names())
        if name in memory.in_play():
            self._choose(memory, name, 'model', choice.why)
        else:
            self.pick_by_rule(memory, event)

    def store_merge_plan(self, memory: ReviewMemory, event: Event) -> None:
        """Store which files to take."""
        data = event.data.get('output', event.data)
        plan = parse_plan(data) or MergePlan()
        memory.plan = plan
        memory.plan_problem = plan_problem(plan, memory.candidates)
        if memory.plan_problem:
            return
        memory.file_conflicts = tuple(find_conflicts(plan, memory.candidates))
        if not memory.file_conflicts or self.parameters.conflicts == 'ranked':
            order = [standing.coder for standing in memory.standings]
            self._resolve_conflicts(memory, resolve_by_rank(memory.file_conflicts, order), 'ranked')

    def record_merge_failure(self, memory: ReviewMemory, event: Event) -> None:
        """Record that listing or copying the files failed; the best stays as it is."""
        memory.plan = memory.plan or MergePlan()
        memory.plan_problem = str(event.data.get('error') or 'it could not be merged')

    def store_comment(self, memory: ReviewMemory, event: Event) -> None:
        """Store a person's comment for the coder."""
        chart.add_comment(memory, LineComment.model_validate(dict(event.data)), by='')

    def resolve_conflicts(self, memory: ReviewMemory, event: Event) -> None:
        """Settle the conflicts with a person's answers."""
        self._resolve_conflicts(memory, dict(event.data['files']), 'person')

    def add_merged_version(self, memory: ReviewMemory, event: Event) -> None:
        """Give the best candidate a new version with the files taken from others."""
        best = memory.best
        foreign = {path: coder for path, coder in memory.taken.items() if coder != best}
        why = memory.plan.why if memory.plan else ''
        add_version(memory.candidates[best], event, summary=why, merged=foreign)

    def record_refusal(self, memory: ReviewMemory, event: Event) -> None:
        """Record why an approval is rejected, if there was one."""
        if not memory.best and memory.standings and memory.strategy == 'APPROVE':
            self._choose(memory, memory.standings[0].coder, 'ranking', '')
        objection = outcome.objection(memory, must_pass=self.parameters.must_pass)
        if self.wants_approval(memory, event) and objection:
            memory.refusals.append(f'{memory.best} cannot be approved: {objection}')
            memory.targets = (memory.best,)

    def begin_revision(self, memory: ReviewMemory, event: Event) -> None:
        """Count the revision as it begins, and send its coders the comments on their files."""
        memory.revision_count += 1
        chart.send_comments(memory)

    def approve(self, memory: ReviewMemory, event: Event) -> None:
        """Record the approval: the reviewers agree and the tests confirm it."""
        memory.approved = True

    def deliver(self, memory: ReviewMemory, event: Event) -> None:
        """Deliver the best candidate, and record the outcome."""
        if not memory.best:
            order = rank_candidates(memory.candidates, memory.rankings(self.reviewers))
            self._choose(memory, order[0].coder, 'ranking', '')
        memory.result = memory.best
        outcome.record_delivery(memory, wanted_approval=self.wants_approval(memory, event))

    def record_failure(self, memory: ReviewMemory, event: Event) -> None:
        """Record why there is nothing to deliver."""
        problem = str(event.data.get('error') or '')
        survivors, needed = len(memory.in_play()), self.parameters.survivors
        if survivors < needed and event.at != 'preparing':
            problem = f'only {survivors} of {len(self.coders)} coders succeeded, and {needed} must'
        outcome.record_failure(memory, problem)

    # -- shared

    def _choose(self, memory: ReviewMemory, name: str, by: str, why: str) -> None:
        if memory.best == name and by in ('only one', 'reviewers', SYNTHESIZER):
            return
        memory.choices.append(Choice(candidate=name, by=by, why=why))
        memory.targets = (name,)
        if self.parameters.merge == 'one':
            for other in memory.in_play():
                if other != name:
                    memory.candidates[other].status = 'set aside'

    def _resolve_conflicts(self, memory: ReviewMemory, answers: dict[str, str], rule: str) -> None:
        assert memory.plan is not None
        memory.taken, settled = settle_conflicts(memory.plan, memory.file_conflicts, answers, rule)
        memory.file_conflicts = tuple(settled)

    # -- parts of the states

    def _coder_config(self, name: str) -> CoderConfig:
        return CoderConfig.of(name, self.parameters, seconds=self.parameters.coder_seconds, seat=True)

    def _revision_config(self, name: str) -> CoderConfig:
        """Only coders asked to revise do any work."""
        return replace(
            self._coder_config(name),
            prompt=partial(prompts.revision_prompt, name),
            demands=partial(prompts.revision_demands, name),
            is_called=partial(chart.is_target, name),
        )

    def _roles(self) -> list[Role]:
        return [prompts.reviewer_role(name, tools=self._has_tools) for name in self.reviewers]

    @property
    def _has_tools(self) -> bool:
        """Whether the reviewers' models can use tools rather than only write text."""
        return bool(self.parameters.answers == 'record')

    def _debate_config(self, phase: Phase, rounds: int) -> DebateConfig:
        return DebateConfig(
            phase=phase,
            reviewers=tuple(self._roles()),
            rounds=rounds,
            recent=self.parameters.recent,
            seconds=self.parameters.reviewer_seconds,
            words_only=self.parameters.answers == 'words',
            subject=partial(prompts.debate_subject, tools=self._has_tools),
            turns=prompts.REVIEWER_TURNS,
        )
