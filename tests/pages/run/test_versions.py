"""Which version of its chart a run has, on its page."""

from pathlib import Path

from engine import LocalConductor
from engine.charts.library import ChartLibrary
from engine.journal import MemoryJournal
from tests.support.charts.files import chart_text
from tests.support.harness import FakeModel, catalog
from tests.support.pages.clicks import press_labelled, see
from tests.support.pages.serving import serve
from ui.web.pages.compare import page as compare
from ui.web.pages.run import page


def open_process(journal: MemoryJournal, home: Path) -> LocalConductor:
    own_catalog = catalog(FakeModel())
    ChartLibrary(own_catalog, home)
    return LocalConductor(journal, catalog=own_catalog)


async def test_a_run_says_which_version_it_has_also_if_that_is_gone(user, tmp_path):
    journal = MemoryJournal()
    before = open_process(journal, tmp_path)
    one = await before.charts.save('ask', chart_text('first'))
    run = (await before.start('ask')).id
    two = await before.charts.save('ask', chart_text('second'), base=one.version)
    other = (await before.start('ask')).id
    serve(before, page, compare)
    await user.open(f'/runs/{run}')
    press_labelled(user, 'More')
    await see(user, f'ask, version 1 ({one.version}), not the current one', 'Its chart')
    await user.open(f'/compare?a={run}&b={other}')
    await see(user, f'Different versions of ask: A {one.version}, B {two.version}.', 'Compare the charts')
    await before.close()
    for file in (tmp_path / 'versions' / 'ask').glob('1-*'):
        file.unlink()
    serve(open_process(journal, tmp_path), page)
    await user.open(f'/runs/{run}')
    await see(user, 'first')
    press_labelled(user, 'More')
    await see(user, f'ask, version {one.version}, which is gone; today it is {two.version}')
