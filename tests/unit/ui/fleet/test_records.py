"""A run's queue and priority, from its tags."""

import pytest

from ui.fleet.records import Placement, label_of, priority_of


@pytest.mark.parametrize(
    ('tags', 'priority'),
    [
        ((), 3),
        (('drinks', 'priority:1'), 1),
        (('priority:5',), 5),
        (('priority:0',), 3),
        (('priority:6',), 3),
        (('priority:high',), 3),
        (('priority:²',), 3),
        (('priority:',), 3),
    ],
)
def test_a_priority_is_one_of_five(tags: tuple[str, ...], priority: int) -> None:
    assert priority_of(tags) == priority


def test_a_label_and_the_pattern_choose_the_queue_and_a_priority_does_not() -> None:
    tags = ('priority:1', 'worker:gpu')
    placed = Placement(run='1', pattern='race', version='a', label=label_of(tags), priority=priority_of(tags))
    assert placed.queue == 'hemicycle/race@a+gpu'
