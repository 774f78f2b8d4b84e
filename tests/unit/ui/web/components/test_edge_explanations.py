"""Explaining why an edge was taken: what an overlay marks, for one edge and for merged ones."""

from engine import Event, Transition
from engine.records import Edge, EdgeShape, GuardResult, RunId, Shape, StatePath
from ui.formatting.steps import edge_name, edge_outcomes

PATH = StatePath


def edge(dest: str, *conditions: str) -> EdgeShape:
    return EdgeShape(trigger='done', source=PATH('a'), dest=dest, conditions=conditions)


SHAPE = Shape(
    pattern='p', title='P', initial=PATH('a'), states=(),
    edges=(edge('b', 'fits'), edge('c'), edge('b', 'late'), edge('')),
)  # fmt: skip


def test_an_outer_transition_is_not_evaluated_after_an_inner_one_matched():
    inner = EdgeShape(source=PATH('a.x'), dest='a.y', trigger='failed')
    outer = EdgeShape(source=PATH('a'), dest='b', trigger='failed')
    shape = Shape(pattern='p', title='P', initial=PATH('a'), states=(), edges=(outer, inner))
    event = Event(name='failed', at=PATH('a.x'))
    edges = (Edge(source=PATH('a.x'), dest='a.y'),)
    failed = Transition(run=RunId('r'), seq=4, time=1.0, event=event, edges=edges)
    reasons = {outcome.edge.source: outcome.reason for outcome in edge_outcomes(failed, shape)}
    assert reasons == {'a': 'Not checked: another one applied', 'a.x': 'Taken'}


def test_an_edge_for_several_transitions_has_one_name():
    assert [edge_name(edge) for edge in SHAPE.edges] == ['a>b', 'a>c', 'a>b', 'a>a']


def test_without_a_transition_no_edge_is_taken():
    fits = GuardResult(name='fits', value=False, wanted=True, source=PATH('a'), dest='b')
    step = Transition(run=RunId('r'), seq=4, time=1.0, event=Event(name='done', at=PATH('a')), guards=(fits,))
    assert not any(outcome.taken for outcome in edge_outcomes(step, SHAPE))
