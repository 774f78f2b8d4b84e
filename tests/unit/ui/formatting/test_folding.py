"""Which states of a chart are drawn as one: by default, and on request."""

import pytest

from engine import Catalog
from ui.formatting.diagram.folding import (
    MAX_STATES,
    agent_paths,
    card_paths,
    count_drawn,
    default_folds,
    enclosing_composite,
    foldable_states,
    unfold,
)
from ui.formatting.diagram.rendering import dot
from ui.formatting.steps import active_text

CATALOG = Catalog.load()
REVIEW = CATALOG.draw('parallel-review')


@pytest.mark.parametrize('pattern', list(CATALOG.patterns))
def test_each_pattern_is_drawn_with_a_limited_number_of_states(pattern):
    shape = CATALOG.draw(pattern)
    folded = default_folds(shape)
    assert count_drawn(shape, folded) <= MAX_STATES
    text = dot(shape, folded=folded)
    assert sum(f'id="s:{state.path}"' in text for state in shape.states) == count_drawn(shape, folded)


def test_in_a_small_chart_only_agents_are_folded():
    assert default_folds(CATALOG.draw('pipeline')) == {'researching', 'analyzing', 'reviewing'}


def test_a_card_holds_an_agent_with_its_region_or_seat():
    assert {'implementing.coder1', 'debating.reviewer1', 'debating.synthesizing'} <= card_paths(REVIEW)
    assert card_paths(CATALOG.draw('supervisor')) == {'planning', 'executing.working', 'synthesizing'}


def test_regions_unfold_before_their_contents():
    folded = default_folds(REVIEW)
    assert 'implementing' not in folded
    assert {'implementing.coder1', 'implementing.coder2', 'implementing.coder3'} <= folded
    assert agent_paths(REVIEW) <= folded


def test_similar_states_are_folded_alike():
    folded = default_folds(REVIEW)
    assert ('debating' in folded) == ('final_review' in folded)


def test_states_are_listed_before_their_substates():
    listed = list(foldable_states(REVIEW))
    assert listed[:3] == ['implementing', 'implementing.coder1', 'implementing.coder1.working']
    assert foldable_states(REVIEW)['implementing.coder1.working'] == 2


def test_a_state_is_visible_when_all_its_parents_are_unfolded():
    folded = frozenset({'implementing', 'implementing.coder1', 'implementing.coder2', 'debating'})
    assert unfold(folded, 'implementing.coder1') == {'implementing.coder2', 'debating'}


@pytest.mark.parametrize(
    ('folded', 'path', 'holder'),
    [
        (frozenset(), 'implementing.coder1.working.thinking', 'implementing.coder1.working'),
        (frozenset({'implementing.coder1'}), 'implementing.coder1', 'implementing.coder1'),
        (frozenset({'implementing'}), 'implementing', 'implementing'),
        (frozenset(), 'choosing', ''),
    ],
)
def test_a_double_click_applies_to_the_innermost_box(folded, path, holder):
    assert enclosing_composite(REVIEW, folded, path) == holder


def test_edges_of_folded_states_end_at_their_visible_parent():
    shape = CATALOG.draw('time-bounded')
    text = dot(shape, folded=frozenset({'working'}))
    assert 'e:working>shutting_down' in text
    assert 'working.' not in text


@pytest.mark.parametrize(
    ('active', 'text'),
    [
        ([], ''),
        (['a.b_c'], 'a › b c'),  # noqa: RUF001  (the sign between the steps of a path)
        (['a.b.c', 'a.bd.e'], 'a · 2 in parallel'),
        (['a', 'b'], '2 in parallel'),
    ],
)
def test_several_states_are_named_by_their_common_parent(active, text):
    assert active_text(active) == text


def test_each_of_six_coders_has_its_own_box():
    shape = CATALOG.draw('parallel-review', {'task': 'Write it.', 'coders': 6, 'reviewers': 5})
    drawn = dot(shape, folded=default_folds(shape))
    for phase in ('implementing', 'revising'):
        assert [f'id="s:{phase}.coder{number}"' in drawn for number in range(1, 7)] == [True] * 6
    assert 'id="s:reviewing.reviewer5"' in drawn
