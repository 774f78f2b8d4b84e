"""The list of panes: a new pane of the run page is one class and one line."""

import pytest
from nicegui import ui

from tests.support.harness import PIPELINE_TASK, complete_run
from tests.support.pages.clicks import click, press_labelled, see
from ui.web.pages.run import panes
from ui.web.pages.run.pane import Moment, Pane, Panel, RunPage


class Pulse(Pane):
    """Says at each pace which step it was shown."""

    place = 'head'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._followed, self._stepped, self._shown = ui.label(), ui.label(), ui.label()

    def follow(self, moment: Moment) -> None:
        self._followed.set_text(f'followed to {moment.view.seq}')

    def show_step(self, moment: Moment) -> None:
        self._stepped.set_text(f'stepped to {moment.view.seq} of {moment.newest.seq}')

    def show(self, moment: Moment) -> None:
        self._shown.set_text(f'shown {"now" if moment.live else "then"}')


class Rhythm(Panel):
    """A tab of its own."""

    title = 'Rhythm'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._opened = ui.label('closed')

    def open(self, opened: bool) -> None:
        self._opened.set_text('in sight' if opened else 'closed')


@pytest.fixture
def with_run_page() -> bool:
    return True


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panes, 'PANES', (*panes.PANES, Pulse, Rhythm))


async def test_a_pane_that_is_listed_is_drawn_and_handed_each_moment(pages, conductor):
    run = await complete_run(conductor, 'pipeline', PIPELINE_TASK)
    last = (await conductor.info(run)).seq
    await pages.open(f'/runs/{run}')
    await see(pages, f'followed to {last}', f'stepped to {last} of {last}', 'shown now')
    press_labelled(pages, 'Previous step (←)')
    await see(pages, f'followed to {last - 1}', f'stepped to {last - 1} of {last}', 'shown then', retries=20)


async def test_a_panel_that_is_listed_has_a_tab_with_an_address(pages, conductor):
    run = await complete_run(conductor, 'pipeline', PIPELINE_TASK)
    await pages.open(f'/runs/{run}')
    await see(pages, 'Rhythm')
    click(pages, 'Rhythm')
    await see(pages, 'in sight')
    await pages.open(f'/runs/{run}/rhythm')
    await see(pages, 'in sight')
