"""A step in one sentence: what moved, and why."""

from typing import Any

import pytest

from engine import Event, Transition
from engine.records import Edge, EdgeShape, GuardResult, RunId, Shape, StatePath, StateShape
from ui.formatting.sentences import step_sentence
from ui.formatting.steps import decisive_guards, edge_outcomes, guard_text, negated

PATH = StatePath


def state(path: str, role: str = '', waits: str = '') -> StateShape:
    parent, _, name = path.rpartition('.')
    kind = 'compound' if role else 'atomic'
    return StateShape(path=PATH(path), name=name, parent=PATH(parent), kind=kind, role=role, waits=waits)


def edge(source: str, dest: str, *conditions: str, trigger: str = 'done') -> EdgeShape:
    return EdgeShape(trigger=trigger, source=PATH(source), dest=dest, conditions=conditions)


SHAPE = Shape(
    pattern='p',
    title='P',
    initial=PATH('pending'),
    states=(
        state('pending'), state('researching', 'researcher'), state('reviewing', 'reviewer'),
        state('reviewing.thinking'), state('reviewing.approving', waits='approval'), state('complete'),
    ),
    edges=(
        edge('pending', 'researching', trigger='always'),
        edge('reviewing', 'complete', 'is_approved'),
        edge('reviewing', 'complete', 'is_spent'),
        edge('reviewing', 'researching'),
        edge('researching', 'reviewing'),
    ),
)  # fmt: skip


def step(name: str, *moves: str, at: str = '', data: Any = (), who: str = '', **facts: Any) -> Transition:
    edges = tuple(
        Edge(source=PATH(source), dest=dest) for source, _, dest in (m.partition('>') for m in moves)
    )
    left = tuple(edge.source for edge in edges)
    event = Event(name=name, at=PATH(at), data=dict(data), who=who, attempt=facts.pop('attempt', 1))
    return Transition(run=RunId('r'), seq=5, time=1.0, event=event, edges=edges, left=left, **facts)


def said(text: str = '', *calls: str, **more: Any) -> dict[str, Any]:
    parts = [{'kind': 'text', 'text': text}] if text else []
    parts += [{'kind': 'call', 'id': name, 'name': name, 'arguments': '{}'} for name in calls]
    return {'message': {'role': 'assistant', 'parts': parts}, 'text': text, **more}


def checked(name: str, value: bool, dest: str) -> GuardResult:
    return GuardResult(name=name, value=value, wanted=True, source=PATH('reviewing'), dest=dest)


APPROVED = (checked('is_approved', True, 'complete'),)
REFUSED = (checked('is_approved', False, 'complete'), checked('is_spent', False, 'complete'))
THOUGHT, RESULTS = 'reviewing.thinking', 'reviewing.using_tools'


@pytest.mark.parametrize(
    ('taken', 'sentence'),
    [
        (step('start', '[*]>pending'), 'start → pending'),
        (step('always', 'pending>researching', at='pending'), 'pending → researching (automatic)'),
        (step('done', 'pending>researching', at='pending'), 'pending → researching (finished)'),
        (
            step('done', 'researching>reviewing', at='researching', raised=True),
            'researching → reviewing: the researcher finished',
        ),
        (
            step('done', 'reviewing>complete', at='reviewing', raised=True, guards=APPROVED),
            'reviewing → complete: the reviewer approved',
        ),
        (
            step('done', 'reviewing>researching', at='reviewing', raised=True, guards=REFUSED),
            'reviewing → researching: the reviewer sent it back, not spent',
        ),
        (
            step('done', f'{THOUGHT}>{RESULTS}', at=THOUGHT, data=said('', 'search', 'notes')),
            'reviewing › thinking → using tools: called search, notes',  # noqa: RUF001
        ),
        (
            step(
                'done', f'{THOUGHT}>reviewing.approving', at=THOUGHT, data=said('', 'pay'),
                entered=(PATH('reviewing.approving'),),
            ),
            'reviewing › thinking → approving: asks to call pay',  # noqa: RUF001
        ),
        (
            step('done', f'{THOUGHT}>reviewing.done', at=THOUGHT, data=said('N', output={'approved': False})),
            'reviewing › thinking → done: sent back',  # noqa: RUF001
        ),
        (
            step('done', f'{THOUGHT}>{THOUGHT}', at=THOUGHT, data=said('?', unfit='no JSON')),
            'reviewing › thinking → itself: answer invalid: no JSON',  # noqa: RUF001
        ),
        (
            step(
                'done', f'{RESULTS}>{THOUGHT}', at=RESULTS,
                data={'results': [{'id': '1', 'name': 'calculator', 'text': '42', 'ok': True}]},
            ),
            'reviewing › using tools → thinking: calculator returned 42',  # noqa: RUF001
        ),
        (
            step('failed', f'{THOUGHT}>reviewing.failed', at=THOUGHT, data={'error': 'no connection'}),
            'reviewing › thinking → failed: no connection',  # noqa: RUF001
        ),
        (
            step(
                'expired', 'reviewing.using_tools>complete', at=RESULTS,
                data={'error': 'reviewing.using_tools did not end within 9 seconds'},
            ),
            'reviewing › using tools → complete: did not end within 9 seconds',  # noqa: RUF001
        ),
        (
            step('retry', at=THOUGHT, data={'error': 'overloaded', 'delay': 2.0}, attempt=2),
            'reviewing › thinking: overloaded; attempt 2 in 2.0 s',  # noqa: RUF001
        ),
        (
            step('approve', f'reviewing.approving>{RESULTS}', at='reviewing.approving', who='ada'),
            'reviewing › approving → using tools: ada allowed the tools',  # noqa: RUF001
        ),
        (
            step('review', 'reviewing>complete', data={'text': 'Good'}),
            'reviewing → complete: a person sent “review”: Good',
        ),
        (step('pause'), 'A person paused the run'),
        (step('pause', at='both.left', who='ada'), 'Ada paused both › left'),  # noqa: RUF001
        (
            step('pause', data={'reason': 'breakpoint 1 at step 4: enter a.b', 'breakpoints': ['1']}),
            'Stopped at breakpoint 1 at step 4: entering a › b',  # noqa: RUF001
        ),
        (step('cancel', data={'reason': 'too slow'}), 'A person cancelled the run: too slow'),
        (step('warn', data={'reason': 'half is used'}), 'Half is used'),
        (step('recover'), 'Recovered: the work in flight was restarted'),
        (
            step('go', 'both.a.one>both.a.two', 'both.b.one>both.b.two', 'c>d', 'e>f'),
            'both › a › one → two, both › b › one → two, c → d, 1 more: a person sent “go”',  # noqa: RUF001
        ),
    ],
)  # fmt: skip
def test_each_kind_of_step_is_one_sentence(taken: Transition, sentence: str):
    assert step_sentence(taken, SHAPE) == sentence


def test_guards_of_the_edge_taken_decide_or_else_those_that_blocked_the_others():
    def deciding(taken: Transition) -> list[str]:
        return [
            guard_text(guard.name, guard.value, edge)
            for edge, guard in decisive_guards(edge_outcomes(taken, SHAPE))
        ]

    assert deciding(step('done', 'reviewing>complete', at='reviewing', guards=APPROVED)) == ['Approved: yes']
    refused = step('done', 'reviewing>researching', at='reviewing', guards=REFUSED)
    assert deciding(refused) == ['Approved: no', 'Spent: no']
    assert deciding(step('done', 'researching>reviewing', at='researching')) == []


def test_a_guard_is_named_with_its_result():
    assert guard_text('is_unfit', False) == 'Answer invalid: no'
    assert guard_text('has_show_notes', None) == 'Show notes: not checked'


def test_a_guard_is_called_what_its_pattern_calls_it():
    words = ('no revisions left', 'not seated')
    edge = EdgeShape(
        trigger='done',
        source=PATH('a'),
        dest='b',
        conditions=('is_spent',),
        unless=('is_taken',),
        words=words,
    )
    assert guard_text('is_spent', True, edge) == 'No revisions left: yes'
    assert guard_text('is_taken', False, edge) == 'Seated: no'
    assert negated('no revisions left') == 'revisions left'
    assert negated('approved') == 'not approved'
