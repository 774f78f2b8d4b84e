"""Audits of runs recorded before a field or a guard existed, and of one that was tampered with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import Conductor, Event, Memory, Pattern, Transition
from engine.errors import Diverged
from engine.history.audit import audit
from tests.support.harness import FakeModel, catalog, complete_run


class Counted(Memory):
    """Counts its steps; `caveat` is the field that was added later."""

    steps: int = 0
    caveat: str = ''


class Counter(Pattern):
    """One step, which writes both fields."""

    Memory = Counted
    caveat = 'caveat'
    initial = 'begin'
    states = ({'name': 'begin'}, {'name': 'over', 'final': True, 'on_enter': 'count'})
    transitions = (['always', 'begin', 'over'],)

    def count(self, memory: Counted, event: Event) -> None:
        """Write both fields."""
        memory.steps += 1
        memory.caveat = 'only one step'


async def record_steps() -> list[Transition]:
    async with Conductor(catalog=catalog(FakeModel(), Counter)) as conductor:
        run = (await conductor.start('counter')).id
        outcome = await conductor.result(run)
        assert (outcome.done_with_issues, outcome.error) == (True, 'only one step')
        return await conductor.transitions(run)


def without_caveat(step: Transition) -> Transition:
    """Return the step as recorded before the field existed."""
    data = dict(step.event.data)
    if 'memory' in data:
        data['memory'] = {'steps': 0}
    changes = tuple(change for change in step.changes if change.path != '/memory/caveat')
    return replace(step, event=replace(step.event, data=data), changes=changes)


async def test_a_memory_field_added_later_passes_the_audit() -> None:
    steps = list(map(without_caveat, await record_steps()))
    assert audit(steps[0].run, Counter(), steps) == len(steps)


async def test_a_missing_change_of_an_existing_field_fails_the_audit() -> None:
    steps = await record_steps()
    changed = [
        replace(step, changes=tuple(c for c in step.changes if c.path != '/memory/caveat')) for step in steps
    ]
    with pytest.raises(Diverged, match='changes'):
        audit(steps[0].run, Counter(), changed)


class Guarded(Counter):
    """The pattern with a new edge that its guard blocks."""

    states = (
        {'name': 'begin'},
        {'name': 'over', 'final': True, 'on_enter': 'count'},
        {'name': 'late', 'final': True},
    )
    transitions = (['always', 'begin', 'late', 'is_late'], ['always', 'begin', 'over'])

    def is_late(self, memory: Counted, event: Event) -> bool:
        """Block the edge."""
        return False


class Late(Guarded):
    """The pattern with a new edge that is taken."""

    def is_late(self, memory: Counted, event: Event) -> bool:
        """Allow the edge."""
        return True


async def test_an_added_guard_fails_the_audit_only_if_its_edge_is_taken() -> None:
    steps = await record_steps()
    assert audit(steps[0].run, Guarded(), steps) == len(steps)
    with pytest.raises(Diverged, match='late'):
        audit(steps[0].run, Late(), steps)


async def test_a_removed_guard_fails_the_audit() -> None:
    async with Conductor(catalog=catalog(FakeModel(), Guarded)) as conductor:
        run = await complete_run(conductor, 'guarded')
        steps = await conductor.transitions(run)
    with pytest.raises(Diverged, match='guards was'):
        audit(run, Counter(), steps)
