"""Drawing a chart legibly: labels, direction, collapsed states, failure badges."""

import re
import shutil

import pytest

from engine import Catalog
from engine.records import Shape
from ui.formatting.diagram.folding import composites_around, count_drawn, fold_levels
from ui.formatting.diagram.rendering import svg
from ui.web.components.diagram.fitting import COLUMN, MIN_SCALE, VIEW_BOX, fit

pytestmark = pytest.mark.skipif(not shutil.which('dot'), reason='Graphviz is not installed')
CATALOG = Catalog.load()
PAGE = (1380, 640)
LARGE = CATALOG.draw('parallel-review', {'task': 'Write it.', 'coders': 6, 'reviewers': 5})


def scale(drawn: str, room: tuple[int, int]) -> float:
    width, height = map(float, VIEW_BOX.findall(drawn)[0])
    return min(room[0] / width, room[1] / height)


def first_leaf(shape: Shape) -> str:
    return next(str(state.path) for state in shape.states if state.path.endswith('.thinking'))


@pytest.mark.parametrize('room', [COLUMN, PAGE], ids=['column', 'page'])
@pytest.mark.parametrize('pattern', list(CATALOG.patterns))
async def test_each_pattern_is_readable_as_a_whole(pattern, room):
    shape = CATALOG.draw(pattern)
    drawn, _ = await fit(shape, room, fold_levels(shape, [first_leaf(shape)]))
    assert scale(drawn, room) >= MIN_SCALE


async def test_with_enough_room_edges_have_labels_and_charts_may_be_horizontal():
    shape = CATALOG.draw('vote')
    narrow, _ = await fit(shape, (300, 640))
    broad, _ = await fit(shape, PAGE)
    width, height = map(float, VIEW_BOX.findall(broad)[0])
    assert width > 2 * height
    assert broad.count('<text') > narrow.count('<text')


async def test_manually_collapsed_states_stay_collapsed():
    _, folded = await fit(LARGE, COLUMN, [frozenset({'implementing'})])
    assert folded == {'implementing'}


@pytest.mark.parametrize('phase', ['implementing', 'reviewing', 'revising'])
def test_inactive_states_fold_first(phase):
    leaf = next(
        str(state.path) for state in LARGE.states if state.path.startswith(f'{phase}.') and state.role
    )
    levels = list(fold_levels(LARGE, [f'{leaf}.thinking']))
    assert [count_drawn(LARGE, folded) for folded in levels] == sorted(
        (count_drawn(LARGE, folded) for folded in levels), reverse=True
    )
    assert all(phase not in folded for folded in levels)
    others = {'implementing', 'reviewing', 'revising'} - {phase}
    assert any(others <= folded for folded in levels)


def test_an_active_agent_stays_folded_in_unfolded_states():
    shape = CATALOG.draw('time-bounded')
    leaf = first_leaf(shape)
    folded = next(fold_levels(shape, [leaf]))
    agent, _, _ = leaf.rpartition('.')
    assert agent in folded
    assert not folded & composites_around(shape, [leaf])


async def test_with_room_a_folded_agent_is_a_card():
    drawn, _ = await fit(CATALOG.draw('pipeline'), COLUMN, cards=True)
    small, _ = await fit(CATALOG.draw('pipeline'), COLUMN)
    assert node_height(drawn, 'analyzing') > 50 > node_height(small, 'analyzing')
    assert node_height(drawn, 'pending') < 50


def node_height(drawn: str, path: str) -> float:
    """Return the height of a state in units."""
    outline = re.search(rf'id="s:{re.escape(path)}".*? d="([^"]+)"', drawn, re.DOTALL)
    assert outline, path
    heights = list(map(float, re.findall(r'-?[\d.]+', outline[1])))[1::2]
    return max(heights) - min(heights)


async def test_failures_are_badges_or_lead_along_the_gutter():
    drawn = (await svg(CATALOG.draw('race'), folded=True)).replace('&gt;', '>')
    badges = re.findall(r'<g id="e:([^"]+)" class="edge failing(?: badge)?">', drawn)
    assert not re.findall(r'class="edge edge failing"', drawn)
    assert len(set(badges)) == len(badges)
    wide = (await svg(CATALOG.draw('race'), folded=True, wide=True)).replace('&gt;', '>')
    assert set(badges) == set(
        re.findall(r'id="e:([^"]+)" class="edge edge failing"', wide.replace('&#45;', '-'))
    )


@pytest.mark.parametrize('room', [COLUMN, PAGE], ids=['column', 'page'])
@pytest.mark.parametrize('pattern', list(CATALOG.patterns))
async def test_where_a_run_fails_a_line_leads_there(pattern, room):
    shape = CATALOG.draw(pattern)
    failed = [state.path for state in shape.states if not state.parent and state.outcome == 'failed']
    drawn, _ = await fit(shape, room)
    for path in failed:
        assert re.search(
            rf'id="e:[^"]+&gt;{path}" class="edge(?! failing badge)', drawn.replace('&#45;', '-')
        )


async def test_racers_are_drawn_in_order_and_aligned():
    drawn, _ = await fit(CATALOG.draw('race'), COLUMN, [frozenset()])
    places = {
        path: tuple(map(float, place))
        for path, *place in re.findall(
            r'id="s:([^"]+)".*?<text[^>]* x="([-\d.]+)" y="([-\d.]+)"', drawn, re.DOTALL
        )
    }
    first, second, third = (places[f'racing.racer{number}'] for number in (1, 2, 3))
    assert first[0] < second[0] and first[1] == second[1] < third[1]
    for racer in ('racer1', 'racer2', 'racer3'):
        assert places[f'racing.{racer}.failed'][1] == places[f'racing.{racer}.done'][1]
