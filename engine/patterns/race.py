"""Race: several agents do the same task; the first whose tests pass wins, the others are stopped."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from engine.activity import Activity
from engine.contest import coder
from engine.contest.coder import Desk, implement
from engine.contest.evidence import Checks
from engine.contest.ranking import standings
from engine.contest.records import Candidate, ContestMemory
from engine.fields import Form, task_field
from engine.files.project import known
from engine.pattern import Pattern
from engine.records import Event


class Race(Pattern):
    """Several agents do the same task side by side; the first whose work passes its tests wins."""

    class Parameters(Form):
        """What the launch form asks for."""

        task: str = task_field(
            'Task',
            'What each of them is to make, in a sentence or a page',
            'Write a module that says whether a year is a leap year.',
        )
        racers: int = Field(3, ge=2, le=6, title='Racers', description='How many work at the same time')
        project: str = Field(
            '', title='Project', description='A folder that each begins with, or sample: and a name'
        )
        tests: str = Field(
            '', title='Required tests', description='A folder with tests, or sample: and a name'
        )
        command: str = Field(
            '', max_length=2_000, title='Test command', description='What runs the tests, in place of pytest'
        )
        otherwise: Literal['best', 'fail'] = Field(
            'best',
            title='If none passes',
            description='best: the one that fails fewest tests is the result; fail: the run fails',
        )
        seconds: float = Field(1_800, gt=0, le=86_400, title='Time', description='Seconds for each of them')
        test_seconds: float = Field(
            120, gt=0, le=3_600, title='Time of the tests', description='Seconds for one run of the tests'
        )

        _is_known = field_validator('project', 'tests')(known)

    class Memory(ContestMemory):
        """The candidates, and who won."""

        winner: str = ''
        passed: bool = False
        """Whether the winner's tests pass; otherwise it is only the best of those that do not."""
        outcome: str = ''

    family = 'Side by side'
    initial = 'preparing'
    answer = 'outcome'
    candidates = 'candidates'

    def states(self) -> list[Any]:
        """A region for each racer."""
        return [
            {'name': 'preparing', 'invoke': 'prepare'},
            {'name': 'racing', 'parallel': [coder.region(self._desk(name)) for name in self.racers]},
            {'name': 'won', 'final': True},
            {'name': 'lost', 'final': True, 'outcome': 'failed', 'on_enter': 'give_up'},
        ]

    def transitions(self) -> list[Any]:
        """The first racer whose tests pass takes all out of the race."""
        return [
            ['done', 'preparing', 'racing'],
            ['failed', 'preparing', 'lost'],
            {
                'trigger': 'always',
                'source': 'racing',
                'dest': 'won',
                'conditions': 'has_winner',
                'before': 'win',
            },
            {
                'trigger': 'done',
                'source': 'racing',
                'dest': 'won',
                'conditions': 'may_take_best',
                'before': 'take_best',
            },
            ['done', 'racing', 'lost'],
        ]

    def remember(self) -> ContestMemory:
        """With an empty candidate for each racer."""
        memory = super().remember()
        assert isinstance(memory, ContestMemory)
        memory.candidates = {name: Candidate(coder=name) for name in self.racers}
        return memory

    @property
    def racers(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f'racer{number}' for number in range(1, self.parameters.racers + 1))

    async def prepare(self, memory: Any, activity: Activity) -> dict[str, Any]:
        """Give every racer the files to begin with, and the tests."""
        return await coder.equip(self.racers, (self.parameters.project, self.parameters.tests), activity)

    def has_winner(self, memory: Any, event: Event) -> bool:
        """The tests of one of them pass."""
        return any(standing.tests_ok for standing in standings(memory.candidates, ()))

    def may_take_best(self, memory: Any, event: Event) -> bool:
        """None passed; the best of those that there are will do."""
        return self.parameters.otherwise == 'best' and bool(memory.in_play())

    def win(self, memory: Any, event: Event) -> None:
        """The first whose tests pass has won; the others are stopped."""
        memory.passed = True
        self.take_best(memory, event)

    def take_best(self, memory: Any, event: Event) -> None:
        """Who passes, or else who fails fewest tests."""
        best = standings(memory.candidates, ())[0]
        memory.winner = best.coder
        line = memory.candidates[best.coder].latest.evidence.required.line
        said = 'won' if memory.passed else 'is the best of those that did not pass'
        memory.outcome = f'{best.coder} {said}: {line}.'

    def give_up(self, memory: Any, event: Event) -> None:
        """Say why nobody won."""
        reasons = [
            f'{name}: {found.problem or found.latest.evidence.required.line}'
            for name, found in memory.candidates.items()
            if found.problem or found.latest
        ]
        memory.outcome = '\n- '.join(['Nobody won.', *reasons])

    def _desk(self, name: str) -> Desk:
        parameters = self.parameters
        checks = Checks(tests=parameters.tests, command=parameters.command, seconds=parameters.test_seconds)
        return Desk(coder=name, checks=checks, prompt=implement, seconds=parameters.seconds)
