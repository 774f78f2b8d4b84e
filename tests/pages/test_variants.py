"""The fork and variants pages, in a simulated browser."""

from engine.errors import JournalUnavailable
from engine.tools.acp import ExternalAgents
from engine.tools.acp.known_agents import ExternalAgent
from tests.pages.app.test_runs import keep
from tests.support.harness import complete_run
from tests.support.pages.clicks import click, control, enter, labelled, open_fold, press_labelled, see
from ui.web.components.elements import Combobox
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


async def test_a_variant_changes_memory_tools_and_effort_in_fields(pages, backend, conductor):
    fork_page.register(backend)
    run = await complete_run(conductor, 'pipeline', {'task': 'Tea or coffee?'})
    await pages.open(f'/runs/{run}/fork?at=6')
    for title in ('Memory', 'Tools by role', 'Reasoning effort by role'):
        open_fold(pages, title)
    assert isinstance(control(pages, 'Researcher'), Combobox)
    enter(pages, 'Iteration', 'many')
    click(pages, 'Start fork')
    await see(pages, 'Enter a whole number.')
    enter(pages, 'Iteration', '1')
    enter(pages, 'All roles', 'much')
    await see(pages, 'Enter one of none, minimal, low', retries=20)
    enter(pages, 'All roles', 'low')
    press_labelled(pages, 'Add entry: Drafts')
    with pages.client:
        labelled(pages, 'Messages, Entry 1, Content')[0].set_value('Look it up')
        labelled(pages, 'Drafts, Entry 1, Text')[0].set_value('My own draft')
    click(pages, 'Start fork')
    await pages.should_see('Here is run', retries=30)
    (fork,) = [info for info in (await conductor.runs()).runs if info.parent == run]
    view = await conductor.view(fork.id, 7)
    assert (view.memory['iteration'], view.memory['messages'][0]['content']) == (1, 'Look it up')
    assert view.memory['drafts'] == [{'version': 0, 'text': 'My own draft', 'answers': []}]
    assert fork.options['effort'] == {'': 'low'}


async def test_a_fork_shows_its_agents_permissions(pages, backend, conductor):
    fork_page.register(backend)
    mine = ExternalAgent(name='mine', command='sh', sandboxed=False)
    conductor.catalog.agents = conductor.catalog.registry.agents = ExternalAgents({'mine': mine})
    task, models = {'task': 'Tea or coffee?'}, {'': 'agent:mine'}
    run = (await conductor.start('pipeline', task, models=models, paused=True)).id
    await pages.open(f'/runs/{run}/fork?at=1')
    await pages.should_see('agent:mine: It runs without a sandbox', retries=30)
