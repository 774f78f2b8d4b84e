"""Lanes: what each kind of work, wait and pause becomes, and that runs read anew have the same."""

import io

import pytest

from engine import Event, LocalConductor, Transition
from engine.records import RunId, Shape, StatePath, StateShape
from ui.web.replay.index import Index
from ui.web.replay.lane_news import LaneNews, lane_names
from ui.web.replay.lanes import WORKS, Lanes
from ui.web.replay.live import Follower
from ui.web.replay.marks import KINDS

PATH = StatePath


def state(path: str, kind: str = 'atomic', **facts: object) -> StateShape:
    parent, _, name = path.rpartition('.')
    return StateShape(path=PATH(path), name=name, parent=PATH(parent), kind=kind, **facts)


def agent(path: str, role: str) -> list[StateShape]:
    return [
        state(path, 'compound', role=role),
        state(f'{path}.thinking', invokes=True),
        state(f'{path}.using_tools', invokes=True),
        state(f'{path}.approving', waits='approval'),
    ]


SHAPE = Shape(
    pattern='p',
    title='P',
    initial=PATH('draft'),
    states=(
        *agent('draft', 'writer'),
        state('testing', invokes=True, caption='Running tests'),
        state('checks', 'parallel'),
        *agent('checks.left', 'checker'),
        *agent('checks.right', 'checker'),
        *agent('rewrite', 'writer'),
        state('end', 'final'),
    ),
    edges=(),
)


class Story:
    """A run told step by step, a second each."""

    def __init__(self) -> None:
        self.index, self.active = Index(SHAPE), ()

    def step(self, name: str, at: str = '', *, to: tuple[str, ...] = (), leave: tuple[str, ...] = (), **data):
        self.active = tuple(leaf for leaf in self.active if leaf not in leave) + to
        self.index.add(
            Transition(
                run=RunId('r'),
                seq=self.index.seq + 1,
                time=100.0 + self.index.seq,
                event=Event(name=name, at=PATH(at), data=data),
                left=tuple(map(PATH, leave)),
                entered=tuple(map(PATH, to)),
                active=tuple(map(PATH, self.active)),
            )
        )

    def blocks(self, *, ended: bool = True) -> list[tuple[str, str, int, int, str]]:
        lanes = self.index.lanes
        names = lane_names(SHAPE, lanes)
        return [
            (names[block.lane], list(WORKS)[block.work], block.first, block.last, lanes.words[block.word])
            for block in (lanes.blocks if ended else lanes.ongoing)
        ]


def reply(model: str, *calls: str) -> dict[str, object]:
    return {
        'message': {'parts': [{'kind': 'call', 'name': name, 'id': name} for name in calls]},
        'model': model,
    }


def test_calls_waits_and_the_workflows_own_work_become_blocks():
    story = Story()
    story.step('start', to=('draft.thinking',))
    assert story.blocks(ended=False) == [('Writer', 'model', 1, 0, '')]
    move = {'leave': ('draft.thinking',), 'to': ('draft.approving',)}
    story.step('done', 'draft.thinking', **move, **reply('m-1', 'notes', 'web'))
    story.step('approve', 'draft.approving', leave=('draft.approving',), to=('draft.using_tools',))
    story.step('done', 'draft.using_tools', leave=('draft.using_tools',), to=('testing',))
    story.step('done', 'testing', leave=('testing',), to=('end',))
    assert story.blocks() == [
        ('Writer', 'model', 1, 2, 'm-1'),
        ('Writer', 'person', 2, 3, 'approval'),
        ('Writer', 'tools', 3, 4, 'notes, web'),
        ('Workflow', 'engine', 4, 5, 'Running tests'),
    ]
    assert story.blocks(ended=False) == []


def test_phases_of_one_agent_share_a_lane_and_agents_side_by_side_do_not():
    lanes = Lanes(SHAPE)
    assert lane_names(SHAPE, lanes) == ['Writer', 'Checker · left', 'Checker · right', 'Workflow']
    assert [lanes.lane_of(path) for path in ('rewrite.thinking', 'checks.right', 'testing', '')] == [
        0,
        2,
        3,
        3,
    ]
    story = Story()
    story.step('start', to=('draft', 'draft.thinking'))
    story.step('done', 'draft', leave=('draft', 'draft.thinking'), to=('rewrite', 'rewrite.thinking'))
    assert [story.index.agent_at(0, seq) for seq in (1, 2)] == ['draft', 'rewrite']
    assert story.index.agent_at(3, 2) == ''


def test_pauses_of_the_run_and_of_one_agent_end_with_resume_or_with_the_run():
    story = Story()
    story.step('start', to=('checks.left.thinking', 'checks.right.thinking'))
    story.step('pause', 'checks.left')
    story.step('resume', 'checks.left')
    story.step('pause')
    story.step('step')
    story.step('resume')
    story.step('pause')
    story.step('cancel')
    pauses = [block for block in story.blocks() if block[1] == 'pause']
    assert pauses == [
        ('Checker · left', 'pause', 2, 3, ''),
        ('Workflow', 'pause', 4, 6, ''),
        ('Workflow', 'pause', 7, 8, ''),
    ]
    assert story.blocks(ended=False) == []  # what was cancelled goes on no longer


@pytest.mark.parametrize(
    ('name', 'at', 'data', 'flag'),
    [
        ('failed', 'checks.right.thinking', {'error': 'no'}, [1, 2, 'error', 'no']),
        ('done', 'draft.thinking', {'output': {'approved': True}}, [1, 0, 'approved', 'approved']),
        ('done', 'draft.thinking', {'output': {'approved': False}}, [1, 0, 'rejected', 'sent back']),
        ('approve', 'draft.approving', {}, [1, 0, 'human', 'allowed the tools']),
        (
            'pause',
            '',
            {'reason': 'breakpoint 1', 'breakpoints': ['1']},
            [1, 3, 'pause', 'stopped at breakpoint 1'],
        ),
        ('recover', '', {'forked': 'r0@7'}, [1, 3, 'restart', 'forked from run r0 at step 7']),
    ],
)
def test_flags_stand_in_the_lane_of_the_agent(name, at, data, flag):
    story = Story()
    story.step(name, at, **data)
    assert LaneNews(story.index).take()['flags'] == [flag]
    assert flag[2] in KINDS


def test_a_page_is_sent_only_what_is_new_and_nothing_twice():
    story = Story()
    news = LaneNews(story.index)
    assert news.take() == {}
    story.step('start', to=('draft.thinking',))
    assert news.take()['times'] == [0]
    move = {'leave': ('draft.thinking',), 'to': ('testing',)}
    story.step('done', 'draft.thinking', **move, **reply('m-1'))
    fresh = news.take()
    assert (fresh['times'], fresh['blocks'], fresh['open']) == ([1000], [[0, 0, 1, 2, 1]], [[3, 4, 2, 0, 2]])
    assert news.take() == {}
    assert LaneNews(story.index).take() == news.whole


async def test_a_run_followed_live_has_the_lanes_of_one_read_anew_and_of_one_imported():
    async with LocalConductor() as conductor, LocalConductor() as other:
        run = (await conductor.start('pipeline', {'task': 'Tea or coffee?'})).id
        follower = Follower(conductor, await conductor.info(run), await conductor.shape(run))
        await follower.follow()
        bundle = b''.join([piece async for piece in conductor.export_bundle([run])])
        imported = await other.import_bundle(io.BytesIO(bundle))
        followed, *read = [
            LaneNews(index).take()
            for index in (
                follower.index,
                await read_index(conductor, run),
                await read_index(other, imported[0].id),
            )
        ]
    assert followed['blocks'] and followed['flags'] and not followed['open']
    assert read == [followed, followed]


async def read_index(conductor: LocalConductor, run: RunId) -> Index:
    index = Index(await conductor.shape(run))
    for step in await conductor.transitions(run):
        index.add(step)
    return index
