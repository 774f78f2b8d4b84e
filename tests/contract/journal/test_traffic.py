"""Path statistics in every journal: stored per run, and their totals."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import UnknownRun
from engine.history.path_statistics import refresh_paths
from engine.journal.memory_journal import MemoryJournal
from engine.journal.protocol import Journal
from engine.records import (
    RULES,
    Dwell,
    Edge,
    Event,
    PathStats,
    RunId,
    RunInfo,
    RunQuery,
    Shape,
    StatePath,
    Status,
    Traffic,
    Transition,
)
from tests.contract.journal.test_journal import list_runs
from tests.support.charts.shapes import state

SHAPE = Shape(
    pattern='loop',
    title='Loop',
    initial=StatePath('a'),
    states=(
        state('a'),
        state('b', 'compound'),
        state('b.x'),
        state('end', 'final'),
        state('bad', 'final', outcome='failed'),
    ),
    edges=(),
)
OTHER = replace(SHAPE, states=SHAPE.states[:3])


@dataclass
class History:
    """A run that is journaled step by step."""

    journal: Journal
    info: RunInfo
    time: float = 100.0
    active: tuple[StatePath, ...] = ()
    steps: list[Transition] = field(default_factory=list)
    stored: int = 0
    """Number of the steps that are journaled."""

    @classmethod
    async def begin(cls, journal: Journal, name: str, shape: Shape = SHAPE, **fields: Any) -> History:
        plain: dict[str, Any] = {'id': RunId(name), 'pattern': 'loop', 'title': name, 'created': 1.0}
        await journal.create(RunInfo(**(plain | fields)), shape)
        return cls(journal, await journal.claim(RunId(name), 'me'))

    def take(
        self, name: str, source: str = '', dest: str = '', *, after: float = 1.0, raised: bool = False,
        at: str | None = None, status: Status | None = None, data: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Take a step `after` seconds later; with `dest`, it leads from `source` to `dest`."""
        self.time += after
        left_states, entered = (_list_ancestry(source), _list_ancestry(dest)[::-1]) if dest else ((), ())
        if dest:
            self.active = (StatePath(dest),)
        step = Transition(
            run=self.info.id,
            seq=self.info.seq + 1,
            time=self.time,
            event=Event(name=name, at=StatePath(source if at is None else at), data=data or {}),
            raised=raised,
            left=left_states,
            entered=entered,
            active=self.active,
            edges=(Edge(source=StatePath(source or '[*]'), dest=dest),) if dest else (),
        )
        self.steps.append(step)
        self.info = replace(self.info, seq=step.seq, status=status or self.info.status)

    async def store(self) -> None:
        """Journal the steps taken since the last time."""
        await self.journal.append(self.info, self.steps[self.stored :])
        self.stored = len(self.steps)

    async def go(self, *step: str, **fields: Any) -> None:
        """Take a step, and journal it."""
        self.take(*step, **fields)
        await self.store()


def _list_ancestry(path: str) -> tuple[StatePath, ...]:
    """Return a state and its ancestors, innermost first."""
    return (StatePath(path), *_list_ancestry(path.rpartition('.')[0])) if path else ()


async def survey(journal: Journal, **query: Any) -> Traffic:
    assert await refresh_paths(journal, RunQuery(**query)) == {}
    assert await journal.outdated_runs(RunQuery(**query)) == []
    return await journal.traffic(RunQuery(**query))


async def run_loop(journal: Journal, name: str, *, rounds: int = 1, **fields: Any) -> History:
    """Go from a to b.x and back `rounds` times, and then to the end."""
    run = await History.begin(journal, name, **fields)
    run.take('start', '', 'a')
    for _ in range(rounds):
        run.take('done', 'a', 'b.x', after=2.0)
        run.take('done', 'b.x', 'a', after=3.0)
    run.take('done', 'a', 'end', status=Status.DONE)
    await run.store()
    return run


def edges(traffic: Traffic) -> dict[str, tuple[int, int]]:
    return {f'{edge.source}>{edge.dest}': (edge.times, edge.runs) for edge in traffic.edges}


# Counting


async def test_without_runs_there_is_no_traffic(journal: Journal) -> None:
    assert await survey(journal) == Traffic()


async def test_edges_visits_and_seconds_are_added_up(journal: Journal) -> None:
    await run_loop(journal, 'one')
    await run_loop(journal, 'three', rounds=3)
    statistics = await survey(journal)
    assert (statistics.runs, statistics.statuses, statistics.shapes) == (2, {'done': 2}, ((SHAPE, 2),))
    assert edges(statistics) == {'[*]>a': (2, 2), 'a>b.x': (4, 2), 'a>end': (2, 2), 'b.x>a': (4, 2)}
    inner = next(one for one in statistics.states if one.path == 'b.x')
    assert (inner.runs, inner.visits, inner.repeated, inner.most) == (2, 4, 1, 3)
    assert (inner.seconds, inner.median, inner.p90) == (12.0, 3.0, 9.0)
    around = next(one for one in statistics.states if one.path == 'b')
    assert (around.visits, around.seconds) == (4, 12.0)
    assert [one.path for one in statistics.states] == ['a', 'b', 'b.x', 'end']


async def test_pauses_and_time_without_a_process_are_not_counted(journal: Journal) -> None:
    run = await History.begin(journal, 'one')
    await run.go('start', '', 'a')
    await run.go('pause', after=2.0)
    await run.go('resume', after=50.0)
    await run.go('recover', after=70.0)
    await run.go('done', 'a', 'end', after=4.0, status=Status.DONE)
    (place, _) = (await survey(journal)).states
    assert (place.path, place.seconds) == ('a', 6.0)


async def test_failures_are_counted_where_they_happened(journal: Journal) -> None:
    run = await History.begin(journal, 'one')
    await run.go('start', '', 'a')
    await run.go('expired', 'a', 'b.x')
    await run.go('failed', 'b.x', 'a')
    await run.go('done', 'a', 'b.x')
    await run.go('failed', 'b.x', 'bad', status=Status.FAILED)
    states = {place.path: place for place in (await survey(journal)).states}
    counts = {path: (one.failed, one.expired, one.fell, one.troubled) for path, one in states.items()}
    assert counts == {'a': (0, 1, 0, 1), 'b.x': (2, 0, 1, 1), 'b': (0, 0, 1, 1), 'bad': (0, 0, 0, 0)}


async def test_a_failure_that_ends_the_run_is_counted_in_its_state(journal: Journal) -> None:
    run = await History.begin(journal, 'one')
    await run.go('start', '', 'b.x')
    await run.go('failed', 'b.x', 'a')
    await run.go('always', 'a', 'bad', raised=True, status=Status.FAILED)
    failures = {place.path: place.fell for place in (await survey(journal)).states}
    assert failures == {'a': 1, 'b': 1, 'b.x': 1, 'bad': 0}


async def test_a_fork_counts_from_where_it_left_its_parent(journal: Journal) -> None:
    parent = await run_loop(journal, 'parent')
    child = RunInfo(id=RunId('child'), pattern='loop', title='', parent=parent.info.id, parent_at=2)
    await journal.fork(child, SHAPE)
    fork = History(journal, await journal.claim(child.id, 'me'), time=102.0, active=(StatePath('b.x'),))
    await fork.go('recover')
    await fork.go('done', 'b.x', 'end', after=5.0, status=Status.DONE)
    statistics = await survey(journal)
    assert edges(statistics) | {'[*]>a': (1, 1), 'b.x>end': (1, 1), 'a>b.x': (1, 1)} == edges(statistics)
    inner = next(one for one in statistics.states if one.path == 'b.x')
    assert (inner.runs, inner.visits, inner.seconds) == (2, 1, 3.0 + 5.0)
    assert (statistics.forks, statistics.inherited) == (1, 2)
    alone = await journal.traffic(RunQuery(state='a'))
    assert (alone.runs, alone.forks, alone.inherited) == (1, 0, 0)


async def test_the_usual_chart_comes_first(journal: Journal) -> None:
    await run_loop(journal, 'b', shape=OTHER, created=9.0)
    for name in ('a', 'c'):
        await run_loop(journal, name)
    assert (await survey(journal)).shapes == ((SHAPE, 2), (OTHER, 1))


# Path statistics


async def test_path_statistics_are_extended_incrementally(journal: Journal) -> None:
    run = await History.begin(journal, 'one')
    await run.go('start', '', 'a')
    await run.go('failed', 'a', 'b.x')
    await survey(journal)
    path_stats = await journal.path_stats(run.info.id)
    assert path_stats is not None and path_stats.seq == 2 and path_stats.rest
    await run.go('always', 'b.x', 'bad', raised=True, after=4.0, status=Status.FAILED)
    assert await journal.outdated_runs(RunQuery()) == ['one']
    piecewise = await survey(journal)
    (whole,) = [await journal.path_stats(run.info.id)]
    second_journal = MemoryJournal()
    await second_journal.create(replace(run.info, seq=0, epoch=0, status=Status.RUNNING), SHAPE)
    await second_journal.append(replace(run.info, epoch=0), run.steps)
    assert replace(await survey(second_journal), unread={}) == piecewise
    assert whole == await second_journal.path_stats(run.info.id)
    assert whole is not None and not whole.rest  # no step follows the end


async def test_what_a_state_uses_counts_for_those_around_it_too(journal: Journal) -> None:
    run, usage = await History.begin(journal, 'one'), {'input': 5, 'output': 2, 'calls': 1, 'dollars': 0.5}
    await run.go('start', '', 'b.x')
    for price in ({}, {'unpriced': 1}):
        await run.go('done', 'b.x', 'a', data={'model': 'm', 'usage': usage | price})
        await run.go('failed', 'a', 'b.x')
        await survey(journal)  # continued from here
        stats = await journal.path_stats(run.info.id)
        assert stats is not None
        used = [
            (stats.stays[path].tokens, stats.stays[path].dollars)
            for path in map(StatePath, ('b', 'b.x', 'a'))
        ]
        assert used == [(14, None), (14, None), (0, 0)] if price else [(7, 0.5), (7, 0.5), (0, 0)]


async def test_a_run_that_lacks_steps_is_named_instead_of_read_for_ever() -> None:
    journal = MemoryJournal()
    await journal.create(RunInfo(id=RunId('one'), pattern='loop', title='one', created=1.0, seq=2), SHAPE)
    async with asyncio.timeout(10):
        unread = await refresh_paths(journal, RunQuery())
    assert 'step 1 of run one is missing' in unread[RunId('one')]


async def test_only_runs_with_new_steps_are_due(journal: Journal) -> None:
    first, second = await run_loop(journal, 'first'), await History.begin(journal, 'second', created=2.0)
    assert await journal.outdated_runs(RunQuery()) == ['first']  # the second has no step yet
    await second.go('start', '', 'a')
    assert await journal.outdated_runs(RunQuery()) == ['second', 'first']
    assert await journal.outdated_runs(RunQuery(status=(Status.DONE,))) == ['first']
    unfiltered = RunQuery(offset=1, limit=1, edges=('x>y',), state='z')
    assert await journal.outdated_runs(unfiltered) == ['second', 'first']
    await refresh_paths(journal, RunQuery(status=(Status.DONE,)))
    assert await journal.outdated_runs(RunQuery()) == ['second']
    assert await journal.path_stats(second.info.id) is None
    assert await journal.path_stats(first.info.id) is not None


async def test_path_statistics_from_older_rules_are_recomputed(journal: Journal) -> None:
    run = await run_loop(journal, 'one')
    old = PathStats(seq=9, edges={(StatePath('no'), 'more'): 1}, rules=RULES - 1)
    await journal.store_path_stats({run.info.id: old})
    assert await journal.path_stats(run.info.id) is None
    assert await journal.outdated_runs(RunQuery()) == ['one']
    assert 'no>more' not in edges(await survey(journal))


async def test_path_statistics_are_never_shortened_or_stored_without_their_run(journal: Journal) -> None:
    run = await run_loop(journal, 'one')
    await survey(journal)
    path_stats = await journal.path_stats(run.info.id)
    await journal.store_path_stats({run.info.id: PathStats(seq=1), RunId('nobody'): PathStats(seq=1)})
    assert await journal.path_stats(run.info.id) == path_stats
    with pytest.raises(UnknownRun):
        await journal.path_stats(RunId('nobody'))


async def test_path_statistics_are_deleted_with_their_run(journal: Journal) -> None:
    run, _ = await run_loop(journal, 'one'), await run_loop(journal, 'other')
    await survey(journal)
    await journal.delete(run.info.id)
    assert (await journal.traffic(RunQuery())).runs == 1
    assert edges(await journal.traffic(RunQuery()))['a>end'] == (1, 1)
    await run_loop(journal, 'one', rounds=2)
    assert await journal.outdated_runs(RunQuery()) == ['one']


async def test_a_survey_reports_progress_and_keeps_its_results(journal: Journal) -> None:
    for number in range(45):
        await run_loop(journal, f'run{number}', created=float(number))

    class Enough(Exception):
        """Stops the survey."""

    progress: list[tuple[int, int]] = []

    def tell(done: int, of: int) -> None:
        progress.append((done, of))
        if len(progress) == 3:
            raise Enough

    with pytest.raises(Enough):
        await refresh_paths(journal, RunQuery(), tell)
    assert progress == [(0, 45), (20, 45), (40, 45)]
    assert len(await journal.outdated_runs(RunQuery())) == 5
    await refresh_paths(journal, RunQuery(), lambda done, of: progress.append((done, of)))
    assert progress[3:] == [(0, 5), (5, 5)]


# Lists and filters


async def test_runs_are_listed_by_edge_and_state(journal: Journal) -> None:
    await run_loop(journal, 'straight', rounds=0)
    await run_loop(journal, 'round', created=2.0)
    failed = await History.begin(journal, 'failed', created=3.0)
    await failed.go('start', '', 'a')
    await failed.go('failed', 'a', 'bad', status=Status.FAILED)
    await survey(journal)
    assert await list_runs(journal, edges=('a>end',)) == ['round', 'straight']
    assert await list_runs(journal, edges=('b.x>a',)) == ['round']
    assert await list_runs(journal, edges=('b.x',)) == []
    assert await list_runs(journal, edges=('b.x>a', 'a>bad')) == ['failed', 'round']
    assert await list_runs(journal, state='b') == ['round']
    assert await list_runs(journal, state='a') == ['failed', 'round', 'straight']
    assert await list_runs(journal, state='a', trouble=True) == ['failed']
    assert await list_runs(journal, state='a', edges=('a>end',), limit=1) == ['round']
    assert (await journal.runs(RunQuery(state='a', limit=1))).total == 3
    assert (await journal.traffic(RunQuery(edges=('b.x>a',)))).runs == 1


async def test_traffic_counts_only_matching_runs(journal: Journal) -> None:
    await run_loop(journal, 'a', created=1.0, tags=('x',))
    await run_loop(journal, 'b', created=2.0, rounds=5, tags=('y',))
    await run_loop(journal, 'c', created=3.0, rounds=2, tags=('x',), title='Zebra')
    await survey(journal)

    async def loops(**query: Any) -> int:
        return edges(await journal.traffic(RunQuery(**query))).get('b.x>a', (0, 0))[0]

    assert await loops() == await loops(limit=1, offset=2) == 8
    assert await loops(tag='x') == 3
    assert await loops(since=2.0) == 7
    assert await loops(until=2.0) == 1
    assert await loops(text='zebr') == 2
    assert await loops(status=(Status.FAILED,)) == await loops(pattern='other') == 0


# Random histories


PATHS = ('a', 'b.x', 'bad', 'c')
STEPS = st.lists(
    st.tuples(
        st.sampled_from(['done', 'failed', 'expired', 'pause', 'resume', 'recover', 'edit', 'retry']),
        st.sampled_from(PATHS),
        st.sampled_from([0.0, 0.5, 3.0]),
        st.booleans(),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=st.lists(st.tuples(STEPS, STEPS), min_size=1, max_size=4))
async def test_traffic_matches_a_manual_count(journal: Journal, runs: Any) -> None:
    """Histories surveyed in two pieces add up to the sum of all steps."""
    for number in range((await journal.runs(RunQuery(limit=0))).total):
        await journal.delete(RunId(f'r{number}'))
    histories = [await History.begin(journal, f'r{number}') for number in range(len(runs))]
    for part in (0, 1):
        for history, parts in zip(histories, runs, strict=True):
            take_steps(history, parts[part])
            await history.store()
        await survey(journal)
    traffic = await journal.traffic(RunQuery())
    by_hand = [count_by_hand(history.steps) for history in histories]
    assert edges(traffic) == {
        name: (sum(entry[0][name] for entry in by_hand), sum(name in entry[0] for entry in by_hand))
        for name in {name for item in by_hand for name in item[0]}
    }
    for place in traffic.states:
        stays = [item[1][place.path] for item in by_hand if place.path in item[1]]
        times = sorted(stay.seconds for stay in stays)
        assert (place.runs, place.visits) == (len(stays), sum(stay.visits for stay in stays))
        assert (place.failed, place.expired) == (sum(s.failed for s in stays), sum(s.expired for s in stays))
        assert place.fell == sum(stay.fell for stay in stays)
        assert (place.median, place.p90) == tuple(times[math.ceil(len(times) * q) - 1] for q in (0.5, 0.9))
        assert place.seconds == pytest.approx(sum(times))
    assert {place.path for place in traffic.states} == {path for item in by_hand for path in item[1]}


def take_steps(history: History, steps: Sequence[tuple[str, str, float, bool]]) -> None:
    for name, dest, after, raised in steps:
        if history.active == ('bad',):
            return  # it has failed permanently
        source = history.active[0] if history.active else ''
        if not source:
            history.take('start', '', 'a', after=after)
        elif name in ('done', 'failed', 'expired'):
            status = Status.FAILED if dest == 'bad' else None
            history.take(name, source, dest, after=after, raised=raised, status=status)
        else:
            history.take(name, source, after=after, at='')


def count_by_hand(steps: Sequence[Transition]) -> tuple[Counter[str], dict[str, Dwell]]:
    """Count the edges and visits of a history naively."""
    by_path: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seconds: defaultdict[str, float] = defaultdict(float)
    for number, step in enumerate(steps):
        for path in step.entered:
            by_path[path]['visits'] += 1
        if step.event.name in ('failed', 'expired'):
            by_path[step.event.at][step.event.name] += 1
        stops = [one.event.name for one in steps[:number] if one.event.name in ('pause', 'resume')]
        if number and step.event.name != 'recover' and stops[-1:] != ['pause']:
            for path in {path for leaf in steps[number - 1].active for path in _list_ancestry(leaf)}:
                seconds[path] += step.time - steps[number - 1].time
    if steps and steps[-1].active == ('bad',):
        first = max(number for number, step in enumerate(steps) if not step.raised)
        for path in {path for step in steps[first:] for path in step.left}:
            by_path[path]['fell'] = 1
    counts = Counter(f'{edge.source}>{edge.dest}' for step in steps for edge in step.edges)
    return counts, {
        path: Dwell(**by_path[path], seconds=seconds[path])
        for path in {*by_path} | {p for p in seconds if seconds[p]}
    }
