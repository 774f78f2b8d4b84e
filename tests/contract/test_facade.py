"""The contract of the facade: one suite for the in-process conductor and the HTTP one."""

from __future__ import annotations

import asyncio
import inspect
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import (
    Breakpoint,
    Budget,
    Conductor,
    EventRefused,
    InvalidInput,
    LocalConductor,
    Memory,
    Status,
    Transition,
)
from engine.errors import (
    BundleError,
    StepPassed,
    UnknownNote,
    UnknownPattern,
    UnknownRun,
    UnknownStep,
    WorkspaceError,
)
from engine.history import ForkOverrides
from engine.journal import Retention
from engine.operations import operations_of, parts_of
from engine.records import Change, RunId, RunInfo, RunQuery
from tests.golden.traces import FOLDER
from tests.support.harness import FakeModel, Lone, catalog, complete_run
from ui.api.client import HttpConductor

TASK = {'task': 'Compare tea and coffee'}
NO_SUCH_RUN = RunId('nothing')


async def run_to_end(conductor: Conductor, pattern: str = 'lone', **more: Any) -> RunId:
    return await complete_run(conductor, pattern, TASK if pattern == 'pipeline' else None, **more)


async def start_paused(conductor: Conductor, **more: Any) -> RunId:
    return (await conductor.start('lone', paused=True, **more)).id


@pytest.mark.parametrize('home', [LocalConductor, HttpConductor])
def test_each_conductor_has_every_operation_with_the_declared_parameters(home: type[Any]) -> None:
    made = home('http://127.0.0.1:1') if home is HttpConductor else home(catalog=catalog(FakeModel()))
    for part, protocol in (('', Conductor), *parts_of(Conductor).items()):
        for name, operation in operations_of(protocol).items():
            method = getattr(getattr(made, part) if part else made, name)
            parameters = operation.signature.parameters.values()
            declared = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
            inspect.signature(method).bind(**dict.fromkeys(declared))


async def test_a_run_is_started_watched_and_read(conductor: Conductor, local_conductor: Conductor):
    handle = await conductor.start('pipeline', TASK, title='Tea', tags=['x'], budget=Budget(tokens=90_000))
    items = [item async for item in handle.watch()]
    steps = [item for item in items if isinstance(item, Transition)]
    assert steps == await local_conductor.transitions(handle.id)
    assert steps == await conductor.transitions(handle.id)
    some = await conductor.transitions(handle.id, after=2, until=9, limit=3)
    assert [step.seq for step in some] == [3, 4, 5]
    result = await handle.result()
    assert result.status is Status.DONE
    assert (
        result.memory.model_dump() == (await local_conductor.handle(handle.id).result()).memory.model_dump()
    )
    assert await handle.info() == await local_conductor.info(handle.id)
    assert await handle.view(4) == await local_conductor.view(handle.id, 4)
    assert await conductor.shape(handle.id) == await local_conductor.shape(handle.id)
    assert (await conductor.fold(handle.id, 5)).document == (
        await local_conductor.fold(handle.id, 5)
    ).document
    assert await conductor.snapshot(handle.id, 5) == await local_conductor.snapshot(handle.id, 5)
    assert await conductor.turn_end(await handle.info(), 2) == await local_conductor.turn_end(
        await handle.info(), 2
    )
    assert await conductor.result(handle.id) == await local_conductor.result(handle.id)
    assert await conductor.audit(handle.id) == steps[-1].seq
    explanations = await conductor.explain_guards(handle.id)
    guard = next(guard for step in steps for guard in step.guards)
    document = (await local_conductor.fold(handle.id, 3)).document
    expected = (await local_conductor.explain_guards(handle.id)).of(
        guard.source, guard.dest, guard.name, document, steps[3].event
    )
    assert explanations.of(guard.source, guard.dest, guard.name, document, steps[3].event) == expected


async def test_a_result_that_no_longer_fits_its_pattern_names_the_field() -> None:
    class Remembering(Memory):
        words: str

    class Changed(Lone):
        """The pattern as it is since the run."""

        name = 'lone'
        Memory = Remembering

    async with LocalConductor(catalog=catalog(FakeModel(), Lone)) as conductor:
        handle = await conductor.start('lone')
        await handle.result()
        conductor.catalog.patterns['lone'] = Changed
        with pytest.raises(InvalidInput, match='words: Field required'):
            await handle.result()


async def test_a_result_has_the_memory_of_a_pattern_that_only_the_server_has(url: str):
    async with HttpConductor(url) as conductor:
        result = await (await conductor.start('pipeline', TASK)).result()
    assert result.status is Status.DONE
    assert result.memory.task == TASK['task']
    assert result.memory.model_dump()['messages']


async def test_a_result_has_the_memory_of_the_class_that_was_started(url: str):
    async with HttpConductor(url) as conductor:
        result = await (await conductor.start(Lone)).result()
    assert type(result.memory) is Lone.Memory


@pytest.mark.parametrize(
    ('error', 'ask'),
    [
        (UnknownRun, lambda conductor: conductor.info(NO_SUCH_RUN)),
        (UnknownRun, lambda conductor: conductor.view(NO_SUCH_RUN)),
        (UnknownRun, lambda conductor: conductor.send(NO_SUCH_RUN, 'x')),
        (UnknownRun, lambda conductor: conductor.result(NO_SUCH_RUN)),
        (UnknownRun, lambda conductor: conductor.fork(NO_SUCH_RUN, 1)),
        (UnknownRun, lambda conductor: conductor.lineage(NO_SUCH_RUN)),
        (UnknownPattern, lambda conductor: conductor.start('nothing')),
    ],
)
async def test_missing_things_raise_the_same_errors(
    conductor: Conductor, local_conductor: Conductor, error: Any, ask: Any
):
    with pytest.raises(error) as raised:
        await ask(conductor)
    with pytest.raises(error) as expected:
        await ask(local_conductor)
    assert str(raised.value) == str(expected.value)
    assert {**vars(raised.value)} == {
        name: list(value) if isinstance(value, tuple) and conductor is not local_conductor else value
        for name, value in vars(expected.value).items()
    }


async def test_bad_input_names_the_field(conductor: Conductor):
    with pytest.raises(InvalidInput) as raised:
        await conductor.start('pipeline', {'task': 'x'})
    assert set(raised.value.problems) == {'task'}
    with pytest.raises(InvalidInput) as raised:
        await conductor.start('lone', models={'': 'nobody'})
    assert set(raised.value.problems) == {'models'}
    run = await run_to_end(conductor)
    with pytest.raises(UnknownStep) as step:
        await conductor.view(run, 99)
    assert (step.value.run, step.value.step) == (run, 99)


class TestSteering:
    @pytest.fixture
    def model(self) -> FakeModel:
        return FakeModel(lambda request: asyncio.Event())

    async def test_a_run_is_steered(self, conductor: Conductor, local_conductor: Conductor):
        run = (await conductor.start('lone', budget=Budget(tokens=500))).id
        await conductor.pause(run)
        assert (await local_conductor.view(run)).paused
        await conductor.resume(run)
        assert not (await local_conductor.view(run)).paused
        await conductor.step(run, 'over')
        await conductor.extend(run, tokens=100)
        gauge = (await local_conductor.view(run)).budget['tokens']
        assert gauge.limit == 600
        breakpoints = await conductor.set_breakpoints(run, [Breakpoint(enter='over')])
        assert [(item.id, item.enter) for item in breakpoints] == [('1', 'over')]
        assert await conductor.probe(run, 'loops > 0') == await local_conductor.probe(run, 'loops > 0')
        with pytest.raises(StepPassed):
            await conductor.cancel(run, seen=1)
        await conductor.cancel(run, 'enough', seen=(await conductor.info(run)).seq)
        outcome = await conductor.result(run)
        assert outcome.status is Status.CANCELLED
        with pytest.raises(EventRefused) as refused:
            await conductor.pause(run)
        assert (refused.value.run, refused.value.event) == (run, 'pause')

    async def test_repeating_a_call_with_the_same_key_has_no_effect(
        self, conductor: Conductor, local_conductor: Conductor
    ):
        run = (await conductor.start('lone', paused=True, budget=Budget(tokens=500))).id
        for key in ('a', 'a', 'b', ''):
            await conductor.step(run, key=key)
            await conductor.extend(run, tokens=10, key=key)  # The same key on another call is no repetition.
        for _ in range(2):
            await conductor.set_breakpoints(run, [Breakpoint(enter='over')], key='a')
            await conductor.resume(run, key='a')
        for _ in range(2):
            await conductor.pause(run, key='a')
        seq = (await conductor.info(run)).seq
        for _ in range(2):
            await conductor.send(run, 'resume', seen=seq, key='c')
        for _ in range(2):
            await conductor.cancel(run, 'enough', key='a')
        with pytest.raises(EventRefused):
            await conductor.cancel(run, 'enough', key='b')
        counted = Counter(step.event.name for step in await local_conductor.transitions(run))
        assert counted == {
            'start': 1, 'step': 3, 'extend': 3, 'breakpoints': 1, 'pause': 1, 'resume': 2, 'cancel': 1
        }  # fmt: skip
        assert await local_conductor.audit(run) == counted.total()

    async def test_a_paused_run_is_reported_at_rest(self, conductor: Conductor):
        run = await start_paused(conductor)
        async for item in conductor.watch(run):
            if isinstance(item, Transition) and 0 < conductor.resting_step(run) <= item.seq:
                break
        assert conductor.can_control(run)
        await conductor.cancel(run)

    async def test_a_region_or_run_is_edited(self, conductor: Conductor, local_conductor: Conductor):
        run = await start_paused(conductor)
        change = {'op': 'replace', 'path': '/agents/working/instructions', 'value': 'Be brief.'}
        accepted = await conductor.accepts(run)
        assert accepted == await local_conductor.accepts(run)
        with pytest.raises((EventRefused, InvalidInput)):
            await conductor.send(run, 'edit', data={'changes': [{**change, 'path': '/nowhere'}]})
        await conductor.cancel(run)


async def test_runs_are_listed_and_found(conductor: Conductor, local_conductor: Conductor):
    runs = [
        await run_to_end(conductor, title=f'run {number}', tags=['t'] * (number % 2)) for number in range(5)
    ]
    assert (await conductor.runs()).runs == (await local_conductor.runs()).runs
    page = await conductor.runs(RunQuery(limit=2, offset=1))
    assert page == await local_conductor.runs(RunQuery(limit=2, offset=1))
    tagged = RunQuery(tag='t', text='run', status=(Status.DONE,), pattern='lone', until=1e11)
    assert await conductor.runs(tagged) == await local_conductor.runs(tagged)
    assert [info.id async for info in conductor.iter_runs()] == runs[::-1]
    went = RunQuery(state='working', edges=('working>over',))
    assert (await conductor.runs(went)).total == (await local_conductor.runs(went)).total
    traffic = await conductor.traffic(RunQuery(pattern='lone'))
    assert traffic == await local_conductor.traffic(RunQuery(pattern='lone'))


async def test_runs_are_forked_compared_and_related(conductor: Conductor, local_conductor: Conductor):
    run = await run_to_end(conductor, 'pipeline')
    kind = ForkOverrides(instructions={'reviewer': 'Be kind.'})
    fork = await conductor.fork(run, 3, title='other', overrides=kind)
    await conductor.result(fork)
    assert (await conductor.info(fork)).parent == run
    changed = ForkOverrides(changes=(Change(op='add', path='/memory/task', value='x'),))
    both = await conductor.fork_all(run, 3, {'a': ForkOverrides(), 'b': changed})
    rerun = await conductor.rerun(run)
    for item in (*both, rerun):
        await conductor.result(item)
    assert await conductor.lineage(fork) == await local_conductor.lineage(fork)
    assert await conductor.family(run) == await local_conductor.family(run)
    assert set(await conductor.family(run)) == {run, fork, rerun, *both}
    await conductor.mark_winner(both[0])
    assert 'winner' in (await local_conductor.info(both[0])).tags
    assert await conductor.forecast(run, 3) == await local_conductor.forecast(run, 3)
    assert await conductor.compare(run, fork) == await local_conductor.compare(run, fork)
    with pytest.raises(EventRefused):
        await conductor.retry_at(run)
    with pytest.raises(EventRefused):
        await conductor.retry(run)
    with pytest.raises(InvalidInput):
        await conductor.fork(run, 3, overrides=ForkOverrides(models={'': 'nobody'}))


async def test_a_cancelled_run_is_retried(conductor: Conductor, local_conductor: Conductor):
    run = await start_paused(conductor)
    await conductor.cancel(run)
    assert await conductor.retry_at(run) == await local_conductor.retry_at(run)
    retried = await conductor.retry(run, title='again')
    assert (await conductor.result(retried)).status is Status.DONE


async def test_runs_are_annotated_cleaned_up_restored_and_purged(
    conductor: Conductor, local_conductor: Conductor
):
    run = await run_to_end(conductor)
    info = await conductor.annotate(run, title='Tea', tags=['a'], starred=True)
    assert info == await local_conductor.info(run)
    note = await conductor.write_note(run, 'hm', at=1)
    changed = await conductor.write_note(run, 'ah', note=note.id)
    assert await conductor.notes(run) == [changed] == await local_conductor.notes(run)
    await conductor.delete_note(run, note.id)
    with pytest.raises(UnknownNote):
        await conductor.delete_note(run, note.id)
    assert await conductor.disk_usage([info]) == await local_conductor.disk_usage([info])
    await conductor.annotate(run, starred=False)
    policy = Retention(runs=0)
    assert await conductor.preview_cleanup(policy) == await local_conductor.preview_cleanup(policy)
    assert [item.info.id for item in (await conductor.clean_up(policy)).taken] == [run]
    assert (await conductor.restore(run)).deleted == 0.0
    await conductor.delete(run)
    assert [item.id async for item in conductor.iter_runs('trash')] == [run]
    await conductor.purge(run)
    with pytest.raises(UnknownRun):
        await conductor.info(run)
    assert conductor.retention == local_conductor.retention


async def test_an_imported_trace_refuses_actions_that_need_a_pattern(
    conductor: Conductor, local_conductor: Conductor
):
    with (FOLDER / 'pydantic_ai.json').open('rb') as file:
        [new] = await conductor.import_bundle(file)
    info = await conductor.info(new.id)
    assert new.outcome == 'new' and info.is_imported_trace and info.tags == ('imported trace',)
    assert await conductor.audit(new.id) == info.seq == (await local_conductor.info(new.id)).seq
    assert (await conductor.compare(new.id, new.id)).same_path
    for action in (conductor.fork(new.id, 3), conductor.rerun(new.id)):
        with pytest.raises(UnknownPattern, match='imported from a trace that another program recorded'):
            await action
    with pytest.raises(EventRefused):
        await conductor.send(new.id, 'approve')
    with pytest.raises(BundleError) as raised:
        await conductor.import_bundle(io.BytesIO(b'{"resourceSpans": [{"scopeSpans": 7}]}'))
    assert raised.value.field == 'resourceSpans.0.scopeSpans'


async def test_runs_are_exported_and_imported(conductor: Conductor, local_conductor: Conductor):
    run = await run_to_end(conductor)
    bundle = b''.join([piece async for piece in conductor.export_bundle([run])])
    [imported] = await conductor.import_bundle(io.BytesIO(bundle))
    assert (imported.outcome, imported.id) == ('known', run)
    await conductor.delete(run)
    await conductor.purge(run)
    read: list[int] = []
    [new] = await conductor.import_bundle(io.BytesIO(bundle), progress=read.append)
    assert (new.outcome, new.id, read[-1] > 0) == ('new', run, True)
    with pytest.raises(BundleError) as raised:
        await conductor.import_bundle(io.BytesIO(b'nonsense'))
    assert raised.value.problem


async def test_a_run_is_saved_as_a_test(conductor: Conductor, local_conductor: Conductor):
    run = await run_to_end(conductor, 'pipeline')
    test = await conductor.save_test(run)
    assert test == await local_conductor.save_test(run)
    before = (await conductor.runs()).total
    assert (await conductor.check(test)).passed
    assert (await conductor.runs()).total == before
    await conductor.datasets.save('tea', test.cases)
    (case,) = await conductor.datasets.cases('tea')
    assert case.recording is None and (await conductor.info(case.source)).usage.total
    result = await conductor.experiment(replace(test.experiment, dataset='tea'))
    assert [score.value for score in result.cells[0].scores.values()] == [1, 1, 1]


async def test_a_pattern_is_rehearsed(conductor: Conductor, local_conductor: Conductor):
    rehearsal = await conductor.rehearse('pipeline', {'max_iterations': 1})
    assert rehearsal == await local_conductor.rehearse('pipeline', {'max_iterations': 1})
    assert rehearsal.errors == () and {state.path for state in rehearsal.states if state.ends} == {
        'complete',
        'failed',
    }
    with pytest.raises(UnknownPattern):
        await conductor.rehearse('nothing')
    with pytest.raises(InvalidInput, match='max_iterations'):
        await conductor.rehearse('pipeline', {'max_iterations': 99})


async def test_files_are_read(conductor: Conductor, local_conductor: Conductor):
    run = await run_to_end(conductor)
    with pytest.raises(WorkspaceError):
        await conductor.workspaces.content(run, '0' * 64)
    assert await conductor.workspaces.diff(run, '', '') == []
    assert isinstance(await conductor.info(run), RunInfo)
    assert replace(await conductor.info(run)) == await local_conductor.info(run)


async def test_a_client_reports_a_missing_server(tmp_path: Path):
    from engine.errors import JournalUnavailable

    with pytest.raises(JournalUnavailable, match='no server answers'):
        async with HttpConductor('http://127.0.0.1:9', patience=0.0):
            pass
    with pytest.raises(InvalidInput, match='server'):
        HttpConductor('not an address')
