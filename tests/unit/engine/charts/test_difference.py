"""What changed between two versions of a chart, and how it is said and drawn."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest

from engine import Catalog
from engine.charts.difference import compare_shapes
from engine.records import EdgeShape, Shape, StatePath, StateShape
from ui.formatting.diagram.difference import difference_layer, union_shape
from ui.formatting.diagram.difference_words import change_count, difference_lines

CATALOG = Catalog.load()


def state(path: str, **fields) -> StateShape:
    around, _, name = path.rpartition('.')
    fields = {'kind': 'atomic', **fields}
    return StateShape(path=StatePath(path), name=name, parent=StatePath(around), **fields)


def edge(source: str, dest: str, trigger: str = 'done', **fields) -> EdgeShape:
    return EdgeShape(trigger=trigger, source=StatePath(source), dest=dest, **fields)


def chart(*states: StateShape, edges: tuple[EdgeShape, ...], **fields) -> Shape:
    first = states[0].path
    start = edge('[*]', first, 'start')
    return Shape(pattern='critique', title='Critique', initial=first, states=states,
                 edges=(start, *edges), **fields)  # fmt: skip


OLD = chart(
    state('writing', role='writer'), state('judging', role='critic'), state('done', kind='final'),
    edges=(
        edge('writing', 'judging'),
        edge('judging', 'done', conditions=('is_approved',)),
        edge('judging', 'writing'),
    ),
)  # fmt: skip


def changed(**states) -> Shape:
    """Return the chart with other fields of states."""
    return replace(
        OLD,
        states=tuple(replace(item, **states.get(item.path, {})) for item in OLD.states),
    )


def texts(old: Shape, new: Shape) -> list[str]:
    return [line.text for line in difference_lines(compare_shapes(old, new))]


@pytest.mark.parametrize('pattern', list(CATALOG.patterns))
def test_a_chart_does_not_differ_from_itself(pattern):
    assert not compare_shapes(CATALOG.draw(pattern), CATALOG.draw(pattern))


def test_a_limit_a_role_and_a_waiting_state_are_said():
    new = changed(judging={'within': 60.0, 'role': 'editor'}, writing={'role': '', 'waits': 'verdict'})
    assert texts(OLD, new) == [
        'writing is no longer an agent, now waits for verdict',
        'judging is now played by editor, now ends after 60 s',
    ]
    assert texts(new, OLD)[1].endswith('no longer has a time limit')


def test_a_state_is_renamed_if_that_is_evident():
    new = chart(
        state('drafting', role='writer'), state('judging', role='critic'), state('done', kind='final'),
        edges=(edge('drafting', 'judging'), *OLD.edges[2:3], edge('judging', 'drafting')),
    )  # fmt: skip
    difference = compare_shapes(OLD, new)
    assert difference.renamed == (('writing', 'drafting'),)
    assert [line.text for line in difference_lines(difference)] == ['drafting was called writing']


def test_a_state_that_could_be_either_of_two_is_removed_and_they_are_added():
    twins = [state(name, role='critic') for name in ('first', 'second')]
    ends = [(edge('writing', twin.path), replace(OLD.edges[2], source=twin.path)) for twin in twins]
    new = chart(OLD.states[0], *twins, OLD.states[2], edges=(*ends[0], *ends[1]))
    assert not compare_shapes(OLD, new).renamed
    assert [item.kind for item in compare_shapes(OLD, new).states] == ['added', 'added', 'removed']
    one = replace(new, states=new.states[:2] + new.states[3:], edges=new.edges[:3])
    assert compare_shapes(OLD, one).renamed == (('judging', 'first'),)


def test_edges_are_said_with_their_guards():
    edges = (
        edge('writing', 'judging', 'answered'),
        edge('judging', 'done', conditions=('is_approved',), unless=('is_late',)),
        edge('judging', 'done', 'expired'),
    )
    assert texts(OLD, replace(OLD, edges=(OLD.edges[0], *edges))) == [
        'writing → judging is now taken on answered instead of done',
        'judging → done is now taken if is_approved unless is_late instead of if is_approved',
        'judging → done was added, on expired',
        'judging → writing was removed, on done',
    ]


def test_an_edge_that_leads_elsewhere_is_drawn_as_one_less_and_one_more():
    difference = compare_shapes(OLD, replace(OLD, edges=(*OLD.edges[:3], edge('judging', 'judging'))))
    assert [line.text for line in difference_lines(difference)] == ['judging → writing now leads to judging']
    marks = {name: mark['badge'] for name, mark in difference_layer(difference, frozenset())['edges'].items()}
    assert marks == {'judging>writing': '−', 'judging>judging': '+'}  # noqa: RUF001
    assert 'judging>writing' in {f'{item.source}>{item.dest}' for item in union_shape(difference).edges}


def test_another_order_of_edges_is_a_difference():
    new = replace(OLD, edges=(*OLD.edges[:2], OLD.edges[3], OLD.edges[2]))
    assert texts(OLD, new) == ['judging tries its edges on done in another order']
    assert texts(OLD, OLD) == []


def test_what_is_inside_an_added_state_is_not_listed_but_drawn():
    inside = (state('checking', kind='compound', initial=('checking.one',)), state('checking.one'),
              state('checking.done', kind='final'))  # fmt: skip
    new = replace(
        OLD,
        states=(*OLD.states, *inside),
        edges=(*OLD.edges, edge('checking.one', 'checking.done'), edge('writing', 'checking', 'failed')),
    )
    difference = compare_shapes(OLD, new)
    assert [line.text for line in difference_lines(difference)] == [
        'checking was added with 2 states inside',
        'writing → checking was added, on failed',
    ]
    assert change_count(difference) == '1 state and 1 edge added'
    assert set(difference_layer(difference, frozenset())['states']) == {item.path for item in inside}
    assert set(difference_layer(difference, frozenset({'checking'}))['states']) == {'checking'}
    reverse = compare_shapes(new, OLD)
    assert change_count(reverse) == '1 state and 1 edge removed'
    assert {item.path for item in union_shape(reverse).states} == {item.path for item in new.states}


def test_a_difference_inside_a_collapsed_state_marks_it_as_changed():
    old, new = (CATALOG.draw('vote', {'task': 'A vote', 'voters': number}) for number in (3, 4))
    difference = compare_shapes(old, new)
    outer = difference.states[0].path.partition('.')[0]
    assert difference.states and {item.kind for item in difference.states} <= {'added', 'changed'}
    layer = difference_layer(difference, frozenset({outer}))
    assert layer['states'][outer]['badge'] == '~'


def test_two_charts_of_two_hundred_agents_are_compared_quickly() -> None:
    def renamed(prefix: str) -> Shape:
        states = [state(f'{prefix}{number}', role='writer') for number in range(200)]
        edges = [edge(before.path, now.path) for before, now in pairwise(states)]
        return chart(*states, edges=tuple(edges))

    begun = time.process_time()
    difference = compare_shapes(renamed('writing'), renamed('drafting'))
    assert time.process_time() - begun < 2.0
    assert difference.renamed == (('writing0', 'drafting0'), ('writing199', 'drafting199'))
    assert len(difference.states) == 2 + 2 * 198
