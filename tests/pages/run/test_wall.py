"""The wall: agents of all picked runs side by side, answered in place."""

from tests.support.clicks import click
from tests.support.harness import turns

TASK = 'Compare tea and coffee'
OFTEN = 200
"""Looks of a page's user, a tenth of a second apart, until what it should see is missed."""


async def started(conductor, *titles):
    return [
        (await conductor.start('pipeline', {'task': TASK}, title=title, approvals='all')).id
        for title in titles
    ]


async def test_agents_of_several_runs_stand_side_by_side_and_are_answered_there(pages, conductor):
    runs = await started(conductor, 'First', 'Second')
    await pages.open('/wall')
    await pages.should_see('2 agents · 2 waiting for you', retries=OFTEN)
    for title in ('First', 'Second'):
        await pages.should_see(title)
    await pages.should_see('Allow researcher to use', retries=OFTEN)
    before = [(await conductor.info(run)).seq for run in runs]
    click(pages, 'Allow once')
    async for _ in turns():
        after = [(await conductor.info(run)).seq for run in runs]
        if after != before:
            break
    assert sum(new > old for new, old in zip(after, before, strict=True)) == 1


async def test_a_run_is_taken_off_the_wall_and_put_back(pages, conductor):
    await started(conductor, 'First', 'Second')
    await pages.open('/wall')
    await pages.should_see('2 agents', retries=OFTEN)
    click(pages, 'Second')
    await pages.should_see('1 agent · 1 waiting for you', retries=OFTEN)
    click(pages, 'Second')
    await pages.should_see('2 agents', retries=OFTEN)


async def test_an_empty_wall_says_what_to_do(pages, conductor):
    await pages.open('/wall')
    await pages.should_see('No agent is at work', retries=OFTEN)
