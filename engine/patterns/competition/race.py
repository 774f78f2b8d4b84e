"""Race: several agents do the same task; the first to pass the tests wins and the others stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from engine.patterns.competition import coder
from engine.patterns.competition.coder import CoderConfig
from engine.patterns.competition.ranking import rank_candidates
from engine.patterns.competition.records import Candidate, ContestMemory
from engine.patterns.form_fields import PROJECTS, FilesRule, files_field, task_field
from engine.records import Event
from engine.records.frozen import Form
from engine.runtime.activity import Activity
from engine.statechart.deliverables import Deliverables
from engine.statechart.edges import edge
from engine.statechart.lenient_reading import read_leniently
from engine.statechart.pattern import Pattern
from engine.workspace.project import check_project


class Race(Pattern):
    """Several agents do the same task side by side; the first whose work passes its tests wins."""

    class Parameters(Form):
        """Launch form parameters."""

        task: str = task_field(
            'Task',
            'What to make, in a sentence or a page',
            'Write a module that says whether a year is a leap year.',
        )
        racers: int = Field(3, ge=2, le=6, title='Racers', description='How many agents compete')
        project: str = Field(
            '',
            title='Project',
            description='A folder that each racer starts from, or sample:NAME',
            json_schema_extra=PROJECTS,
        )
        tests: str = Field('', title='Required tests', description='A folder of tests, or sample:NAME')
        files: FilesRule = files_field()
        command: str = Field(
            '',
            max_length=2_000,
            title='Test command',
            description='Runs the tests instead of pytest; exit status 0 means they pass',
        )
        otherwise: Literal['best', 'fail'] = Field(
            'best',
            title='If none passes',
            description='What happens once all have ended',
            json_schema_extra={
                'labels': {'best': 'Take the one with the fewest failures', 'fail': 'The run fails'}
            },
        )
        seconds: float = Field(1_800, gt=0, le=86_400, title='Time', description='Seconds for each racer')
        test_seconds: float = Field(
            120, gt=0, le=3_600, title='Test timeout', description='Seconds for one test run'
        )

        _is_known = field_validator('project', 'tests')(check_project)

        @property
        def worktrees(self) -> bool:
            """Whether each agent gets a git worktree of the project."""
            return bool(self.project) and self.files == 'worktree'

    class Memory(ContestMemory):
        """The candidates and the winner."""

        winner: str = ''
        passed: bool = False
        """Whether the winner's tests pass; otherwise it is only the best of those that fail."""
        outcome: str = ''

    family = 'Parallel'
    suits = ('race', 'fastest', 'fast', 'module', 'function', 'solve', 'compete')
    initial = 'preparing'
    answer = 'outcome'
    words = {'has_winner': 'tests pass', 'may_take_best': 'best is accepted'}
    projects = ('project', 'tests')
    caveat = 'caveat'
    panels = {'result': {'podium': 'candidates'}, 'candidates': 'candidates'}

    def states(self) -> list[Any]:
        """One region per racer."""
        seconds = self.parameters.seconds
        configs = [CoderConfig.of(name, self.parameters, seconds=seconds) for name in self.racers]
        return [
            {'name': 'preparing', 'invoke': 'prepare', 'caption': 'Copying the project'},
            {'name': 'racing', 'parallel': [coder.coder_region(config) for config in configs]},
            {'name': 'won', 'final': True},
            {'name': 'lost', 'final': True, 'outcome': 'failed', 'on_enter': 'record_defeat'},
        ]

    def transitions(self) -> list[Any]:
        """The first racer whose tests pass ends the race for all."""
        return [
            ['done', 'preparing', 'racing'],
            ['failed', 'preparing', 'lost'],
            edge('always', 'racing', 'won', 'has_winner', before='record_win'),
            edge('done', 'racing', 'won', 'may_take_best', before='record_best'),
            ['done', 'racing', 'lost'],
        ]

    def remember(self) -> ContestMemory:
        """Initial memory, with an empty candidate per racer."""
        memory = super().remember()
        assert isinstance(memory, ContestMemory)
        memory.candidates = {name: Candidate(coder=name) for name in self.racers}
        return memory

    def facts(self, memory: ContestMemory) -> dict[str, Any]:
        """Facts for the racers' tools: the project, in whose environment their commands run."""
        return {'tests': {'project': self.parameters.project}}

    @classmethod
    def deliverables(cls, parameters: Mapping[str, Any], memory: Mapping[str, Any]) -> Deliverables:
        """The racers' newest versions; the result is the winner's."""
        contest = read_leniently(cls.Memory, memory)
        return Deliverables.of(parameters, contest.works(), contest.winner)

    @property
    def racers(self) -> tuple[str, ...]:
        """`racer1`, `racer2`, and so on."""
        return tuple(f'racer{number}' for number in range(1, self.parameters.racers + 1))

    async def prepare(self, memory: Any, activity: Activity) -> dict[str, Any]:
        """Give every racer the initial files and the tests."""
        return await coder.prepare_workspaces(self.racers, self.parameters, activity)

    def has_winner(self, memory: Any, event: Event) -> bool:
        """One racer's tests pass."""
        return any(standing.tests_ok for standing in rank_candidates(memory.candidates, ()))

    def may_take_best(self, memory: Any, event: Event) -> bool:
        """No racer passed, and the best of them is accepted."""
        return self.parameters.otherwise == 'best' and bool(memory.in_play())

    def record_win(self, memory: Any, event: Event) -> None:
        """Let the first racer whose tests pass win; the others stop."""
        memory.passed = True
        self.record_best(memory, event)

    def record_best(self, memory: Any, event: Event) -> None:
        """Declare the winner: the racer that passes, or fails the fewest tests."""
        best = rank_candidates(memory.candidates, ())[0]
        memory.winner = best.coder
        line = memory.candidates[best.coder].latest.evidence.required.line
        if not memory.passed:
            memory.caveat = 'no candidate passes its tests'
        outcome = 'won' if memory.passed else 'is the best of those that did not pass'
        memory.outcome = f'{best.coder} {outcome}: {line}.'

    def record_defeat(self, memory: Any, event: Event) -> None:
        """Record why nobody won."""
        reasons = [
            f'{name}: {candidate.problem or candidate.latest.evidence.required.line}'
            for name, candidate in memory.candidates.items()
            if candidate.problem or candidate.latest
        ]
        memory.caveat = f'nobody won: {reasons[0]}' if reasons else 'nobody won'
        memory.outcome = '\n- '.join(['Nobody won.', *reasons])
