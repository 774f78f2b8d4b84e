"""The simulator page: choose what comes, go back and forward, save the walk, and go to a state."""

from __future__ import annotations

from typing import Any

import yaml
from nicegui import ui
from nicegui.testing import User

from engine import LocalConductor, Memory, Pattern, Status
from tests.support.pages.clicks import click, press_labelled, see


def area(pages: User, start: str) -> ui.textarea:
    """Return the text field whose content starts like this."""
    elements = pages.client.elements.values()
    return next(
        item for item in elements if isinstance(item, ui.textarea) and str(item.value).startswith(start)
    )


async def test_a_walk_goes_on_back_and_forward_and_is_saved(pages: User) -> None:
    await pages.open('/patterns/pipeline/simulate')
    await see(pages, 'Simulate Pipeline', 'Researcher answers', 'Researcher fails')
    click(pages, 'Take this step')
    await see(pages, 'Analyzer answers', 'Researcher: done')
    click(pages, 'Take this step')
    await see(pages, 'Reviewer answers', 'Approved: no', retries=10)
    click(pages, 'Reviewer fails')
    await see(pages, 'The run has failed.', retries=10)  # only where it would lead
    press_labelled(pages, 'Back (←)')
    await see(pages, 'Analyzer answers')
    press_labelled(pages, 'Forward (→)')
    await see(pages, 'Reviewer answers')
    press_labelled(pages, 'Save stubs')
    saved = await pages.download.next()
    assert set(yaml.safe_load(saved.text)) == {'researching', 'analyzing'}


async def test_a_stub_that_does_not_fit_is_refused_at_its_field(pages: User) -> None:
    await pages.open('/patterns/pipeline/simulate')
    await see(pages, 'Findings')
    await pages.should_see('Analyzing', retries=10)
    area(pages, 'Event sourcing stores').set_value('')
    click(pages, 'Take this step')
    await see(pages, 'Enter at least one.', retries=10)
    await pages.should_not_see('Researcher: done')


async def test_a_state_is_reached_by_the_way_of_a_rehearsal(pages: User) -> None:
    await pages.open('/patterns/pipeline/simulate')
    await see(pages, 'Researcher answers')
    diagram: Any = next(
        element for element in pages.client.elements.values() if 'highlights' in element.props
    )
    pick = next(listener for listener in diagram._event_listeners.values() if listener.type == 'pick')
    diagram._handle_event({'listener_id': pick.id, 'args': 'complete'})
    await see(pages, 'The run is done.', retries=50)
    await see(pages, 'Assumed; on this memory it says no.', 'a run with these stubs may go another way')
    await pages.should_not_see('Run with these stubs')


async def test_a_run_goes_the_way_of_a_walk(pages: User, conductor: LocalConductor) -> None:
    await pages.open('/patterns/pipeline/simulate')
    await see(pages, 'Researcher answers')
    for text in ('Analyzer answers', 'Reviewer answers', 'Analyzer answers'):
        click(pages, 'Take this step')
        await see(pages, text, retries=10)
    click(pages, 'Analyzer fails')
    click(pages, 'Take this step')
    await see(pages, 'Run with these stubs', retries=10)
    click(pages, 'Run with these stubs')
    await pages.should_see('Here is run', retries=50)
    [info] = (await conductor.runs()).runs
    assert (await conductor.result(info.id)).status is Status.FAILED
    taken = [step.entered for step in await conductor.transitions(info.id)]
    assert taken[-1] == ('failed',) and ('analyzing',) in [entered[:1] for entered in taken]
    assert info.simulated


async def test_without_its_parameters_a_walk_waits_for_them(pages: User) -> None:
    await pages.open('/patterns/pipeline/simulate')
    await see(pages, 'Researcher answers')
    area(pages, 'Should a small team').set_value('')
    click(pages, 'Parameters')
    click(pages, 'Start again')
    await see(pages, 'Fill in the parameters first.', retries=10)


class Counting(Pattern):
    """Counts, and remembers the number."""

    class Memory(Memory):
        count: int = 0

    initial = 'counting'
    states = ({'name': 'counting', 'invoke': 'work'}, {'name': 'over', 'final': True})
    transitions = ({'trigger': 'done', 'source': 'counting', 'dest': 'over', 'after': 'store'},)

    def store(self, memory: Any, event: Any) -> None:
        """Store the number."""
        memory.count = event.data['count']

    async def work(self, memory: Any, activity: Any) -> dict[str, int]:
        """Count."""
        return {'count': 3}


async def test_work_gives_what_it_gave_in_the_newest_run(pages: User, conductor: LocalConductor) -> None:
    conductor.catalog.add(Counting)
    await pages.open('/patterns/counting/simulate')
    await see(pages, 'Counting ends', "A run would fail here: action 'store' raised KeyError", retries=10)
    await conductor.result((await conductor.start('counting')).id)
    await pages.open('/patterns/counting/simulate')
    await see(pages, 'The run is done.', retries=10)
    await pages.should_not_see('A run would fail here')


async def test_an_unknown_pattern_is_reported(pages: User) -> None:
    assert (await pages.http_client.get('/patterns/nothing/simulate')).status_code == 404
