"""Schedules of experiments, and who is notified of their ends and of regressions."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from engine import InvalidInput, LocalConductor
from engine.host.clock import settle
from engine.journal import Entry, EntryQuery
from engine.operations.experiments import Case, Experiment, ScorerSpec, Variant
from engine.operations.experiments.store import ExperimentStore
from engine.records import Launch, RunId
from engine.runtime.run_factory import acting_as
from tests.support.charts.echo import Echo
from tests.support.harness import HastyClock
from tests.unit.ui.app.services.test_notifications import Receiver, hook, send_all
from ui.app.services.schedules import Interval, Schedule, Schedules, ScheduleSpec, Tick
from ui.app.services.schedules.ticks import Source

CASES = [Case(id=f'case {n}', parameters={'answer': f'{n} loaves'}, expectation=str(n)) for n in range(12)]
LOAVES = Experiment(
    name='Loaves',
    dataset='loaves',
    base=Launch(pattern='echo', tags=('bread',)),
    variants=(Variant(name='as it is'),),
    scorers=(ScorerSpec(name='right', kind='contains'),),
)
HOUR = 3_600.0


@pytest.fixture
async def conductor() -> AsyncIterator[LocalConductor]:
    async with LocalConductor(clock=HastyClock()) as conductor:
        conductor.catalog.add(Echo)
        await conductor.datasets.save('loaves', CASES)
        yield conductor


def hourly(**values: Any) -> Schedule:
    given: dict[str, Any] = {
        'name': 'Nightly',
        'experiment': LOAVES,
        'spec': ScheduleSpec(intervals=(Interval(every=HOUR),)),
    }
    return Schedule(**(given | values))


async def is_over(conductor: LocalConductor, tick: Tick) -> Experiment:
    while not (stored := await conductor.experiments.get(tick.run)).is_over:
        await settle()
    return stored


async def test_a_schedule_starts_an_experiment_once_for_each_time(conductor: LocalConductor) -> None:
    schedules = Schedules(conductor)
    schedule = await schedules.add(hourly())
    tick = await schedules.run_now(schedule.id, key='one')
    again = await schedules.ticks.start(replace(tick, state='claimed'), LOAVES, Source('schedule', 'Nightly'))
    done = await is_over(conductor, tick)
    assert (tick.experiment, again.run, done.state) == (True, tick.run, 'done')
    assert [item.author for item in await conductor.experiments.list()] == ['schedule:Nightly']
    assert (await conductor.runs()).total == len(CASES)


async def test_what_a_schedule_starts_is_checked_when_it_is_stored(conductor: LocalConductor) -> None:
    schedules = Schedules(conductor)
    for values, field in (
        ({'experiment': None}, 'action'),
        ({'action': Launch(pattern='echo')}, 'action'),
        ({'experiment': replace(LOAVES, dataset='rolls')}, 'experiment.dataset'),
        ({'experiment': replace(LOAVES, split='none')}, 'experiment.split'),
    ):
        with pytest.raises(InvalidInput) as caught:
            await schedules.add(hourly(**values))
        assert [*caught.value.problems] == [field]


async def test_the_end_of_an_experiment_and_its_regression_are_notified_once(
    conductor: LocalConductor,
) -> None:
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    await notifications.destinations.add(
        hook(events=('experiment.done', 'experiment.regressed'), tag='bread')
    )
    schedules, broken = Schedules(conductor), [replace(case, expectation='none') for case in CASES]
    schedule = await schedules.add(hourly())
    for cases in (CASES, CASES, broken):  # the same, then all wrong
        version = (await conductor.datasets.save('loaves', cases)).versions[-1].id
        await schedules.change(schedule.id, experiment=replace(LOAVES, version=version))
        await is_over(conductor, await schedules.run_now(schedule.id))
        await notifications.process_experiments()
        await send_all(notifications)
    await notifications.process_experiments()
    sent = [(payload['type'], payload['data']) for payload in receiver.accepted]
    assert [event for event, _ in sent] == [*['experiment.done'] * 3, 'experiment.regressed']
    assert sent[-1][1]['text'].startswith('“as it is” is worse than last time by 1')
    assert sent[-1][1]['url'] == f'https://us.example/experiments/{sent[-2][1]["experiment"]}'


async def test_an_experiment_that_failed_is_notified_of_again_when_it_ends(conductor: LocalConductor) -> None:
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    await notifications.destinations.add(hook(events=('experiment.done',)))
    pattern = conductor.catalog.patterns.pop('echo')
    dataset = await conductor.datasets.get('loaves')
    lost = replace(LOAVES, id='lost', dataset=dataset.id, digest='d', ended=conductor.clock.now())
    await conductor.experiments._store.experiments.write([replace(lost, state='failed', reason='no pattern')])
    for _ in range(2):
        await notifications.process_experiments()
    conductor.catalog.add(pattern)
    await conductor.experiments.resume('lost')
    await is_over(conductor, Tick(id='t', source='s', due=0.0, state='started', run=RunId('lost')))
    for _ in range(2):
        await notifications.process_experiments()
    await send_all(notifications)
    texts = [payload['data']['text'] for payload in receiver.accepted]
    assert len(texts) == 2 and texts[0] == 'Failed: no pattern' and 'as it is' in texts[1]


async def test_a_mean_below_what_the_experiment_demands_is_a_regression(conductor: LocalConductor) -> None:
    wrong = replace(LOAVES, base=Launch(pattern='echo', parameters={'fails': True}))
    for experiment, text in (
        (replace(LOAVES, fail_under=1.0), ''),
        (replace(LOAVES, fail_under=1.5), '“as it is” scored 1 by right, worse than 1.5.'),
        (replace(wrong, fail_under=0.5), '“as it is” was not scored by right, and must reach 0.5.'),
    ):
        done = (await conductor.experiment(experiment)).experiment
        assert await conductor.experiments.regression(done) == text


@pytest.mark.parametrize(('private', 'is_worse'), [(False, True), (True, False)])
async def test_a_regression_is_not_told_from_what_is_private_to_somebody_else(
    conductor: LocalConductor, private: bool, is_worse: bool
) -> None:
    with acting_as('ada'):
        await conductor.experiment(replace(LOAVES, base=replace(LOAVES.base, private=private)))
    await conductor.datasets.save('loaves', [replace(case, expectation='none') for case in CASES])
    with acting_as('bob'):
        done = (await conductor.experiment(LOAVES)).experiment
    assert bool(await conductor.experiments.regression(done)) is is_worse


def reads_of(conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many experiments each look reads, from now on."""
    reads: list[int] = []
    documents = conductor.journal.documents
    find, get = documents.find, documents.get

    async def counting_find(query: EntryQuery) -> list[Entry]:
        entries = await find(query)
        reads.extend([len(entries)] * (query.kind == 'experiment'))
        return entries

    async def counting_get(kind: str, key: str) -> Entry | None:
        reads.extend([1] * (kind == 'experiment'))
        return await get(kind, key)

    monkeypatch.setattr(documents, 'find', counting_find)
    monkeypatch.setattr(documents, 'get', counting_get)
    return reads


async def test_a_look_for_ended_experiments_reads_the_new_and_the_open_ones(
    conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    await notifications.destinations.add(hook(events=('experiment.done',)))
    store = ExperimentStore(conductor.journal.documents).experiments
    now = conductor.clock.now()
    old = [replace(LOAVES, id=f'{n}', state='done', created=now - 1e6 + n, ended=now - 1) for n in range(300)]
    slow = replace(LOAVES, id='slow', state='paused', created=now)
    await store.write([*old, slow])
    assert await notifications.process_experiments() == 0, 'they had ended before anybody wanted to know'
    reads = reads_of(conductor, monkeypatch)
    assert await notifications.process_experiments() == 0 and sum(reads) < 20
    await store.change('slow', lambda stored: replace(stored, state='cancelled', ended=now + 5))
    quick = replace(LOAVES, id='quick', name='Quick', state='cancelled', created=now + 1, ended=now + 2)
    await store.write([quick])
    reads.clear()
    assert await notifications.process_experiments() == 2 and sum(reads) < 20
    assert await notifications.process_experiments() == 0
    assert await receiver.notifications(conductor).process_experiments() == 0, 'after a restart'


async def test_a_schedule_that_can_no_longer_start_says_so_and_can_still_be_paused(
    conductor: LocalConductor,
) -> None:
    receiver = Receiver()
    notifications, schedules = receiver.notifications(conductor), Schedules(conductor)
    await notifications.destinations.add(hook(events=('schedule.not_started',), tag='bread'))
    schedule = await schedules.add(hourly())
    first = await schedules.run_now(schedule.id)
    await is_over(conductor, first)
    await conductor.experiments.remove(first.run)
    assert (await schedules.run_now(schedule.id)).state == 'started', 'it has a copy of the experiment'
    assert (await schedules.get(schedule.id)).problem == '' and await notifications.process_schedules() == 0

    await conductor.datasets.remove('loaves')
    (listed,) = await schedules.list()
    assert listed.problem.startswith('the dataset of its experiment was removed')
    for sent in (1, 0):  # once for all times that go alike
        assert (await schedules.run_now(schedule.id)).reason == listed.problem
        assert await notifications.process_schedules() == sent
    await send_all(notifications)
    (payload,) = receiver.accepted
    assert payload['data']['text'].startswith('Nightly could not start: the dataset of its experiment')
    assert payload['data']['url'] == 'https://us.example/schedules'

    paused = await schedules.change(schedule.id, paused=True, name='Never')
    assert paused.paused
    with pytest.raises(InvalidInput, match='loaves'):
        await schedules.change(schedule.id, paused=False)
    del conductor.catalog.patterns['echo']
    await conductor.datasets.save('loaves', CASES)
    assert "'echo'" in (await schedules.get(schedule.id)).problem


async def test_a_night_that_is_skipped_for_the_one_before_is_told(conductor: LocalConductor) -> None:
    receiver = Receiver()
    nights = itertools.count(conductor.clock.now(), HOUR)
    moment = next(nights)
    notifications, schedules = receiver.notifications(conductor), Schedules(conductor, lambda: moment)
    await notifications.destinations.add(hook(events=('schedule.not_started',)))
    schedule = await schedules.add(hourly(experiment=replace(LOAVES, at_once=1)))
    tick = await schedules.run_now(schedule.id)
    await conductor.experiments.pause(tick.run)
    for sent in (1, 0):
        moment = next(nights)
        await schedules.check_due()
        assert await notifications.process_schedules() == sent
    skipped = (await schedules.log(schedule.id))[0]
    assert (skipped.state, skipped.reason) == (
        'skipped',
        f'the experiment before ({tick.run}, paused) was not done',
    )
    await conductor.experiments.resume(tick.run)
    await is_over(conductor, tick)
    moment = next(nights)
    await schedules.check_due()
    assert (await schedules.log(schedule.id))[0].state == 'started'
