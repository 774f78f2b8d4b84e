"""The contract of every pattern in the catalog: its chart is valid and can end, its runs replay and audit."""

from __future__ import annotations

import asyncio
import contextlib
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from engine import (
    Breakpoint,
    Catalog,
    EventRefused,
    InvalidInput,
    LocalConductor,
    Pattern,
    Status,
    Transition,
)
from engine.journal import MemoryJournal, fold
from engine.records import CONTROL, Shape
from tests.contract.caching_sandbox import CachingSandbox
from tests.support.clocks import IdleClock
from tests.support.harness import first_steps, runs_commands, sample_parameters, to_the_end

CATALOG = Catalog.load()
every_pattern = pytest.mark.parametrize('pattern', CATALOG.patterns.values(), ids=list(CATALOG.patterns))
every_run = pytest.mark.parametrize(
    'pattern',
    [
        pytest.param(made, id=name, marks=pytest.mark.slow if runs_commands(made) else ())
        for name, made in CATALOG.patterns.items()
    ],
)


@pytest.fixture(scope='module')
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Options that the runs of this file share: a sandbox that runs each command once, and its folder."""
    root = tmp_path_factory.mktemp('runs')
    return {'catalog': CATALOG, 'workspaces': root, 'sandbox': CachingSandbox()}


def test_the_catalog_has_patterns_and_no_faults() -> None:
    assert CATALOG.patterns and CATALOG.faults == []


def find_successors(shape: Shape) -> dict[str, set[str]]:
    """Return the successors of each state, ignoring guards; states inherit the edges of their ancestors."""
    successors: dict[str, set[str]] = {state.path: set(state.initial) for state in shape.states}
    for state in shape.states:
        if state.parent:
            successors[state.path].add(state.parent)
    for edge in shape.edges:
        if edge.dest and edge.source in successors:
            successors[edge.source].add(edge.dest)
    return successors


def closure(start: str, leads: dict[str, set[str]]) -> set[str]:
    reached, todo = {start}, [start]
    while todo:
        new = leads[todo.pop()] - reached
        reached |= new
        todo.extend(new)
    return reached


@every_pattern
def test_the_shape_is_consistent(pattern: type[Pattern]) -> None:
    shape = CATALOG.draw(pattern.name)
    paths = [state.path for state in shape.states]
    assert len(set(paths)) == len(paths) and shape.initial in paths and shape.title and pattern.summary
    for state in shape.states:
        assert not state.parent or state.parent in paths
        assert set(state.initial) <= set(paths)
        assert bool(state.initial) == (state.kind in ('compound', 'parallel'))
    for edge in shape.edges:
        assert edge.source in paths or edge.trigger == 'start'
        assert not edge.dest or edge.dest in paths


@every_pattern
def test_every_state_is_reachable_and_every_path_can_end(pattern: type[Pattern]) -> None:
    shape = CATALOG.draw(pattern.name)
    leads = find_successors(shape)
    reached = closure(shape.initial, leads)
    assert reached == {state.path for state in shape.states}
    ends = {state.path for state in shape.states if state.kind == 'final' and not state.parent}
    assert [path for path in reached if not closure(path, leads) & ends] == []


@every_pattern
def test_the_form_can_be_drawn_and_matches_its_schema(pattern: type[Pattern]) -> None:
    schema = pattern.Parameters.model_json_schema()
    for name, field in schema.get('properties', {}).items():
        assert field.get('title') and field.get('description'), f'{name} has no help'
    required = set(schema.get('required', ()))
    for name in required:
        with pytest.raises(InvalidInput) as refused:
            pattern.parse({key: value for key, value in sample_parameters(pattern).items() if key != name})
        assert name in refused.value.problems
    parsed = pattern.parse(sample_parameters(pattern))
    assert pattern.parse(parsed.model_dump(mode='json')) == parsed


class Switches(BaseModel):
    on: bool = True


class Strictly(Pattern):
    """A user's pattern, whose records have no base class of ours."""

    abstract = True

    class Parameters(BaseModel):
        plain: bool = True
        maybe: bool | None = None
        many: tuple[bool, ...] = ()
        named: dict[str, bool] = {}
        within: Switches = Switches()
        count: int = 1

    inputs = {'go': Switches}


@pytest.mark.parametrize(
    ('name', 'right', 'wrong'),
    [
        ('plain', False, 0),
        ('maybe', None, 'no'),
        ('many', [True], [1]),
        ('named', {'a': True}, {'a': 'off'}),
        ('within', {'on': False}, {'on': 'false'}),
    ],
)
def test_booleans_are_strict_at_any_depth_of_any_record(name: str, right: Any, wrong: Any) -> None:
    assert Strictly.parse({name: right, 'count': '2'}).model_dump(mode='json')[name] == right
    with pytest.raises(InvalidInput, match=f'{name}.*valid boolean'):
        Strictly.parse({name: wrong})
    with pytest.raises(InvalidInput, match=r'on: .*valid boolean'):
        Strictly().validate_input('go', {'on': 'yes'})


def test_no_pattern_takes_a_number_or_text_for_a_boolean() -> None:
    booleans = [
        (pattern, name)
        for pattern in CATALOG.patterns.values()
        for name, field in pattern.Parameters.model_fields.items()
        if field.annotation is bool
    ]
    assert booleans
    for pattern, name in booleans:
        for wrong in (0, 'false'):
            with pytest.raises(InvalidInput) as refused:
                pattern.parse({name: wrong})
            assert 'valid boolean' in refused.value.problems[name]


@every_pattern
@settings(max_examples=30)
@given(
    st.dictionaries(
        st.sampled_from(['task', 'motion', 'max_iterations', 'objective', 'max_tasks', 'execution', 'x']),
        st.none() | st.integers() | st.text(max_size=5),
    )
)
def test_any_parameters_are_accepted_or_refused_by_name(
    pattern: type[Pattern], values: dict[str, Any]
) -> None:
    try:
        pattern(pattern.parse(values)).remember()
    except InvalidInput as refused:
        assert refused.problems
    except ValidationError as error:
        pytest.fail(f'parameters that pass do not make a memory: {error}')


@every_run
async def test_a_scripted_run_ends_with_a_complete_journal(
    pattern: type[Pattern], options: dict[str, Any]
) -> None:
    async with LocalConductor(clock=IdleClock(), **options) as conductor:
        run = (await conductor.start(pattern.name, sample_parameters(pattern))).id
        live = conductor._live.runs[run]
        outcome = await to_the_end(conductor, run)
        assert outcome.status is Status.DONE, outcome.error
        assert not pattern.answer or outcome.answer
        steps = await conductor.transitions(run)
        view = fold(run, live.chart.shape, steps)
        assert {'memory': view.memory, 'agents': view.agents} == live.state.dump()
        assert await conductor.audit(run) == len(steps)
        assert [step.seq for step in steps] == list(range(1, len(steps) + 1))
        assert live.world.runner._tasks == {} and conductor.feed._partial == {}


@pytest.mark.slow
@every_run
async def test_recovery_after_any_step_reaches_the_same_end(
    pattern: type[Pattern], options: dict[str, Any]
) -> None:
    """Recover a run after up to 6 of its steps; tests/crash covers every step."""
    journal = MemoryJournal()
    async with LocalConductor(journal, clock=IdleClock(), **options) as conductor:
        run = (await conductor.start(pattern.name, sample_parameters(pattern))).id
        expected = await to_the_end(conductor, run)
        steps = await conductor.transitions(run)
    ends = [step.seq for step, after in pairwise(steps) if not after.raised]
    few = -(-len(ends) // 6)
    for count in [0, *ends[::few]]:
        partial_journal = await first_steps(journal, run, count)
        clock = IdleClock(steps[count - 1].time) if count else IdleClock()
        async with LocalConductor(partial_journal, clock=clock, **options) as successor:
            assert await successor.recover() == [run], successor.stranded
            outcome = await to_the_end(successor, run)
            assert (outcome.status, outcome.memory) == (expected.status, expected.memory), count
            assert await successor.audit(run)


@pytest.mark.parametrize(
    'name', [name for name, pattern in CATALOG.patterns.items() if not runs_commands(pattern)]
)
async def test_a_run_stepped_region_by_region_reaches_its_end(name: str) -> None:
    pattern = CATALOG.patterns[name]
    stop = Breakpoint(when='event', stop='region')
    async with LocalConductor(catalog=CATALOG, clock=IdleClock()) as conductor:
        run = (await conductor.start(pattern.name, sample_parameters(pattern), breakpoints=[stop])).id

        async def resume_regions() -> None:
            async for item in conductor.watch(run):
                if isinstance(item, Transition) and item.event.name == 'pause':
                    with contextlib.suppress(EventRefused):
                        await conductor.resume(run, item.event.at)

        going = asyncio.ensure_future(resume_regions())
        outcome = await to_the_end(conductor, run)
        await going
        assert outcome.status is Status.DONE, outcome.error
        steps = await conductor.transitions(run)
        assert await conductor.audit(run) == len(steps)
        turns = sum(not step.raised and step.event.name not in CONTROL for step in steps)
        assert (await conductor.view(run)).breakpoints[0].hits >= turns - 1
