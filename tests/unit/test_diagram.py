"""Charts as Graphviz draws them, and what is lit at a step."""

import re
import shutil

import pytest

from engine import Conductor, Edge, Event, Fold, RunId, StatePath, Transition
from ui.diagram import dot, lit, svg

SHAPE = Conductor().draw('pipeline')


def after(*steps: Transition) -> dict:
    """What is lit after these steps."""
    fold = Fold(RunId('r'), SHAPE)
    return lit(fold.take_all(steps).view, steps[-1])


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


@pytest.mark.skipif(not shutil.which('dot'), reason='Graphviz is not installed')
async def test_graphviz_keeps_the_ids():
    drawn = await svg(SHAPE, folded=False)
    ids = set(re.findall(r'id="([^"]+)"', drawn.replace('&gt;', '>').replace('&#45;', '-')))
    assert {f's:{state.path}' for state in SHAPE.states} <= ids
    assert 'e:reviewing>analyzing' in ids
    assert drawn.startswith('<svg')


def test_active_states_and_the_taken_edge_are_lit():
    edge = Edge(source=StatePath('researching'), dest='analyzing')
    found = after(step('done', active=('analyzing.thinking',), entered=THINKING, edges=(edge,)))
    assert found['active'] == ['analyzing.thinking']
    assert found['inside'] == ['analyzing']
    assert found['taken'] == ['researching>analyzing']


@pytest.mark.parametrize(('name', 'key'), [('abort', 'broken'), ('cancel', 'halted')])
def test_a_run_that_was_stopped_shows_where(name, key):
    before = step('done', active=('analyzing.thinking',), entered=THINKING)
    found = after(before, step(name, seq=2, left=THINKING[::-1]))
    assert found[key] == ['analyzing.thinking']
