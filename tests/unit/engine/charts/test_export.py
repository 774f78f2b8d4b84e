"""Patterns in Python as chart files: what can be said works the same, and what cannot is named."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine import Catalog, LocalConductor, Memory, Pattern
from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.charts import load_chart
from engine.charts.export import Export, export_chart
from engine.records import Event, Shape
from engine.records.frozen import FrozenModel
from engine.statechart.shape_builder import build_shape
from tests.support.harness import FakeModel, catalog, complete_run

CATALOG = Catalog.load()
OPTIONS = {
    'supervisor': [{'execution': 'side by side', 'workers': 2}],
    'vote': [{'voters': 5, 'decided_by': 'judge'}],
    'race': [{'racers': 2}],
    'parallel-review': [{'coders': 2}],
}
CASES = [(name, {}) for name in CATALOG.patterns] + [
    (name, each) for name in OPTIONS for each in OPTIONS[name]
]


def outline(shape: Shape) -> tuple[Any, Any]:
    """Return a chart's states and edges, without those inside agents and inside what stands in for Python."""
    hidden = tuple(f'{state.path}.' for state in shape.states if state.role or state.invokes)
    hidden += tuple(f'{state.parent}.' for state in shape.states if state.name == 'left_out')
    states = [
        (state.path, state.kind if state.kind != 'compound' else '', state.role or state.roles, state.outcome)
        for state in shape.states
        if not state.path.startswith(hidden)
    ]
    edges = [(e.trigger, e.source, e.dest, e.history) for e in shape.edges if not e.source.startswith(hidden)]
    return states, edges


def plain(path: str, kind: str, roles: Any, outcome: str) -> tuple[Any, ...]:
    return path, '' if kind == 'atomic' else kind, roles, outcome


@pytest.mark.parametrize(('name', 'values'), CASES, ids=lambda value: value if isinstance(value, str) else '')
def test_a_built_in_pattern_becomes_a_chart_of_the_same_shape(name, values):
    pattern = CATALOG.pattern(name)
    exported = export_chart(pattern, values)
    (states, edges), (chart_states, chart_edges) = (
        outline(build_shape(each.sample(values))) for each in (pattern, load_chart(exported.text))
    )
    assert [plain(*state) for state in chart_states] == [plain(*state) for state in states]
    assert chart_edges == edges


def test_each_part_that_cannot_be_said_is_named_at_its_place():
    exported = export_chart(CATALOG.pattern('pipeline'))
    lines = exported.text.splitlines()
    at = lines.index('  failed: {final: true, outcome: failed}')
    assert lines[at - 1].startswith('  # cannot be said: record_failure: ')
    at = lines.index('    prompt: (Write the task of this agent here.)')
    assert lines[at - 1].startswith('    # cannot be said: prompt: ')
    assert len(exported.missing) == sum('# cannot be said: ' in line for line in lines)
    assert any(line.startswith('states.failed.enter: record_failure: ') for line in exported.missing)


WRITER = Role(name='writer', title='Writer', instructions='You write.')
CRITIC = Role(name='critic', title='Critic', instructions='You judge.', tools=('notes',))


class Remark(FrozenModel):
    """What a critic says."""

    mark: int = Field(ge=0, le=10, description='From 0 to 10')
    texts: tuple[str, ...] = ()


class Letter(Pattern):
    """A letter is written until it is good, or nobody wants to go on."""

    class Parameters(BaseModel):
        """The form."""

        topic: str = Field('rain', title='Topic', min_length=2)
        rounds: int = Field(2, ge=1, le=5)

    class Memory(Memory):
        """What is known."""

        topic: str = ''
        drafts: list[str] = Field(default_factory=list)
        remarks: list[Remark] = Field(default_factory=list)
        best: int = 0
        ended: str = ''
        history: list[dict[str, Any]] = Field(default_factory=list)

        @property
        def last(self) -> Remark | None:
            """The latest remark."""
            return self.remarks[-1] if self.remarks else None

        def note(self, kind: str, text: str) -> None:
            """Add to the history."""
            self.history.append({'kind': kind, 'text': text})

    initial = 'writing'
    answer = 'ended'
    states = (
        agent('writing', Role(name='writer', title='Writer', instructions='You write.'), then='keep'),
        agent(
            'judging',
            Role(name='critic', title='Critic', instructions='You judge.'),
            output=Remark,
            then='judge',
        ),
        {'name': 'done', 'final': True, 'on_enter': 'finish'},
        {'name': 'failed', 'final': True, 'outcome': 'failed'},
    )
    transitions = (
        ['done', 'writing', 'judging'],
        ['done', 'judging', 'done', 'is_good'],
        ['done', 'judging', 'done', None, 'may_go_on'],
        ['done', 'judging', 'writing'],
        ['failed', '*', 'failed'],
    )

    def is_good(self, memory: Any, event: Event) -> bool:
        """The mark is high, and nothing is left to say."""
        last = memory.last
        if last is None:
            return False
        return last.mark >= 8 and not any(text.strip() for text in last.texts)

    def may_go_on(self, memory: Any, event: Event) -> bool:
        """There are rounds left."""
        return len(memory.drafts) < self.parameters.rounds and 'stop' not in memory.topic.lower()

    def keep(self, memory: Any, event: Event) -> None:
        """Keep the draft."""
        memory.drafts.append(event.data['text'])
        memory.note('draft', f'Draft {len(memory.drafts)} of {self.parameters.rounds}')

    def judge(self, memory: Any, event: Event) -> None:
        """Keep the remark."""
        remark = Remark.model_validate(event.data['output'])
        memory.remarks.append(remark)
        if remark.mark > memory.best:
            memory.best = remark.mark
        else:
            memory.note('worse', 'It is no better.')
        for text in remark.texts:
            memory.note('remark', text)

    def finish(self, memory: Any, event: Event) -> None:
        """Say how it ended."""
        memory.ended = memory.drafts[-1] + (' (good)' if memory.best >= 8 else '')

    def prompt_writing(self, memory: Any) -> str:
        """The topic, and what was said."""
        parts = [f'Write about {memory.topic}.']
        if memory.last:
            remarks = '\n'.join(f'{number}. {text}' for number, text in enumerate(memory.last.texts, start=1))
            parts.append(f'Mend, since it got {memory.last.mark} of 10:\n{remarks}')
        return '\n\n'.join([*parts, 'Use {{ braces }}.'])

    def prompt_judging(self, memory: Any, event: Event) -> str:
        """The draft."""
        return f'{memory.drafts[-1]}\n\n' + ('Again.' if len(memory.drafts) > 1 else 'First.')


def reply(request: Any) -> Any:
    if request.hints.role == 'writer':
        return f'draft {request.hints.visit}'
    marks = [{'mark': 3, 'texts': ['shorter', 'kinder']}, {'mark': 2}, {'mark': 9, 'texts': []}]
    return marks[request.hints.visit - 1]


@pytest.mark.parametrize('rounds', [2, 5])
async def test_a_pattern_that_can_be_said_does_the_same_as_a_chart(rounds):
    exported = export_chart(Letter)
    assert exported.missing == ()
    told = []
    for pattern in (Letter, load_chart(exported.text)):
        model = FakeModel(reply)
        async with LocalConductor(catalog=catalog(model, pattern)) as conductor:
            run = await complete_run(conductor, 'letter', {'topic': 'rain', 'rounds': rounds})
            outcome = await conductor.result(run)
        tasks = [str(request.messages[-1]) for request in model.requests]
        told.append((outcome.status, outcome.answer, outcome.memory, tasks))
    assert told[0] == told[1]
    assert told[0][2]['history']


NUMBERS = tuple(range(1_000))


class Odd(Pattern):
    """It does what no chart file can."""

    class Memory(Memory):
        """What is known."""

        words: dict[str, int] = Field(default_factory=dict)

    initial = 'thinking'
    states = ({'name': 'thinking'}, {'name': 'end', 'final': True, 'on_enter': 'crash'})
    transitions = (
        ['go', 'thinking', 'end', 'is_odd', None, 'mix'],
        ['go', 'thinking', 'end', 'is_long', 'is_late'],
    )

    def is_odd(self, memory: Any, event: Event) -> bool:
        """It takes a lambda."""
        return max(memory.words, key=lambda word: memory.words[word]) == 'odd'

    def is_late(self, memory: Any, event: Event) -> bool:
        """It looks at the clock."""
        return event.time > 100

    def is_long(self, memory: Any, event: Event) -> bool:
        """It is longer than an expression may be."""
        return memory.words['odd'] in NUMBERS

    def mix(self, memory: Any, event: Event) -> None:
        """Read before it writes, and use that after."""
        before = memory.words
        memory.words = {}
        memory.words = before

    def crash(self, memory: Any, event: Event) -> None:
        """Fail for reasons that only Python has."""
        memory.words = {'a': 1} if 1 in 2 else {}


def test_what_would_do_something_else_is_not_said():
    exported: Export = export_chart(Odd)
    guards = load_chart(exported.text).file.guards
    assert {name: guard.if_ for name, guard in guards.items()} == dict.fromkeys(
        ('is_odd', 'is_long', 'is_late'), 'false'
    )
    assert [line.split(': ', 2)[2] for line in exported.missing] == [
        "TypeError: argument of type 'int' is not iterable",
        '`lambda word: memory.words[word]` has no counterpart',
        '`before` is read before memory changes, and used after that',
        'String should have at most 2000 characters',
        '`time` of an event, which expressions cannot see',
    ]
