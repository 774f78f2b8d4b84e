"""The fork and variants pages, in a simulated browser."""

from engine.acp import ExternalAgents
from engine.acp.known_agents import ExternalAgent
from engine.errors import JournalUnavailable
from tests.pages.app.test_runs import keep
from tests.support.harness import complete_run
from tests.support.pages.clicks import click
from ui.web.pages.fork import page as fork_page
from ui.web.pages.fork.variants import page as variants

IN_GROUP = {'options': {'group': 'variants-abc'}, 'tags': ('variants-abc',)}


async def test_a_winner_that_could_not_be_marked_is_not_shown(pages, backend, conductor, monkeypatch):
    variants.register(backend)
    await keep(conductor, 1, **IN_GROUP)
    await keep(conductor, 2, **IN_GROUP)

    async def refuse(run):
        raise JournalUnavailable('the disk is full')

    monkeypatch.setattr(conductor, 'mark_winner', refuse)
    await pages.open('/variants/variants-abc')
    await pages.should_see('2 variants')
    click(pages, 'Pick as winner')
    await pages.should_see('the disk is full')
    await pages.should_not_see('is now tagged')


async def test_one_remaining_variant_is_counted_in_the_singular(pages, backend, conductor):
    variants.register(backend)
    await keep(conductor, 1, **IN_GROUP)
    await pages.open('/variants/variants-abc')
    await pages.should_see('1 variant')
    await pages.should_not_see('1 variants')


async def test_a_fork_that_keeps_later_steps_says_which_and_why(pages, backend, conductor):
    fork_page.register(backend)
    run = await complete_run(conductor, 'pipeline', {'task': 'Tea or coffee?'})
    await pages.open(f'/runs/{run}/fork?at=1')
    await pages.should_see('Step 2 is an immediate consequence of step 1 and is kept with it.')
    await pages.open(f'/runs/{run}/fork?at=2')
    await pages.should_not_see('immediate consequence')


async def test_a_fork_shows_its_agents_permissions(pages, backend, conductor):
    fork_page.register(backend)
    mine = ExternalAgent(name='mine', command='sh', sandboxed=False)
    conductor.catalog.agents = conductor.catalog.registry.agents = ExternalAgents({'mine': mine})
    task, models = {'task': 'Tea or coffee?'}, {'': 'agent:mine'}
    run = (await conductor.start('pipeline', task, models=models, paused=True)).id
    await pages.open(f'/runs/{run}/fork?at=1')
    await pages.should_see('agent:mine: It runs without a sandbox', retries=30)
