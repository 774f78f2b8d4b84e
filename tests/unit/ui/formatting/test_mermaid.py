"""Charts as Mermaid: layout, escaping, and the supervisor's transitions one by one."""

from __future__ import annotations

import re

import pytest

from engine import Catalog, InvalidInput, LocalConductor
from engine.records import EdgeShape, Shape, StatePath, StateShape
from engine.statechart.shape_builder import guard_words
from ui.formatting.diagram.mermaid import edge_label, mermaid

CONDUCTOR = LocalConductor()
EDGE = re.compile(r'^( *)(\S+) --> (\S+?)(?:: (.*))?$', flags=re.M)


def list_top_level_edges(text: str) -> list[tuple[str, str, str]]:
    """Return the top-level edges: source, destination, label."""
    return [(source, dest, label) for indent, source, dest, label in EDGE.findall(text) if len(indent) == 4]


def test_the_supervisors_diagram_matches_its_transitions() -> None:
    """Compare with the supervisor's specification: its states, and the conditions of its transitions.

    Two final states, complete and failed, represent the specification's single end.
    """
    edges = list_top_level_edges(mermaid(CONDUCTOR.catalog.draw('supervisor'), folded=True))
    assert [edge for edge in edges if 'failed' not in edge[:2]] == [
        ('[*]', 'planning', ''),
        ('planning', 'executing', 'pending tasks'),
        ('planning', 'complete', 'no pending tasks'),
        ('executing', 'executing', 'pending tasks'),
        ('executing', 'synthesizing', 'no pending tasks'),
        ('synthesizing', 'complete', ''),
        ('complete', '[*]', ''),
    ]
    assert {label for source, dest, label in edges if dest == 'failed'} == {'failed', 'expired'}


@pytest.mark.parametrize(
    ('words', 'phrases'),
    [
        ({}, ('approved', 'no time')),
        ({'is_approved': 'all agree', 'has_time': 'in time'}, ('all agree', 'not in time')),
        ({'is_approved': '', 'has_time': ('in time', 'too late')}, ('', 'too late')),
    ],
)
def test_guards_are_in_words(words: dict[str, str | tuple[str, str]], phrases: tuple[str, ...]) -> None:
    edge = EdgeShape(
        trigger='done', source=StatePath('a'), dest='b', conditions=('is_approved',), unless=('has_time',)
    )
    assert guard_words(edge, words) == phrases


def test_a_pattern_says_its_guards_in_its_own_words() -> None:
    edges = CONDUCTOR.catalog.draw('pipeline').edges
    labels = {edge_label(edge) for edge in edges if (edge.source, edge.dest) == ('reviewing', 'complete')}
    assert labels == {'approved', 'no revisions left'}


def test_parallel_workers_are_regions() -> None:
    parameters = {'execution': 'side by side', 'workers': 3}
    text = mermaid(CONDUCTOR.catalog.draw('supervisor', parameters), folded=True)
    assert text.count('\n        --\n') == 2
    assert len(re.findall(r'state "worker \d" as executing__worker_\d \{', text)) == 3
    assert 'executing__worker_2__taking --> executing__worker_2__working: next task' in text
    assert ('executing', 'executing', 'pending tasks') not in list_top_level_edges(text)


@pytest.mark.parametrize('name', list(Catalog.load().patterns))
@pytest.mark.parametrize('folded', [True, False])
def test_every_state_and_edge_of_a_pattern_is_drawn(name: str, folded: bool) -> None:
    shape = CONDUCTOR.catalog.draw(name)
    text = mermaid(shape, folded=folded)
    parallel = tuple(f'{state.path}.' for state in shape.states if state.kind == 'parallel')
    closed = tuple(
        f'{state.path}.'
        for state in shape.states
        if state.role and (folded or state.parent.startswith(parallel or '.'))
    )

    def is_drawn(path: str) -> bool:
        return not path.startswith(closed or '.')

    states = [state for state in shape.states if is_drawn(state.path)]
    assert len(re.findall(r'^ *state "', text, flags=re.M)) == len(states)
    ends = [state for state in states if state.kind == 'final']
    starts = [start for state in states for start in state.initial if is_drawn(start)]
    edges = [edge for edge in shape.edges if is_drawn(edge.source)]
    assert text.count(' --> ') == len(edges) + len(ends) + len(starts)


def chart(*names: str, edges: tuple[EdgeShape, ...] = ()) -> Shape:
    states = tuple(
        StateShape(path=StatePath(name), name=name, parent=StatePath(''), kind='atomic') for name in names
    )
    return Shape(pattern='odd', title='Odd', initial=states[0].path, states=states, edges=edges)


def test_reserved_and_similar_names_are_kept_apart() -> None:
    odd = ('state', 'end', 'a-b', 'a_b', 'a b', 'é', 'End', 'x"; y: {z} #1 %% <b>', 'direction tb')
    text = mermaid(chart(*odd))
    names = re.findall(r'as (\S+)$', text, flags=re.M)
    assert len({name.lower() for name in names}) == len(odd)
    assert not {'state', 'end'} & {name.lower() for name in names}
    assert all(re.fullmatch(r'\w+', name, flags=re.A) for name in names)
    assert 'state "x#34;#59; y#58; #123;z#125; #35;1 #37;#37; #60;b#62;" as' in text
    assert 'state "direction#160;tb" as' in text


def test_events_and_guards_are_labels_and_an_internal_edge_is_a_loop() -> None:
    path = StatePath('one')
    edges = (
        EdgeShape(
            trigger='note', source=path, dest='', conditions=('is_new', 'is_short'), unless=('is_late',)
        ),
        EdgeShape(trigger='done', source=path, dest='two'),
        EdgeShape(trigger='done', source=path, dest='two', conditions=('is_new',), history='shallow'),
        EdgeShape(trigger='go_on', source=path, dest='two', history='deep'),
    )
    text = mermaid(chart('one', 'two', edges=edges))
    assert list_top_level_edges(text) == [
        ('[*]', 'one', ''),
        ('one', 'one', 'note [new, short, not late]'),
        ('one', 'two', ''),
        ('one', 'two', 'new (H)'),
        ('one', 'two', 'go on (H*)'),
    ]


def test_a_chart_can_be_drawn_with_some_parameters() -> None:
    two = CONDUCTOR.catalog.draw('supervisor', {'execution': 'side by side', 'workers': 2})
    assert sum(state.name.startswith('worker_') for state in two.states) == 2
    for parameters in ({'workers': 9}, {'no_such': 1}):
        with pytest.raises(InvalidInput) as refused:
            CONDUCTOR.catalog.draw('supervisor', parameters)
        assert refused.value.problems.keys() == parameters.keys()


def test_a_folded_state_represents_its_children():
    text = mermaid(Catalog.load().draw('time-bounded'), folded={'working'})
    assert 'working --> shutting_down' in text
    assert 'working__' not in text
