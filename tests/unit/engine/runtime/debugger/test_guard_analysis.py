"""Guard analysis from source: descriptions and accesses, without calling the pattern."""

from collections import Counter

import pytest
from pydantic import BaseModel, ConfigDict, Field

from engine import Catalog, Event, LocalConductor, Memory, Pattern
from engine.runtime import GuardExplanation, GuardExplanations

ENOUGH = 3
EVENT = Event(name='go', data={'votes': 2, 'who': 'ann'}, ran=7.5)


class Task(BaseModel):
    """A record in memory."""

    model_config = ConfigDict(frozen=True)

    tries: int = 0
    notes: tuple[str, ...] = ()

    @property
    def tired(self) -> bool:
        """Whether it has been tried often."""
        return self.tries > ENOUGH


class Remembered(Memory):
    """The memory of the pattern below."""

    count: int = 1
    now: str = 'b'
    tasks: dict[str, Task] = Field(default_factory=dict)
    names: tuple[str, ...] = ('x', 'y')

    @property
    def task(self) -> Task:
        """The current task."""
        return self.tasks[self.now]

    def knows(self, name: str) -> bool:
        """Whether the name exists."""
        return name in self.names


def is_much(number: int, most: int) -> bool:
    return number > most


def branching(memory, left: int) -> int:
    """Calls itself in so many ways that following them all would take hours."""
    return (
        left + branching(memory, 0) + branching(memory, 1) + branching(memory, 2) + branching(memory, 3)
        + branching(memory, 4) + branching(memory, 5) + branching(memory, 6) + branching(memory, 7)
        + branching(memory, 8) + branching(memory, 9) + branching(memory, 10) + branching(memory, 11)
        + branching(memory, 12) + branching(memory, 13) + branching(memory, 14) + branching(memory, 15)
        + branching(memory, 16) + branching(memory, 17) + branching(memory, 18) + branching(memory, 19)
        + branching(memory, 20) + branching(memory, 21) + branching(memory, 22) + branching(memory, 23)
    )  # fmt: skip


GUARDS = ['plain', 'inside', 'computed', 'helper', 'constant', 'given', 'loop', 'local', 'lazy', 'endless']


class Looking(Pattern):
    """Has a guard for each kind of access."""

    class Parameters(BaseModel):
        most: int = 4

    Memory = Remembered
    initial = 'a'
    states = ['a', {'name': 'end', 'final': True}]
    transitions = [['go', 'a', 'end', GUARDS]]

    def plain(self, memory, event):
        """It is a field. And more."""
        return memory.count > self.parameters.most

    def inside(self, memory, event):
        return bool(memory.task.tries)

    def computed(self, memory, event):
        return memory.task.tired or self.often

    def helper(self, memory, event):
        return is_much(memory.count, most=2) and memory.knows(event.data['who'])

    def constant(self, memory, event):
        return memory.count >= ENOUGH

    def given(self, memory, event):
        return event.data.get('votes', 0) > 1 and event.ran > 5

    def loop(self, memory, event):
        return any(name.startswith('x') for name in memory.names if name != memory.now)

    def local(self, memory, event):
        task = memory.tasks['b']
        if task is None:
            return False
        return Counter(task.notes).most_common(memory.count) == []

    def lazy(self, memory, event):
        return max(memory.names, key=lambda name: (memory.count, name)) == 'y'

    def endless(self, memory, event):
        return branching(memory, memory.count) and memory.now == 'b'

    @property
    def often(self):
        raise AssertionError('it must not be called')


BEFORE = {
    'memory': {'count': 1, 'now': 'b', 'tasks': {'b': {'tries': 5, 'notes': []}}, 'names': ['x', 'y']},
    'agents': {},
}


@pytest.fixture(scope='module')
def looking() -> GuardExplanations:
    return GuardExplanations(Looking(), {'most': 4})


@pytest.mark.parametrize(
    ('guard', 'saw'),
    [
        ('plain', {'count': 1, 'most': 4}),
        ('inside', {'tasks.b.tries': 5}),
        ('computed', {'tasks.b.tries': 5, 'enough (constant)': 3}),
        ('helper', {'count': 1, 'event.who': 'ann', 'names': ['x', 'y']}),
        ('constant', {'count': 1, 'enough (constant)': 3}),
        ('given', {'event.votes': 2, 'event.ran': 7.5}),
        ('loop', {'names': ['x', 'y'], 'now': 'b'}),
        ('local', {'tasks.b.notes': [], 'count': 1}),
        ('lazy', {'names': ['x', 'y']}),
        ('endless', {'count': 1, 'now': 'b'}),
    ],
)
def test_guards_are_analyzed_through_their_calls(looking, guard, saw):
    assert dict(looking.of('a', 'end', guard, BEFORE, EVENT).values) == saw


def test_the_docstrings_first_sentence_is_the_description(looking):
    assert looking.of('a', 'end', 'plain', BEFORE, EVENT).says == 'It is a field. And more.'


def test_missing_fields_are_left_out(looking):
    ground = looking.of('a', 'end', 'given', {'memory': {}, 'agents': {}}, Event(name='go', ran=1.0))
    assert ground.values == (('event.ran', 1.0),)


def test_a_missing_pattern_has_no_explanations():
    assert GuardExplanations(None, {}).of('a', 'end', 'plain', BEFORE, EVENT) == GuardExplanation('')


def test_a_guard_without_source_still_has_a_description():
    namespace: dict[str, object] = {}
    exec('def plain(self, memory, event):\n    "Made up."\n    return memory.count > 1', namespace)
    strange = type('Strange', (Looking,), {'plain': namespace['plain']})
    assert GuardExplanations(strange(), {}).of('a', 'end', 'plain', BEFORE, EVENT) == GuardExplanation(
        'Made up.'
    )


def test_agent_guards_are_analyzed_with_their_closures():
    pattern = LocalConductor().catalog.pattern('pipeline').sample()
    before = {'memory': {}, 'agents': {'reviewing': {'turns': 2}}}
    edges = [edge for edge in Catalog.load().draw('pipeline').edges if 'out_of_turns' in edge.conditions]
    edge = next(edge for edge in edges if edge.source.startswith('reviewing.'))
    ground = GuardExplanations(pattern, {}).of(edge.source, edge.dest, 'out_of_turns', before, EVENT)
    assert ground.says == 'The agent has used all its turns.'
    saw = dict(ground.values)
    assert saw['agent.turns'] == 2
    assert saw['spec.turns'] > 2


@pytest.mark.parametrize('name', sorted(LocalConductor().catalog.patterns))
def test_every_included_guard_has_a_description(name):
    conductor = LocalConductor()
    explanations = GuardExplanations(conductor.catalog.pattern(name).sample(), {})
    for edge in conductor.catalog.draw(name).edges:
        for guard in (*edge.conditions, *edge.unless):
            assert explanations.of(edge.source, edge.dest, guard, {}, EVENT).says, guard


async def test_a_run_has_its_patterns_explanations():
    async with LocalConductor() as conductor:
        run = (await conductor.start('pipeline', {'task': 'Which database suits a small shop?'})).id
        await conductor.result(run)
        explanations = await conductor.explain_guards(run)
        for step in await conductor.transitions(run):
            for guard in (item for item in step.guards if item.name == 'is_spent'):
                before = (await conductor.fold(run, step.seq - 1)).document
                saw = dict(explanations.of(guard.source, guard.dest, guard.name, before, step.event).values)
                assert (saw['iteration'] >= saw['max_iterations']) is guard.value
