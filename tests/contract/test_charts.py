"""Charts that are files, and runs of their versions, in this process and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import current_thread, main_thread

import pytest

from engine import Conductor, InvalidInput, LocalConductor, Status
from engine.charts import ChartPattern, load_chart
from engine.charts.library import ChartLibrary, library
from engine.errors import EntryChanged, UnknownPattern
from engine.journal import MemoryJournal
from engine.records import RunId, RunQuery
from engine.runtime import acting_as
from tests.support.charts.files import chart_text
from tests.support.harness import FakeModel, catalog

ONE, TWO = chart_text('first'), chart_text('second')


async def states(conductor: Conductor, run: RunId) -> list[str]:
    return [str(path) for path in (await conductor.view(run)).active]


async def test_a_chart_is_checked_saved_read_and_run(conductor: Conductor) -> None:
    wrong = await conductor.charts.check(chart_text('first', start='nowhere'), 'ask')
    (problem,) = wrong.problems
    assert problem.line == 7 and "no state 'nowhere'" in problem.problem and wrong.shape is None
    right = await conductor.charts.check(ONE)
    assert right.problems == () and right.shape and right.shape.initial == 'first'
    assert await conductor.charts.list() == []
    saved = await conductor.charts.save('ask', ONE, note='as agreed')
    assert (saved.number, saved.note, saved.current) == (1, 'as agreed', True)
    text = await conductor.charts.get('ask')
    assert (text.text, text.version, text.saved) == (ONE, saved.version, saved)
    (info,) = await conductor.charts.list()
    assert (info.name, info.version, info.faults) == ('ask', saved, ())
    run = (await conductor.start('ask')).id
    assert (await conductor.info(run)).version == saved.version
    await conductor.send(run, 'go')
    assert (await conductor.result(run)).status is Status.DONE


async def test_a_file_that_is_edited_elsewhere_is_noticed_when_it_is_needed(
    conductor: Conductor, tmp_path: Path
) -> None:
    file = tmp_path / 'charts' / 'ask.chart.yaml'
    file.parent.mkdir()
    file.write_text(ONE, 'utf-8')
    assert await states(conductor, (await conductor.start('ask')).id) == ['first']
    file.write_text(TWO, 'utf-8')
    assert await states(conductor, (await conductor.start('ask')).id) == ['second']
    file.write_text(chart_text('third', start='nowhere'), 'utf-8')
    (info,) = await conductor.charts.list()
    assert [fault.line for fault in info.faults] == [7] and info.version and info.version.number == 2
    assert await states(conductor, (await conductor.start('ask')).id) == ['second']
    file.unlink()
    with pytest.raises(UnknownPattern):
        await conductor.start('ask')


async def test_what_is_wrong_is_not_saved(conductor: Conductor) -> None:
    with pytest.raises(InvalidInput) as refused:
        await conductor.charts.save('ask', chart_text('first', start='nowhere'))
    assert list(refused.value.problems) == ['ask.chart.yaml:7']
    with pytest.raises(InvalidInput, match="must be 'other', as the file is called"):
        await conductor.charts.save('other', ONE)
    with pytest.raises(InvalidInput, match="the pattern 'lone' has this name"):
        await conductor.charts.save('lone', chart_text('first', name='lone'))
    assert await conductor.charts.list() == []
    with pytest.raises(UnknownPattern):
        await conductor.charts.get('ask')


async def test_a_run_keeps_its_version_when_another_is_saved(conductor: Conductor) -> None:
    one = await conductor.charts.save('ask', ONE)
    old = (await conductor.start('ask')).id
    two = await conductor.charts.save('ask', TWO, base=one.version)
    with pytest.raises(EntryChanged):
        await conductor.charts.save('ask', chart_text('third'), base=one.version)
    new, same = (await conductor.start('ask')).id, (await conductor.start('ask', version=one.version)).id
    assert [await states(conductor, run) for run in (old, new, same)] == [['first'], ['second'], ['first']]
    fork = await conductor.fork(old, 1)
    assert await states(conductor, fork) == ['first']
    page = await conductor.runs(RunQuery(pattern='ask', version=one.version))
    assert {info.id for info in page.runs} == {old, same, fork}
    assert (await conductor.traffic(RunQuery(pattern='ask'))).versions == {one.version: 3, two.version: 1}
    for run in (old, new, same, fork):
        await conductor.send(run, 'go')
        assert await conductor.audit(run)


async def test_an_earlier_version_is_made_current_also_of_a_removed_chart(conductor: Conductor) -> None:
    one = await conductor.charts.save('ask', ONE)
    await conductor.charts.save('ask', TWO, base=one.version)
    assert (await conductor.charts.restore('ask', one.version)).current
    assert (await conductor.charts.get('ask')).text == ONE
    await conductor.charts.remove('ask')
    with pytest.raises(UnknownPattern):
        await conductor.start('ask')
    (removed,) = await conductor.charts.list()
    assert removed.removed and [each.number for each in await conductor.charts.versions('ask')] == [2, 1]
    await conductor.charts.restore('ask', one.version)
    assert await states(conductor, (await conductor.start('ask')).id) == ['first']
    with pytest.raises(UnknownPattern):
        await conductor.charts.versions('nothing')


async def test_a_version_says_who_saved_it(local_conductor: Conductor) -> None:
    with acting_as('ada'):
        await local_conductor.charts.save('ask', ONE)
    assert [each.author for each in await local_conductor.charts.versions('ask')] == ['ada']


@asynccontextmanager
async def process(journal: MemoryJournal, home: Path) -> AsyncIterator[LocalConductor]:
    """A process that works with these files and this journal."""
    own_catalog = catalog(FakeModel())
    ChartLibrary(own_catalog, home)
    async with LocalConductor(journal, catalog=own_catalog) as conductor:
        yield conductor


async def test_a_run_goes_on_with_its_version_after_a_save_and_a_restart(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with process(journal, tmp_path) as before:
        await before.charts.save('ask', ONE)
        run = (await before.start('ask')).id
    (tmp_path / 'ask.chart.yaml').write_text(TWO, 'utf-8')
    async with process(journal, tmp_path) as after:
        assert await after.recover() == [run]
        assert await states(after, (await after.start('ask')).id) == ['second']
        await after.send(run, 'go')
        assert (await after.result(run)).status is Status.DONE
        assert await after.audit(run)


async def test_earlier_versions_are_compiled_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, compiled = MemoryJournal(), list[bool]()
    async with process(journal, tmp_path) as before:
        one = await before.charts.save('ask', ONE)
        run = (await before.start('ask')).id
        await before.charts.save('ask', TWO, base=one.version)

    def load(text: str, *, name: str) -> type[ChartPattern]:
        compiled.append(current_thread() is main_thread())
        return load_chart(text, name=name)

    for use in (
        lambda conductor: conductor.recover(),
        lambda conductor: conductor.start('ask', version=one.version),
        lambda conductor: conductor.rehearse('ask', version=one.version),
        lambda conductor: conductor.accepts(run),
        lambda conductor: conductor.audit(run),
        lambda conductor: conductor.fork(run, 1),
    ):
        async with process(journal, tmp_path) as after:
            with monkeypatch.context() as patch:
                patch.setattr(library, 'load_chart', load)
                await use(after)
    assert compiled == [False] * 6


async def test_a_run_whose_version_is_gone_says_so_and_opens(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with process(journal, tmp_path) as before:
        one = await before.charts.save('ask', ONE)
        run = (await before.start('ask')).id
        await before.charts.save('ask', TWO, base=one.version)
    for file in (tmp_path / 'versions' / 'ask').glob('1-*'):
        file.unlink()
    async with process(journal, tmp_path) as after:
        assert await after.recover() == []
        gone = f"version {one.version} of 'ask' is gone"
        assert gone in after.stranded[run]
        for refused in (after.audit(run), after.fork(run, 1)):
            with pytest.raises(UnknownPattern, match=gone):
                await refused
        assert await states(after, run) == ['first']
        assert await after.accepts(run)
