"""The index of a run: marks by kind, jumps that wrap around, changes of one place in memory, one read."""

import pytest

from engine import Event, LocalConductor, Transition
from engine.records import Change, Edge, MarkField, RunId, Shape, StatePath
from ui.web.replay.index import MAX_CACHED, Index, next_step, previous_step, shared_index
from ui.web.replay.marks import JUMPS, KINDS, UNDRAWN, marks_of

PATH = StatePath
SHAPE = Shape(pattern='p', title='P', initial=PATH('a'), states=(), edges=())
MARKS = (MarkField(kind='verdict', field='consensuses'),)


def step(name: str, seq: int, *, at: str = '', data: dict | None = None, **facts: object) -> Transition:
    event = Event(name=name, at=PATH(at), data=data or {})
    return Transition(run=RunId('r'), seq=seq, time=float(seq), event=event, **facts)


def put(path: str) -> Change:
    return Change(op='add' if path.endswith('-') else 'replace', path=path, value=1)


@pytest.mark.parametrize(
    ('name', 'data', 'kind', 'text'),
    [
        ('pause', {'reason': 'to look'}, 'pause', 'paused the run: to look'),
        ('pause', {'reason': 'breakpoint 1', 'breakpoints': ['1']}, 'pause', 'stopped at breakpoint 1'),
        ('resume', {}, 'pause', 'resumed the run'),
        ('step', {'how': 'in'}, 'pause', 'let the run take one step'),
        ('step', {'how': 'over'}, 'pause', 'stepped over'),
        ('breakpoints', {'breakpoints': []}, 'pause', 'set the breakpoints'),
        ('breakpoints', {'problems': {'2': 'no text'}}, 'pause', 'breakpoint 2: no text'),
        ('approve', {}, 'human', 'allowed the tools'),
        ('take_seat', {'reason': 'I know better'}, 'human', 'sent “take seat”: I know better'),
        ('warn', {'reason': '80 % of the tokens'}, 'budget', '80 % of the tokens'),
        ('abort', {'error': 'no way out'}, 'error', 'no way out'),
    ],
)
def test_notable_events_are_marked(name, data, kind, text):
    assert [(mark.kind, mark.text) for mark in marks_of(step(name, 4, data=data), MARKS, {})] == [
        (kind, text)
    ]


def test_actions_on_one_region_name_it():
    for name, text in (('pause', 'paused'), ('resume', 'resumed'), ('step', 'stepped in')):
        (mark,) = marks_of(step(name, 4, at='both.left', data={}), MARKS, {})
        assert mark.text == f'{text} both › left'  # noqa: RUF001  (the sign between the steps of a path)


def test_verdicts_are_those_of_reviewers_and_of_whole_debates():
    def list_marks(**facts):
        return [(mark.kind, mark.text) for mark in marks_of(step('done', 4, **facts), MARKS, {})]

    assert list_marks(data={'output': {'approved': False}}) == [('rejected', 'sent back')]
    assert list_marks(data={'output': {'approved': True}}) == [('approved', 'approved')]
    for verdict, kind in (('request changes', 'rejected'), ('approve', 'approved'), ('comment', 'verdict')):
        assert list_marks(data={'output': {'verdict': verdict}}) == [(kind, verdict)]
    statement = {'verdict': 'APPROVE', 'agrees': True}  # in a debate
    assert list_marks(data={'output': statement}) == []
    end = Change(op='add', path='/memory/consensuses/-', value={'verdict': 'REVISE_BEST', 'best': 'coder1'})
    assert list_marks(changes=(end,), raised=True) == [('rejected', 'revise best: coder1')]


def test_consequences_of_an_error_are_not_marked_again():
    assert marks_of(step('failed', 4, at='a', data={'error': 'no'}, raised=True), MARKS, {}) == []


def test_a_step_has_every_mark_that_applies():
    calls = {'message': {'parts': [{'kind': 'call', 'name': 'notes'}, {'kind': 'call', 'name': 'web'}]}}
    entered = (PATH('a.using_tools'),)
    (tool,) = marks_of(step('done', 4, at='a.thinking', data=calls, entered=entered), MARKS, {})
    assert (tool.kind, tool.text) == ('tool', 'notes, web')
    (allowed, tool) = marks_of(step('approve', 5, at='a.approving', entered=entered), MARKS, {})
    assert (allowed.kind, tool.kind, tool.text) == ('human', 'tool', 'tools of a')


def test_mark_kinds_differ_in_shape_and_verdicts_share_a_key():
    assert len({sort.glyph for sort in KINDS.values()}) == len(KINDS)
    assert not {'l', 'm'} & JUMPS.keys()
    shared = {key: kinds for key, kinds in JUMPS.items() if len(kinds) > 1}
    assert shared == {'v': ('rejected', 'approved', 'verdict')}
    assert set(UNDRAWN) < set(KINDS)


def test_jumps_wrap_around():
    steps = [3, 7, 9]
    assert [next_step(steps, at) for at in (0, 3, 8, 9)] == [3, 7, 9, 3]
    assert [previous_step(steps, at) for at in (10, 9, 4, 3)] == [9, 7, 3, 9]
    assert next_step([], 4) is previous_step([], 4) is None


def test_changes_of_a_field_include_its_parents_and_children():
    index = Index()
    index.add(step('start', 1, data={'memory': {}}))
    index.add(step('done', 2, changes=(put('/memory/plan/0/state'), put('/memory/notes/-'))))
    index.add(step('done', 3, changes=(put('/memory/plan'), put('/memory/planet'))))
    index.add(step('done', 4, changes=(put('/memory/notes/-'), put('/memory/notes/-'))))
    assert index.changes_of('/memory/plan') == [1, 2, 3]
    assert index.changes_of('/memory/plan/0/state') == [1, 2, 3]
    assert index.changes_of('/memory/plan/1') == [1, 3]
    assert index.changes_of('/memory/notes') == [1, 2, 4]
    assert index.changes_of('/agents') == []


def test_steps_are_indexed_once_and_in_order():
    index = Index()
    edge = (Edge(source=PATH('a'), dest='b'),)
    for seq in (1, 1, 3, 2):
        index.add(step('done', seq, edges=edge))
    assert (index.seq, index.edge_steps) == (2, {'a>b': [1, 2]})


async def test_pages_share_an_index_and_old_ones_are_evicted():
    async with LocalConductor() as conductor, LocalConductor() as other:
        first = shared_index(conductor, RunId('r0'), SHAPE)
        assert shared_index(conductor, RunId('r0'), SHAPE) is first
        assert shared_index(other, RunId('r0'), SHAPE) is not first
        for number in range(1, MAX_CACHED + 1):
            shared_index(conductor, RunId(f'r{number}'), SHAPE)
        assert shared_index(conductor, RunId('r0'), SHAPE) is not first
