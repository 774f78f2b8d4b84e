"""Overlays on collapsed states."""

from ui.formatting.diagram.overlays import aggregate, visible_ancestor, visible_edge

FOLDED = frozenset({'team', 'team.first', 'writing'})


def test_contents_are_represented_by_the_outermost_folded_state():
    assert visible_ancestor('team.first.thinking', FOLDED) == 'team'
    assert visible_ancestor('writing.thinking', FOLDED) == 'writing'
    assert visible_ancestor('team', FOLDED) == 'team'
    assert visible_ancestor('reading.thinking', FOLDED) == 'reading.thinking'


def test_an_edge_ends_at_the_visible_states():
    assert visible_edge('team.first.done>writing', FOLDED) == 'team>writing'


def test_an_edge_inside_a_folded_state_is_not_drawn():
    assert visible_edge('writing.thinking>writing.tools', FOLDED) == ''


def test_a_loop_is_drawn():
    assert visible_edge('team>team', FOLDED) == 'team>team'


def test_values_of_folded_states_are_combined():
    counts = {'team': 1, 'team.first': 2, 'writing.thinking': 4, 'reading': 8}
    assert aggregate(counts, FOLDED, sum) == {'team': 3, 'writing': 4, 'reading': 8}
    steps = {'writing.thinking>writing.tools': 5, 'writing>reading': 1}
    assert aggregate(steps, FOLDED, sum, edges=True) == {'writing>reading': 1}
