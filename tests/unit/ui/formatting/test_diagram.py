"""Charts drawn by Graphviz, and what is highlighted at a step."""

import re
import shutil
from itertools import pairwise
from xml.etree import ElementTree

import graphviz
import pytest
from pydantic import BaseModel

from engine import Catalog, EngineError, Event, Pattern, Transition, agent
from engine.journal import Fold
from engine.records import Edge, EdgeShape, RunId, Shape, StatePath, StateShape
from engine.statechart.shape_builder import build_shape
from ui.formatting.diagram.rendering import Layout, dot, export_chart, highlight, render_svg, svg

SHAPE = Catalog.load().draw('pipeline')


def after(*steps: Transition) -> dict:
    """Return the highlights after these steps."""
    fold = Fold(RunId('r'), SHAPE)
    return highlight(SHAPE, fold.apply_all(steps).view, steps[-1])


def step(name: str, *, seq: int = 1, active: tuple[str, ...] = (), **facts: object) -> Transition:
    leaves = tuple(map(StatePath, active))
    return Transition(run=RunId('r'), seq=seq, time=0.0, event=Event(name=name), active=leaves, **facts)


THINKING = (StatePath('analyzing'), StatePath('analyzing.thinking'))


def test_every_state_and_edge_has_its_id():
    text = dot(SHAPE, folded=False)
    for state in SHAPE.states:
        assert f's:{state.path}' in text
    assert 'e:reviewing>analyzing' in text


def test_a_folded_agent_is_one_node():
    text = dot(SHAPE, folded=True)
    assert 's:researching' in text
    assert 'thinking' not in text


def test_a_nested_agent_is_a_box_without_extra_nodes():
    def state(path: str, role: str = '', kind: str = 'atomic') -> StateShape:
        parent, _, name = path.rpartition('.')
        first = (StatePath(f'{path}.thinking'),) if role else ()
        return StateShape(
            path=StatePath(path), name=name, parent=StatePath(parent), kind=kind, role=role, initial=first
        )

    states = (
        state('planner', 'planner', 'compound'), state('planner.thinking'),
        state('planner.critic', 'critic', 'compound'), state('planner.critic.thinking'),
    )  # fmt: skip
    shape = Shape(pattern='p', title='P', initial=StatePath('planner'), states=states, edges=())
    text = dot(shape, folded=False)
    assert 'subgraph "cluster_planner.critic"' in text
    assert not re.search(r'^\s*"planner\.critic"$', text, re.MULTILINE)


def test_one_agent_is_folded_and_the_others_are_not():
    text = dot(SHAPE, folded=frozenset({'researching'}))
    assert 's:researching.thinking' not in text
    assert 's:analyzing.thinking' in text


class Side(Pattern):
    """Agents side by side."""

    class Parameters(BaseModel):
        many: int = 2

    initial = 'both'

    def states(self):
        workers = [agent(f'w{number}', prompt='ask') for number in range(self.parameters.many)]
        return [{'name': 'both', 'parallel': workers}, {'name': 'over', 'final': True}]

    transitions = (['done', 'both', 'over'],)

    def ask(self, memory):
        return 'go'


@pytest.mark.skipif(not shutil.which('dot'), reason='Graphviz is not installed')
@pytest.mark.parametrize(
    ('many', 'folded', 'rows'),
    [
        (2, False, [[0, 1]]),
        (3, False, [[0, 1], [2]]),
        (6, False, [[0, 1], [2, 3], [4, 5]]),
        (4, True, [[0, 1], [2, 3]]),
        (6, True, [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_regions_are_laid_out_from_left_to_right(many, folded, rows):
    shape = build_shape(Side(Side.Parameters(many=many)))
    plain = graphviz.Source(dot(shape, folded=folded)).pipe(format='plain', encoding='utf-8')
    by_height: dict[float, list[tuple[float, int]]] = {}
    for name, x, y in re.findall(r'^node "?both\.w(\d)(?:\.thinking)?"? (\S+) (\S+)', plain, re.M):
        by_height.setdefault(-float(y), []).append((float(x), int(name)))
    assert [[number for _, number in sorted(row)] for _, row in sorted(by_height.items())] == rows


FOUR_AND_JUDGE = [f'voting.voter{number}' for number in (1, 2, 3, 4)] + ['judging']


@pytest.mark.skipif(not shutil.which('dot'), reason='Graphviz is not installed')
@pytest.mark.parametrize('sideways', [False, True], ids=['down', 'sideways'])
@pytest.mark.parametrize(
    ('pattern', 'parameters', 'folded'),
    [
        ('vote', {'voters': 4}, []),
        ('vote', {'voters': 4}, FOUR_AND_JUDGE),
        ('vote', {'voters': 3}, ['voting.voter2', 'voting.voter3']),  # a box next to nodes
        ('vote', {'voters': 3}, ['voting.voter1', 'voting.voter3']),
        ('race', {'racers': 6}, ['racing.racer2', 'racing.racer3', 'racing.racer4']),
        ('parallel-review', {}, []),
        ('parallel-review', {}, ['implementing.coder1', 'revising.coder2', 'reviewing.reviewer2']),
    ],
)
def test_regions_keep_their_declared_order(pattern, parameters, folded, sideways):
    shape = Catalog.load().draw(pattern, parameters)
    drawn = render_svg(shape, frozenset(folded), Layout(sideways=sideways, labels=not folded))
    along, across = (0, 1) if sideways else (1, 0)
    for parent in [state.path for state in shape.states if state.kind == 'parallel']:
        regions = [corner(drawn, state.path) for state in shape.states if state.parent == parent]
        for number, (region, after) in enumerate(pairwise(regions)):
            axis = along if number % 2 else across  # pairs are side by side
            assert region[axis] < after[axis], (parent, number)


def corner(drawn: str, path: str) -> tuple[float, float]:
    """Return the left and top coordinates of a state."""
    outline = re.search(rf'id="s:{re.escape(path)}".*? d="([^"]+)"', drawn, re.DOTALL)
    assert outline, path
    numbers = list(map(float, re.findall(r'-?[\d.]+', outline[1])))
    return min(numbers[::2]), min(numbers[1::2])


@pytest.mark.skipif(not shutil.which('dot'), reason='Graphviz is not installed')
async def test_graphviz_keeps_the_ids():
    drawn = await svg(SHAPE, folded=False)
    ids = set(re.findall(r'id="([^"]+)"', drawn.replace('&gt;', '>').replace('&#45;', '-')))
    assert {f's:{state.path}' for state in SHAPE.states} <= ids
    assert 'e:reviewing>analyzing' in ids
    assert drawn.startswith('<svg')


async def test_an_imported_chart_is_drawn_whatever_its_states_are_called():
    names = ['q\\', 'a:b', '<b>', 'x&amp;y', '\\N', '=', '"', '\x01', 'cluster_a', 'node']
    states = [StateShape(path=StatePath(n), name=n, parent=StatePath(''), kind='atomic') for n in names]
    edges = [
        EdgeShape(trigger='<go>', source=StatePath(a), dest=b, conditions=('\\N&amp;',))
        for a, b in pairwise(names)
    ]
    shape = Shape(pattern='p', title='P', initial=StatePath('q\\'), states=tuple(states), edges=tuple(edges))
    drawn = ElementTree.fromstring(await svg(shape, folded=False))
    ids = {group.get('id') for group in drawn.iter() if 'state' in (group.get('class') or '').split()}
    assert ids == {f's:{name}' if name.isprintable() else 's:\ufffd' for name in names}
    texts = {''.join(text.itertext()).strip() for text in drawn.iter() if text.tag.endswith('text')}
    assert {*names[:7], 'cluster a', '<go> [\\N&amp;]'} <= texts


def test_active_states_and_the_taken_edge_are_highlighted():
    edge = Edge(source=StatePath('researching'), dest='analyzing')
    layer = after(step('done', active=('analyzing.thinking',), entered=THINKING, edges=(edge,)))
    assert layer['active'] == ['analyzing.thinking']
    assert layer['inside'] == ['analyzing']
    assert layer['taken'] == ['researching>analyzing']


@pytest.mark.parametrize(('name', 'key'), [('abort', 'broken'), ('cancel', 'halted')])
def test_a_run_that_was_stopped_shows_where(name, key):
    before = step('done', active=('analyzing.thinking',), entered=THINKING)
    layer = after(before, step(name, seq=2, left=THINKING[::-1]))
    assert layer[key] == ['analyzing.thinking']


async def test_a_chart_is_available_in_every_format(monkeypatch):
    assert (await export_chart(SHAPE, 'mermaid', folded=True)).startswith('stateDiagram-v2\n')
    assert (await export_chart(SHAPE, 'dot', folded=True)).startswith('digraph {')
    if shutil.which('dot'):
        assert (await export_chart(SHAPE, 'svg', folded=True)).endswith('</svg>\n')
    monkeypatch.setenv('PATH', '')
    with pytest.raises(EngineError, match='Graphviz is not installed'):
        await export_chart(SHAPE, 'svg', folded=True)


def test_only_regions_that_wait_for_a_person_are_shown_waiting():
    shape = Catalog.load().draw('parallel-review', {'task': 'Write it.', 'coders': 2})
    leaves = ('implementing.coder1.person', 'implementing.coder2.working.thinking')
    view = Fold(RunId('r'), shape).apply_all([step('start', active=leaves)]).view
    assert highlight(shape, view, None)['waiting'] == ['implementing.coder1.person']
