"""The running time of a run: pauses and restarts do not count, and a fork knows its inherited part."""

import pytest

from engine import Event, Transition
from engine.journal import Fold
from engine.records import RunId, Shape, StatePath, StateShape, View

A = StatePath('a')
SHAPE = Shape(
    pattern='p',
    title='P',
    initial=A,
    states=(StateShape(path=A, name='a', parent=StatePath(''), kind='atomic'),),
    edges=(),
)
PAUSED = [('start', 100.0, {}), ('pause', 127.0, {})]
RECOVERED = [*PAUSED, ('recover', 900.0, {})]


def read(*steps: tuple[str, float, dict]) -> Fold:
    fold = Fold(RunId('r'), SHAPE)
    return fold.apply_all(
        Transition(run=RunId('r'), seq=seq, time=time, event=Event(name=name, data=data), active=(A,))
        for seq, (name, time, data) in enumerate(steps, start=1)
    )


def times(view: View) -> tuple[float, float]:
    return view.ran, view.paused_since


@pytest.mark.parametrize('steps', [PAUSED, RECOVERED], ids=['paused', 'recovered'])
def test_a_paused_run_has_the_time_at_which_it_was_paused(steps):
    fold = read(*steps)
    assert times(fold.view) == (27.0, 127.0)
    assert times(Fold.load(fold.snapshot(), SHAPE).view) == (27.0, 127.0)


def test_the_time_of_a_resumed_run_continues_from_the_pause():
    assert times(read(*RECOVERED, ('resume', 1000.0, {}), ('done', 1003.0, {})).view) == (30.0, 0.0)


def test_a_fork_knows_the_time_inherited_from_its_parent():
    fold = read(('start', 100.0, {}), ('done', 130.0, {}), ('recover', 700.0, {'forked': 'r@2'}))
    assert (fold.view.ran, fold.view.inherited_ran) == (30.0, 30.0)
    assert Fold.load(fold.snapshot(), SHAPE).view.inherited_ran == 30.0
