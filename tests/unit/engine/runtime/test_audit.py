"""Audits of a run that was tampered with, and of one whose pattern has changed since."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import Event, LocalConductor, Memory, Pattern, Transition
from engine.errors import Diverged
from engine.history.audit import audit
from tests.support.harness import FakeModel, catalog, complete_run


class Counted(Memory):
    """Counts its steps."""

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


class Guarded(Counter):
    """The same pattern with another edge, which its guard blocks."""

    states = (*Counter.states, {'name': 'late', 'final': True})
    transitions = (['always', 'begin', 'late', 'is_late'], ['always', 'begin', 'over'])

    def is_late(self, memory: Counted, event: Event) -> bool:
        """Block the edge."""
        return False


async def record_steps(pattern: type[Pattern]) -> list[Transition]:
    async with LocalConductor(catalog=catalog(FakeModel(), pattern)) as conductor:
        return await conductor.transitions(await complete_run(conductor, pattern.name))


async def test_a_missing_change_fails_the_audit() -> None:
    steps = await record_steps(Counter)
    assert audit(steps[0].run, Counter(), steps) == len(steps)
    cut = [
        replace(step, changes=tuple(change for change in step.changes if change.path != '/memory/caveat'))
        for step in steps
    ]
    with pytest.raises(Diverged, match='changes was'):
        audit(steps[0].run, Counter(), cut)


@pytest.mark.parametrize(('recorded', 'today'), [(Counter, Guarded), (Guarded, Counter)])
async def test_an_added_or_removed_guard_fails_the_audit(
    recorded: type[Pattern], today: type[Pattern]
) -> None:
    steps = await record_steps(recorded)
    with pytest.raises(Diverged, match='guards was'):
        audit(steps[0].run, today(), steps)
