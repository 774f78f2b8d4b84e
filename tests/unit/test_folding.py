"""Which states of a chart are drawn as one: what is read first, and what a person asks for."""

import pytest

from engine import Conductor
from ui.drawing.diagram import dot
from ui.drawing.folding import MOST_STATES, agents_of, around, drawn, foldable, readable, unfolded
from ui.presenters.reading import whereabouts

CONDUCTOR = Conductor()
REVIEW = CONDUCTOR.draw('parallel-review')


@pytest.mark.parametrize('pattern', list(CONDUCTOR.catalog.patterns))
def test_each_pattern_is_drawn_with_few_enough_states(pattern):
    shape = CONDUCTOR.draw(pattern)
    folded = readable(shape)
    assert drawn(shape, folded) <= MOST_STATES
    text = dot(shape, folded=folded)
    assert sum(f'id="s:{state.path}"' in text for state in shape.states) == drawn(shape, folded)


def test_a_small_chart_is_drawn_whole():
    assert readable(CONDUCTOR.draw('pipeline')) == frozenset()


def test_regions_are_seen_before_what_is_inside_them():
    folded = readable(REVIEW)
    assert 'implementing' not in folded
    assert {'implementing.coder1', 'implementing.coder2', 'implementing.coder3'} <= folded
    assert agents_of(REVIEW) <= folded


def test_states_that_are_alike_are_folded_alike():
    folded = readable(REVIEW)
    assert ('debating' in folded) == ('final_review' in folded)


def test_states_are_listed_with_what_is_inside_right_after_them():
    listed = list(foldable(REVIEW))
    assert listed[:3] == ['implementing', 'implementing.coder1', 'implementing.coder1.working']
    assert foldable(REVIEW)['implementing.coder1.working'] == 2


def test_what_is_inside_is_seen_when_all_around_it_is_unfolded():
    folded = frozenset({'implementing', 'implementing.coder1', 'implementing.coder2', 'debating'})
    assert unfolded(folded, 'implementing.coder1') == {'implementing.coder2', 'debating'}


@pytest.mark.parametrize(
    ('folded', 'path', 'holder'),
    [
        (frozenset(), 'implementing.coder1.working.thinking', 'implementing.coder1.working'),
        (frozenset({'implementing.coder1'}), 'implementing.coder1', 'implementing.coder1'),
        (frozenset({'implementing'}), 'implementing', 'implementing'),
        (frozenset(), 'choosing', ''),
    ],
)
def test_a_double_click_is_meant_for_the_innermost_box(folded, path, holder):
    assert around(REVIEW, folded, path) == holder


def test_edges_of_folded_states_end_at_what_stands_for_them():
    shape = CONDUCTOR.draw('time-bounded')
    text = dot(shape, folded=frozenset({'working'}))
    assert 'e:working>shutting_down' in text
    assert 'working.' not in text


@pytest.mark.parametrize(
    ('active', 'said'),
    [
        ([], ''),
        (['a.b_c'], 'a › b c'),  # noqa: RUF001  (the sign between the steps of a path)
        (['a.b.c', 'a.bd.e'], 'a · 2 side by side'),
        (['a', 'b'], '2 side by side'),
    ],
)
def test_several_states_are_named_by_what_is_around_them(active, said):
    assert whereabouts(active) == said
