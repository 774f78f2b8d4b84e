"""A simulator offers what may come, asks the real guards, and goes back and forward."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine import Catalog, Memory, Pattern
from engine.agents.chart import agent
from engine.errors import InvalidInput
from engine.models.scripted import draft_stub
from engine.operations.rehearsal.simulator import Choice, Kind, Simulator
from engine.records import StatePath

GOOD = {'approved': True, 'score': 90, 'summary': 'Good.'}
BAD = {'approved': False, 'score': 10, 'summary': 'Bad.', 'comments': ['Decide.']}


class Word(BaseModel):
    """What a person says."""

    word: str = Field(min_length=1)


class Odd(Pattern):
    """Writes, asks a person, and counts what work gives."""

    class Memory(Memory):
        task: str = 'Tea?'
        count: int = 0

    inputs = {'say': Word}
    initial = 'writing'
    states = (
        agent('writing', tools=('notes', 'publish')),
        {'name': 'asking', 'waits': 'a word', 'within': 60},
        {'name': 'counting', 'invoke': 'work'},
        {'name': 'over', 'final': True},
    )
    transitions = (
        ['done', 'writing', 'asking'],
        ['say', 'asking', 'counting', 'is_yes'],
        ['expired', 'asking', 'over'],
        {'trigger': 'done', 'source': 'counting', 'dest': 'over', 'after': 'count'},
    )

    def prompt_writing(self, memory: Any) -> str:
        return memory.task

    def is_yes(self, memory: Any, event: Any) -> bool:
        return event.data['word'] == 'yes'

    def count(self, memory: Any, event: Any) -> None:
        memory.count = event.data['count']

    async def work(self, memory: Any, activity: Any) -> Any:
        raise AssertionError


@pytest.fixture
def odd() -> Simulator:
    return Simulator(Odd(Odd.Parameters()), approval={'publish'})


@pytest.fixture
def pipeline() -> Simulator:
    pattern = Catalog.load().pattern('pipeline')
    return Simulator(
        pattern(pattern.parse({'task': 'Tea or coffee?', 'max_iterations': 1})), draft=draft_stub
    )


def choice(simulator: Simulator, kind: Kind, name: str = '') -> Choice:
    return next(item for item in simulator.choices() if item.kind is kind and name in ('', item.name))


def reply(simulator: Simulator, given: Any = None) -> tuple[str, ...]:
    return simulator.choose(choice(simulator, Kind.REPLY), given).active


def test_guards_decide_on_the_memory_that_stubs_make(pipeline: Simulator) -> None:
    assert reply(pipeline) == ('analyzing.thinking',)
    assert reply(pipeline, 'Buy tea.') == ('reviewing.thinking',)
    assert pipeline.moment.document['memory']['analysis'] == 'Buy tea.'
    sent_back = pipeline.preview(choice(pipeline, Kind.REPLY), BAD)
    assert sent_back.active == ('analyzing.thinking',)
    assert ('is_approved', False) in [(guard.name, guard.says) for guard in sent_back.guards]
    assert pipeline.at == 2, 'a preview goes nowhere'
    approved = next(guard for guard in sent_back.guards if guard.name == 'is_approved')
    seen = sent_back.seen_by(approved, pipeline.moment.document)
    assert [review['score'] for review in seen['memory']['reviews']] == [10]
    reply(pipeline, GOOD)
    assert (pipeline.moment.active, pipeline.moment.ending) == (('complete',), 'done')
    assert pipeline.choices() == []
    assert pipeline.stubs()['analyzing'] == ['Buy tea.'] and pipeline.stubs()['reviewing'] == [
        GOOD | {'comments': []}
    ]


def test_a_walk_goes_back_and_forward_until_it_takes_another_way(pipeline: Simulator) -> None:
    reply(pipeline)
    reply(pipeline, 'Buy tea.')
    there = pipeline.moment
    assert pipeline.back() and pipeline.back() and not pipeline.back()
    assert pipeline.moment.active == ('researching.thinking',)
    assert pipeline.forward() and pipeline.forward() and not pipeline.forward()
    assert pipeline.moment is there
    pipeline.back()
    reply(pipeline, 'Buy coffee.')
    assert not pipeline.forward() and len(pipeline.moments) == 3
    assert pipeline.stubs()['analyzing'] == ['Buy coffee.']


def test_a_stub_that_does_not_fit_is_refused_by_field(pipeline: Simulator) -> None:
    with pytest.raises(InvalidInput, match=r'answer.findings: '):
        reply(pipeline, {'findings': []})
    with pytest.raises(InvalidInput, match='answers with a record'):
        reply(pipeline, 'Tea.')
    assert pipeline.at == 0


def test_calls_wait_for_approval_where_the_tool_needs_it(odd: Simulator) -> None:
    assert reply(odd, [{'calls': [{'tool': 'notes'}]}]) == ('writing.using_tools',)
    odd.choose(choice(odd, Kind.TOOLS))
    assert odd.moment.document['agents']['writing']['messages'][-1]['role'] == 'tool'
    assert reply(odd, [{'calls': [{'tool': 'publish'}]}]) == ('writing.approving',)
    odd.choose(choice(odd, Kind.PERSON, 'deny'), {'reason': 'Not yet.'})
    assert odd.moment.active == ('writing.thinking',)
    assert reply(odd, 'Tea.') == ('asking',)
    assert odd.stubs() == {
        'writing': [
            [
                {'calls': [{'tool': 'notes', 'arguments': {}}]},
                {'calls': [{'tool': 'publish', 'arguments': {}}]},
                {'text': 'Tea.'},
            ]
        ]
    }


def test_people_time_and_failures_come_with_what_guards_say(odd: Simulator) -> None:
    reply(odd, 'Tea.')
    say, late = choice(odd, Kind.PERSON), choice(odd, Kind.TIME)
    assert say.record is Word and late.limit == 60
    with pytest.raises(InvalidInput, match='word'):
        odd.choose(say, {})
    with pytest.raises(InvalidInput, match='is_yes says no'):
        odd.choose(say, {'word': 'no'})
    assert odd.choose(late).active == ('over',) and odd.moment.event.ran == 61
    odd.back()
    assert odd.choose(say, {'word': 'yes'}).active == ('counting',)
    work = odd.choose(choice(odd, Kind.WORK))
    assert work.active == ('over',) and "'count'" in work.problems[0]
    odd.back()
    assert not odd.choose(choice(odd, Kind.WORK), {'count': 2}).problems
    assert odd.moment.document['memory']['count'] == 2
    odd.back()
    failed = odd.choose(choice(odd, Kind.FAILURE))
    assert (failed.ending, failed.reason, failed.active) == ('failed', 'Simulated failure.', ())


def test_work_gives_what_it_is_known_to_give() -> None:
    simulator = Simulator(Odd(Odd.Parameters()), results={StatePath('counting'): {'count': 3}})
    reply(simulator, 'Tea.')
    simulator.choose(choice(simulator, Kind.PERSON), {'word': 'yes'})
    assert not simulator.choose(choice(simulator, Kind.WORK)).problems
    assert simulator.moment.document['memory']['count'] == 3


def test_stubs_are_followed_until_they_say_no_more(pipeline: Simulator) -> None:
    stubs: dict[str, Any] = {
        'researcher': [{'findings': ['A']}],
        'analyzer': ['Tea.'],
        'reviewer': [BAD, GOOD],
    }
    assert pipeline.follow(stubs) == ''
    assert [moment.active[0] for moment in pipeline.moments].count('reviewing.thinking') == 2
    pipeline.restart()
    del stubs['reviewer']
    assert pipeline.follow(stubs) == 'no stub says what comes in reviewing.thinking'
