"""The wall: agents of all picked runs side by side, answered in place."""

from tests.support.harness import turns
from tests.support.pages.clicks import click, press, see
from ui.formatting.steps import time_of_day
from ui.web.components.widgets import Text

TASK = 'Compare tea and coffee'
MAX_LOOKS = 200
"""Maximum number of looks at a page, a tenth of a second apart, before an expected text counts as missing."""


async def start_runs(conductor, *titles):
    return [
        (await conductor.start('pipeline', {'task': TASK}, title=title, approvals='all')).id
        for title in titles
    ]


def titles(pages):
    """Return the titles of the runs that have panes, in order."""
    panes = [element for element in pages.client.elements.values() if 'wall-run' in element.classes]
    return [
        next(element.text for element in pane.descendants() if isinstance(element, Text)) for pane in panes
    ]


async def test_agents_of_several_runs_are_shown_and_answered_side_by_side(pages, conductor):
    runs = await start_runs(conductor, 'First', 'Second')
    await pages.open('/wall')
    await pages.should_see('2 agents · 2 waiting for you', retries=MAX_LOOKS)
    await see(pages, 'First', 'Second')
    await pages.should_see('Allow researcher to use', retries=MAX_LOOKS)
    before = [(await conductor.info(run)).seq for run in runs]
    click(pages, 'Allow once')
    async for _ in turns():
        after = [(await conductor.info(run)).seq for run in runs]
        if after != before:
            break
    assert sum(new > old for new, old in zip(after, before, strict=True)) == 1


async def test_a_run_is_removed_from_the_wall_and_added_again(pages, conductor):
    await start_runs(conductor, 'First', 'Second')
    await pages.open('/wall')
    await pages.should_see('2 agents', retries=MAX_LOOKS)
    click(pages, 'Second')
    await pages.should_see('1 agent · 1 waiting for you', retries=MAX_LOOKS)
    click(pages, 'Second')
    await pages.should_see('2 agents', retries=MAX_LOOKS)


async def test_a_rename_on_another_page_reaches_the_wall_and_equal_titles_say_when_they_started(
    pages, conductor
):
    first, second = await start_runs(conductor, 'Same', 'Same')
    await pages.open('/wall')
    await see(pages, '2 agents', time_of_day((await conductor.info(second)).created), retries=MAX_LOOKS)
    await conductor.annotate(first, title='Renamed')
    async for _ in turns():
        if sorted(titles(pages)) == ['Renamed', 'Same']:
            break
    assert sorted(titles(pages)) == ['Renamed', 'Same']


async def test_a_run_deleted_on_another_page_leaves_the_wall(pages, conductor):
    first, _ = await start_runs(conductor, 'First', 'Second')
    await pages.open('/wall')
    await pages.should_see('2 agents', retries=MAX_LOOKS)
    await conductor.cancel(first, 'enough')
    await conductor.delete(first)
    await pages.should_see('1 agent · 1 waiting for you', retries=MAX_LOOKS)
    assert titles(pages) == ['Second']


async def test_an_empty_wall_says_what_to_do(pages, conductor):
    await pages.open('/wall')
    await pages.should_see('No agents are working', retries=MAX_LOOKS)


async def test_agents_of_ended_runs_make_room_for_active_ones(pages, conductor):
    runs = await start_runs(conductor, *(f'Run {number}' for number in range(1, 13)))
    await pages.open('/wall')
    await pages.should_see('12 agents · 12 waiting for you', retries=MAX_LOOKS)
    await conductor.cancel(runs[0], 'enough')
    await pages.should_see('12 agents · 11 waiting for you', retries=MAX_LOOKS)  # it keeps its pane for now
    await start_runs(conductor, 'Run 13')
    await see(pages, '12 agents · 12 waiting for you', 'Run 13', retries=MAX_LOOKS)
    async for _ in turns():
        if 'Run 1' not in titles(pages):
            break
    assert titles(pages)[-1:] == ['Run 13']


async def test_closing_a_maximized_pane_shows_the_others(pages, conductor):
    await start_runs(conductor, 'First', 'Second')
    await pages.open('/wall')
    await pages.should_see('2 agents', retries=MAX_LOOKS)
    grid = next(element for element in pages.client.elements.values() if 'wall' in element.classes)
    buttons = [element for element in grid.descendants() if element.props.get('aria-label') == 'Enlarge pane']
    enlarge = buttons[titles(pages).index('Second')]
    press(pages, enlarge)
    async for _ in turns():
        if 'one' in grid.classes:
            break
    click(pages, 'Second')
    await pages.should_see('1 agent · 1 waiting for you', retries=MAX_LOOKS)
    assert 'one' not in grid.classes
