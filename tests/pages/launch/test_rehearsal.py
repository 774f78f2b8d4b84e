"""What the next run costs at most, above Run, and the dialog with its rehearsal."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine import Pattern
from engine.errors import JournalUnavailable
from engine.operations.rehearsal import Cost, Figures, Unbounded
from tests.support.pages.clicks import click, press_labelled, see
from ui.web.components.elements import Diagram
from ui.web.pages.launch.rehearsal import stage
from ui.web.pages.launch.rehearsal.cost_line import offered_limit


class Rounds(Pattern):
    """It works in rounds."""

    class Parameters(BaseModel):
        topic: str = Field(min_length=1, title='Topic')
        rounds: int = Field(2, ge=0, title='Rounds')

    class Memory(Pattern.Memory):
        count: int = 0

    initial = 'working'
    states = (
        {'name': 'working', 'invoke': 'work', 'most_calls': 3},
        {'name': 'lost', 'waits': 'go'},
        {'name': 'over', 'final': True},
    )
    transitions = (
        {
            'trigger': 'done',
            'source': 'working',
            'dest': 'working',
            'conditions': 'may_go_on',
            'before': 'add',
        },
        ['done', 'working', 'over'],
        ['go', 'lost', 'over'],
    )

    def may_go_on(self, memory: Any, event: Any) -> bool:
        """A round is left."""
        return bool(memory.count < self.parameters.rounds)

    def add(self, memory: Any, event: Any) -> None:
        """Count it."""
        memory.count += 1

    async def work(self, memory: Any, activity: Any) -> None:
        """Do it."""


async def test_the_line_says_what_a_run_costs_and_follows_the_parameters(pages, conductor, launchers):
    conductor.catalog.add(Rounds)
    await pages.open('/launch/rounds')
    await pages.should_see('0 to 9 calls.', retries=30)
    with pages:
        launchers[0]._fields.parameters.controls['rounds'].set_content('4', by_user=True)
    await pages.should_see('0 to 15 calls.', retries=30)
    with pages:
        launchers[0]._fields.parameters.controls['rounds'].set_content('-1', by_user=True)
    await pages.should_see('0 to 9 calls.', retries=30)  # That of the default.


async def test_a_rehearsal_shows_findings_ways_and_costs(pages, conductor, monkeypatch):
    monkeypatch.setattr(stage, 'STEP_SECONDS', 0)
    conductor.catalog.add(Rounds)
    await pages.open('/launch/rounds')
    await pages.should_see('0 to 9 calls.', retries=30)
    click(pages, 'Rehearse')
    await see(pages, 'Rehearsal of Rounds', 'No run can reach it.', retries=30)
    click(pages, 'States')
    await see(pages, 'never reached', '2 events')
    press_labelled(pages, 'Play the way to over')
    await pages.should_see('2 of 2: done at working', retries=30)
    click(pages, 'Cost')
    await see(pages, 'Most calls', 'Whole run')
    diagram = max(pages.find(Diagram).elements, key=lambda element: element.id)
    states = diagram.props['overlays']['rehearsal']['states']
    assert states['working']['badge'] == '9' and 'unreached' in states['lost']['classes']
    assert diagram.props['highlights']['active'] == ['over']


async def test_a_limit_is_offered_and_taken(pages, conductor, launchers, monkeypatch):
    conductor.catalog.add(Rounds)
    cost = Cost(most=Figures(calls=41, dollars=1.9), least_calls=3)
    rehearsal = replace(await conductor.rehearse('rounds', seconds=0), cost=cost)

    async def rehearse(*arguments, **options):
        return rehearsal

    monkeypatch.setattr(conductor, 'rehearse', rehearse)
    await pages.open('/launch/rounds')
    await pages.should_see('3 to 41 calls, at most $1.90.', retries=30)
    click(pages, 'Limit to $1.00')
    await pages.should_see('3 to 41 calls.', retries=30)
    await pages.should_not_see('Limit to $1.00')
    assert launchers[0]._fields.limits.raw['cost'] == '1'


async def test_a_rehearsal_that_fails_says_why(pages, conductor, monkeypatch):
    async def rehearse(*arguments, **options):
        raise JournalUnavailable('the disk is full')

    monkeypatch.setattr(conductor, 'rehearse', rehearse)
    await pages.open('/launch/pipeline')
    await pages.should_see('What a run costs is not known: the disk is full.', retries=30)
    click(pages, 'Rehearse')
    await pages.should_see('The pattern could not be rehearsed: the disk is full.', retries=30)


@pytest.mark.parametrize(
    ('most', 'usual', 'unpriced', 'offered'),
    [
        (1.9, None, False, 1),
        (0.5, None, False, 0),
        (None, None, False, 1),
        (None, None, True, 0),
        (40, 0.9, False, 2),
        (40, 0.001, False, 0.1),
        (0, 0.0, False, 0),
    ],
)
def test_a_limit_is_offered_where_the_worst_case_exceeds_it(most, usual, unpriced, offered):
    cost = Cost(
        most=Figures(dollars=most),
        least_calls=1,
        usual=None if usual is None else Figures(dollars=usual),
        unbounded=(Unbounded(figure='dollars', text='the price is not known'),) if unpriced else (),
    )
    assert offered_limit(cost) == pytest.approx(offered)
