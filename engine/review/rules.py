"""The rules of a parallel review: its guards, and the actions that decide what comes next."""

from __future__ import annotations

from typing import Any

from engine.contest.coder import add_version
from engine.contest.merging import (
    Plan,
    are_answers,
    by_rank,
    conflicts_of,
    plan_of,
    problem_of,
    settled,
)
from engine.contest.ranking import standings
from engine.contest.records import Exhibit
from engine.debate.consensus import FEWEST
from engine.records import Event
from engine.review.memory import Choice, ReviewMemory
from engine.review.prompts import demands


class Rules:
    """Mixed into the pattern, whose parameters it reads."""

    parameters: Any

    @property
    def reviewers(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f'reviewer{number}' for number in range(1, self.parameters.reviewers + 1))

    # -- guards

    def has_survivors(self, memory: ReviewMemory, event: Event) -> bool:
        """Enough coders have an implementation."""
        return bool(len(memory.in_play()) >= self.parameters.survivors)

    def concerns_all(self, memory: ReviewMemory, event: Event) -> bool:
        """All are to be revised, or there is only one: nothing is to be picked."""
        return memory.strategy == 'REVISE_ALL' or len(memory.in_play()) == 1

    def may_merge(self, memory: ReviewMemory, event: Event) -> bool:
        """Files are to be taken over, there are others to take them from, and nothing is approved."""
        wanted = self.parameters.merge == 'files' and memory.plan is None
        return wanted and memory.strategy != 'APPROVE' and len(memory.in_play()) > 1

    def needs_pick(self, memory: ReviewMemory, event: Event) -> bool:
        """What was approved is one of several, and none was picked yet."""
        return memory.strategy == 'APPROVE' and not memory.best

    def is_candidate(self, memory: ReviewMemory, event: Event) -> bool:
        """What a person chose is there to be chosen."""
        return event.data.get('candidate') in memory.in_play()

    def wants_approval(self, memory: ReviewMemory, event: Event) -> bool:
        """The reviewers themselves, and not one alone, approve."""
        consensus = memory.consensus
        return (
            consensus is not None
            and consensus.verdict == 'APPROVE'
            and not consensus.synthesized
            and len(consensus.by) >= FEWEST
        )

    def has_evidence(self, memory: ReviewMemory, event: Event) -> bool:
        """The required tests of the best one pass, and its newest version is what the reviewers saw."""
        return not self._objection(memory)

    def is_spent(self, memory: ReviewMemory, event: Event) -> bool:
        """Work has gone back as often as it may."""
        return bool(memory.revision_count >= self.parameters.max_revisions)

    def is_revised(self, memory: ReviewMemory, event: Event) -> bool:
        """There is something new to review."""
        return any(name in memory.in_play() and not self._is_shown(memory, name) for name in memory.targets)

    def is_plan(self, memory: ReviewMemory, event: Event) -> bool:
        """What a person picked is there to be taken."""
        plan = plan_of(event.data)
        return plan is not None and not problem_of(plan, memory.candidates)

    def has_plan(self, memory: ReviewMemory, event: Event) -> bool:
        """There are files to take, and nothing is wrong with the list."""
        return memory.plan is not None and bool(memory.plan.files) and not memory.plan_problem

    def is_open(self, memory: ReviewMemory, event: Event) -> bool:
        """There are conflicts that are not settled."""
        return bool(memory.file_conflicts) and not memory.taken

    def settles(self, memory: ReviewMemory, event: Event) -> bool:
        """A person has said of each conflict whose file it is to be."""
        return are_answers(event.data.get('files'), memory.file_conflicts)

    # -- actions

    def keep_exhibits(self, memory: ReviewMemory, event: Event) -> None:
        """Show the reviewers what was gathered."""
        for item in event.data['exhibits']:
            exhibit = Exhibit.model_validate(item)
            memory.exhibits[exhibit.coder] = exhibit

    def decide(self, memory: ReviewMemory, event: Event) -> None:
        """What the consensus means: which strategy, and for whom."""
        consensus, names = memory.consensus, memory.in_play()
        assert consensus is not None
        memory.default = consensus.verdict == 'UNDECIDED'
        memory.strategy = 'REVISE_BEST' if memory.default else consensus.verdict
        memory.standings = tuple(standings(memory.candidates, memory.rankings(self.reviewers)))
        memory.targets = names
        if len(names) == 1:
            self._choose(memory, names[0], 'only one', '')

    def weigh(self, memory: ReviewMemory, event: Event) -> None:
        """What the final review means."""
        before = memory.targets
        self.decide(memory, event)
        consensus = memory.consensus
        assert consensus is not None
        if consensus.best in memory.in_play() and self.parameters.pick == 'ranking':
            self._choose(memory, consensus.best, 'reviewers', consensus.text)
        if memory.strategy == 'REVISE_BEST':
            named = memory.best or consensus.best
            memory.targets = (named,) if named in memory.in_play() else before

    def pick(self, memory: ReviewMemory, event: Event) -> None:
        """Pick by rule: what the reviewers agree on, their rankings, or the tests."""
        consensus, names = memory.consensus, memory.in_play()
        if self.parameters.pick == 'tests':
            order = standings(memory.candidates, memory.rankings(self.reviewers), tests_first=True)
            memory.standings = tuple(order)
            self._choose(memory, order[0].coder, 'tests', '')
        elif consensus and consensus.best in names:
            self._choose(memory, consensus.best, 'reviewers', consensus.text)
        else:
            self._choose(memory, memory.standings[0].coder, 'ranking', '')

    def take_choice(self, memory: ReviewMemory, event: Event) -> None:
        """Take what a person chose."""
        self._choose(memory, event.data['candidate'], 'person', str(event.data.get('why', '')))

    def take_model_choice(self, memory: ReviewMemory, event: Event) -> None:
        """Take what a model chose; where it names nobody, the ranking decides."""
        choice = Choice.model_validate(event.data['output'])
        if choice.candidate in memory.in_play():
            self._choose(memory, choice.candidate, 'model', choice.why)
        else:
            self.pick(memory, event)

    def take_plan(self, memory: ReviewMemory, event: Event) -> None:
        """Keep which files are to be taken."""
        data = event.data.get('output', event.data)
        plan = plan_of(data) or Plan()
        memory.plan = plan
        memory.plan_problem = problem_of(plan, memory.candidates)
        if memory.plan_problem:
            return
        memory.file_conflicts = tuple(conflicts_of(plan, memory.candidates))
        if not memory.file_conflicts or self.parameters.conflicts == 'ranked':
            order = [standing.coder for standing in memory.standings]
            self._settle(memory, by_rank(memory.file_conflicts, order), 'ranked')

    def lose_plan(self, memory: ReviewMemory, event: Event) -> None:
        """The list of files failed, or a file could not be put there: the best stays as it is."""
        memory.plan = memory.plan or Plan()
        memory.plan_problem = str(event.data.get('error') or 'it could not be merged')

    def take_answers(self, memory: ReviewMemory, event: Event) -> None:
        """Settle the conflicts as a person says."""
        self._settle(memory, dict(event.data['files']), 'person')

    def keep_merged(self, memory: ReviewMemory, event: Event) -> None:
        """The best one has a new version, with what was taken from others."""
        best = memory.best
        foreign = {path: coder for path, coder in memory.taken.items() if coder != best}
        why = memory.plan.why if memory.plan else ''
        add_version(memory.candidates[best], event, said=why, merged=foreign)

    def refuse(self, memory: ReviewMemory, event: Event) -> None:
        """Say why an approval does not hold, where there was one."""
        if not memory.best and memory.standings and memory.strategy == 'APPROVE':
            self._choose(memory, memory.standings[0].coder, 'ranking', '')
        objection = self._objection(memory)
        if self.wants_approval(memory, event) and objection:
            memory.refusals.append(f'The approval of {memory.best} does not hold: {objection}')
            memory.targets = (memory.best,)

    def send_back(self, memory: ReviewMemory, event: Event) -> None:
        """Count the revision, once, when it begins."""
        memory.revision_count += 1

    def approve(self, memory: ReviewMemory, event: Event) -> None:
        """The reviewers approve, and the tests bear it out."""
        memory.approved = True

    def deliver(self, memory: ReviewMemory, event: Event) -> None:
        """Say how it ended."""
        if not memory.best:
            order = standings(memory.candidates, memory.rankings(self.reviewers))
            self._choose(memory, order[0].coder, 'ranking', '')
        candidate = memory.candidates[memory.best]
        version = candidate.latest
        assert version is not None
        memory.result = memory.best
        count = memory.revision_count
        after = f'after {count} revision{"s" if count != 1 else ""}'
        said = 'Approved' if memory.approved else 'Not approved'
        open_points = '' if memory.approved else ''.join(f'\n- {point}' for point in demands(memory))
        memory.outcome = (
            f'{said}: {memory.best}, version {version.number}, {after}. '
            f'Required tests: {version.evidence.required.line}.'
            + (f'\nWhat is still asked for:{open_points}' if open_points else '')
        )

    def give_up(self, memory: ReviewMemory, event: Event) -> None:
        """Say why there is nothing to deliver."""
        reasons = [f'{name}: {found.problem}' for name, found in memory.candidates.items() if found.problem]
        reasons += [f'{name}: {problem}' for name, problem in memory.debate.absent.items()]
        error = str(event.data.get('error') or '')
        memory.outcome = 'Failed.' + ''.join(f'\n- {line}' for line in ([error] if error else []) + reasons)

    # -- what they share

    def _choose(self, memory: ReviewMemory, name: str, by: str, why: str) -> None:
        if memory.best == name and by in ('only one', 'reviewers'):
            return
        memory.choices.append(Choice(candidate=name, by=by, why=why))
        memory.targets = (name,)
        if self.parameters.merge == 'one':
            for other in memory.in_play():
                if other != name:
                    memory.candidates[other].status = 'set aside'

    def _settle(self, memory: ReviewMemory, answers: dict[str, str], rule: str) -> None:
        assert memory.plan is not None
        memory.taken, told = settled(memory.plan, memory.file_conflicts, answers, rule)
        memory.file_conflicts = tuple(told)

    def _is_shown(self, memory: ReviewMemory, name: str) -> bool:
        latest, exhibit = memory.candidates[name].latest, memory.exhibits.get(name)
        return latest is not None and exhibit is not None and exhibit.version == latest.number

    def _objection(self, memory: ReviewMemory) -> str:
        """Why the best one cannot be approved, or ''."""
        if not memory.best:
            return 'none of them was picked'
        version = memory.candidates[memory.best].latest
        assert version is not None
        if not self._is_shown(memory, memory.best):
            return f'version {version.number} was not reviewed'
        if self.parameters.must_pass and not version.evidence.ok:
            return f'the required tests: {version.evidence.required.line}'
        return ''
