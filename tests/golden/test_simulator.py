"""A simulator's walks end where rehearsals, recorded runs and runs with its stubs do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from engine import Catalog, LocalConductor, Pattern, Transition
from engine.operations.rehearsal import rehearse
from engine.operations.rehearsal.simulator import Simulator
from engine.records import CONTROL
from engine.records.shape import parent_of
from tests.support.clocks import IdleClock
from tests.support.harness import sample_parameters, to_the_end

CATALOG = Catalog.load()
STEPS: TypeAdapter[list[Transition]] = TypeAdapter(list[Transition])
JOURNALS = Path(__file__).parent / 'journals'


def made(name: str) -> Pattern:
    pattern = CATALOG.pattern(name)
    return pattern(pattern.parse(sample_parameters(pattern)))


@pytest.mark.parametrize('name', CATALOG.patterns)
def test_each_way_of_a_rehearsal_ends_in_the_same_state(name: str) -> None:
    pattern = made(name)
    simulator = Simulator(pattern)
    for state in rehearse(pattern, seconds=30).states:
        simulator.load(state.events)
        assert simulator.moment.active == state.events[-1].active, state.path


def recorded(name: str) -> tuple[Pattern, list[Transition]]:
    document = json.loads((JOURNALS / f'{name}.json').read_text('utf-8'))
    pattern = CATALOG.pattern(document['pattern'])
    return pattern(pattern.parse(document['parameters'])), STEPS.validate_python(document['steps'])


def follow(pattern: Pattern, steps: list[Transition]) -> Simulator:
    """Walk as a recorded run went."""
    simulator = Simulator(pattern, now=steps[0].time)
    began = steps[0].time
    for step in steps[1:]:
        if not step.raised and step.event.name not in CONTROL:
            ran = step.time - began
            moment = simulator.take(replace(step.event, time=step.time, ran=ran))
            assert not moment.problems and not moment.reason
    return simulator


@pytest.mark.parametrize('name', [path.stem for path in sorted(JOURNALS.glob('*.json'))])
def test_a_recorded_run_is_walked_to_the_same_states_and_memory(name: str) -> None:
    pattern, steps = recorded(name)
    simulator = follow(pattern, steps)
    taken = [step.active for moment in simulator.moments for step in moment.microsteps]
    assert taken == [step.active for step in steps if step.event.name not in CONTROL - {'start'}]
    assert simulator.moment.ending


def stays(steps: list[Transition]) -> dict[str, list[str]]:
    """Return the states entered in each compound one, in order. Regions may take turns in any order."""
    entered: dict[str, list[str]] = {}
    for step in steps:
        for path in step.entered:
            entered.setdefault(parent_of(path), []).append(path)
    return entered


@pytest.mark.parametrize('name', ['event-sourcing', 'street-fair', 'cargo-bike', 'pseudoprime'])
async def test_the_stubs_of_a_walk_lead_a_run_through_the_same_states(name: str) -> None:
    pattern, steps = recorded(name)
    stubs = follow(pattern, steps).stubs()
    async with LocalConductor(catalog=CATALOG, clock=IdleClock()) as conductor:
        parameters = pattern.parameters.model_dump(mode='json')
        run = (await conductor.start(pattern.name, parameters, stubs=stubs)).id
        await to_the_end(conductor, run)
        again = await conductor.transitions(run)
        assert (await conductor.view(run)).origins == ('stubbed',)
    assert stays(list(again)) == stays(steps)
