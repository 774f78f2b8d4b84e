"""The heatmap: counts for what is drawn, even with collapsed states and charts that differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.history import merge_shapes
from engine.records import EdgeShape, EdgeTraffic, Shape, StatePath, StateTraffic, Traffic
from tests.support.charts.shapes import state
from ui.formatting.diagram.traffic import Heat, fork_note
from ui.formatting.values import percent
from ui.web.pages.traffic.heatmap_badges import (
    MODES,
    describe_edge,
    describe_state,
    heat_layer,
    scale_ends,
)


def edge(source: str, dest: str, trigger: str = 'done') -> EdgeShape:
    return EdgeShape(trigger=trigger, source=StatePath(source), dest=dest)


SHAPE = Shape(
    pattern='loop',
    title='Loop',
    initial=StatePath('a'),
    states=(state('a', 'compound'), state('a.x'), state('a.y'), state('b'), state('bad', 'final'),
            state('never')),
    edges=(edge('[*]', 'a'), edge('a.x', 'b'), edge('a.y', 'b'), edge('a.x', 'a.y'), edge('b', 'a'),
           edge('b', 'bad', 'failed'), edge('a', '', 'note')),
)  # fmt: skip
WIDER = replace(SHAPE, states=(*SHAPE.states, state('b2')), edges=(*SHAPE.edges, edge('b2', 'a')))


def visit(path: str, runs: int, **more: float) -> StateTraffic:
    plain = {
        'visits': runs, 'repeated': 0, 'most': 1, 'seconds': 1.0, 'median': 1.0, 'p90': 1.0,
        'failed': 0, 'expired': 0, 'fell': 0, 'troubled': 0,
    }  # fmt: skip
    return StateTraffic(path=StatePath(path), runs=runs, **plain | more)  # type: ignore[arg-type]


def took(source: str, dest: str, times: int, runs: int) -> EdgeTraffic:
    return EdgeTraffic(source=StatePath(source), dest=dest, times=times, runs=runs)


TRAFFIC = Traffic(
    runs=10,
    statuses={'done': 8, 'failed': 2},
    shapes=((SHAPE, 7), (WIDER, 3)),
    edges=(took('a', '', 99, 9), took('a.x', 'b', 6, 6), took('a.y', 'b', 14, 5), took('b', 'a', 8, 8),
           took('b', 'bad', 2, 2), took('b2', 'a', 2, 2)),
    states=(visit('a', 10, visits=20, most=4, repeated=6, median=8.0), visit('a.x', 6), visit('a.y', 5),
            visit('b', 10, median=2.0, failed=3, fell=2, troubled=2), visit('b2', 2), visit('bad', 2)),
)  # fmt: skip


def heat(*folded: str) -> Heat:
    return Heat.of(TRAFFIC, merge_shapes([SHAPE, WIDER]), frozenset(folded))


def test_a_state_is_counted_only_in_runs_whose_chart_has_it() -> None:
    states = {one.path: (one.runs, one.having) for one in heat().states}
    assert states['b2'] == (2, 3)
    assert states['b'] == (10, 10)


def test_edges_into_folded_states_are_summed_and_keep_their_members() -> None:
    folded = {edge.name: edge for edge in heat('a').edges}
    assert (folded['a>b'].times, folded['a>b'].real, folded['a>b'].share) == (20, 'a.x>b|a.y>b', 1.0)
    assert folded['a>b'].runs == 6  # at least this many: some may have taken both
    assert 'a.x>a.y' not in folded and 'a>' not in folded
    unfolded = {edge.name: edge for edge in heat().edges}
    assert (unfolded['a.x>b'].times, unfolded['a.x>a.y'].times) == (6, 0)


def test_the_share_is_relative_to_all_exits_taken() -> None:
    shares = {edge.name: edge.share for edge in heat('a').edges}
    assert (shares['b>a'], shares['b>bad']) == (0.8, 0.2)


@pytest.mark.parametrize('mode', MODES)
def test_unreached_states_have_their_own_badge_in_each_mode(mode: str) -> None:
    layer = heat_layer(heat(), mode)['states']['never']  # type: ignore[arg-type]
    assert layer == {'classes': 'heat heat-unreached', 'badge': '0', 'title': 'never: never reached'}


def test_each_mode_has_its_badges_and_scale() -> None:
    often, long, fails = (heat_layer(heat('a'), mode) for mode in MODES)
    assert (often['states']['a']['badge'], often['states']['a']['weight']) == ('20×', 1.0)
    assert (often['edges']['a>b']['badge'], often['edges']['b>a']['weight']) == ('20×', 0.4)
    assert (long['states']['a']['badge'], long['states']['b']['weight']) == ('8.0 s', 0.25)
    assert 'badge' not in long['edges']['a>b']
    assert fails['states']['b']['badge'] == '⚠ 2'
    assert fails['edges']['b>bad']['badge'] == '⚠ 2×'
    assert 'badge' not in fails['states']['a'] and 'badge' not in fails['edges']['a>b']
    assert [scale_ends(heat('a'), mode) for mode in MODES] == [(2.0, 20), (8.0, 0), (0.2, 2)]


def test_the_description_is_complete() -> None:
    texts = {one.path: describe_state(one) for one in heat('a').states}
    assert texts['a'].startswith('a: 10 of 10 runs were here, 20×, 6 runs came back (at most 4 visits).')
    assert texts['b'].endswith('Failed 3×, 2 runs ended in failure here.')
    descriptions = {edge.name: describe_edge(edge) for edge in heat('a').edges}
    assert descriptions['b>a'] == 'b → a: taken 8×, by 8 runs; 80% of all exits'
    assert descriptions['[*]>a'] == 'start → a: never taken'


def test_a_percentage_is_rounded_to_0_or_100_only_if_exact() -> None:
    assert [percent(share) for share in (0, 0.001, 0.5, 0.996, 1)] == ['0%', '<1%', '50%', '>99%', '100%']


def test_the_merged_chart_holds_all_states_and_edges_once() -> None:
    both = merge_shapes([SHAPE, WIDER, SHAPE])
    assert [one.path for one in both.states] == [one.path for one in WIDER.states]
    assert both.edges == WIDER.edges
    grown = replace(SHAPE, states=(state('a'), *SHAPE.states[3:]))
    assert next(one.kind for one in merge_shapes([grown, SHAPE]).states if one.path == 'a') == 'compound'
    with pytest.raises(ValueError, match='no chart'):
        merge_shapes([])


def test_inherited_steps_of_forks_are_shown_separately():
    note = fork_note(Traffic(runs=4, forks=2, inherited=41))
    assert note == '2 of them are forks; inherited steps (41) count for the parents only'
    assert fork_note(Traffic(runs=1, forks=1, inherited=1)).startswith('1 of them is a fork; ')
