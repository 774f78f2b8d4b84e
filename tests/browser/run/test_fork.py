"""Forks from the browser: an edit in a parallel state, variants side by side, reruns, lineage."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.bench.servers.processes import free_port
from tests.browser.server import Server

DEBATE = '''
"""Two argue side by side, a third one judges."""
from pydantic import BaseModel, Field, field_validator

from engine import Memory, Pattern, agent


class Debate(Pattern):
    """Two advocates argue side by side; a judge rules."""

    class Parameters(BaseModel):
        motion: str = Field('Tea is better than coffee', title='Motion', description='About what')

    class Memory(Memory):
        motion: str = ''
        rounds: int = 1
        said: list[str] = Field(default_factory=list)
        verdict: str = ''

        @field_validator('rounds')
        @classmethod
        def short(cls, rounds):
            if rounds > 9:
                raise ValueError('must be 9 or less')
            return rounds

    initial = 'arguing'
    answer = 'verdict'
    states = [
        {'name': 'arguing', 'parallel': [agent('pro', then='note'), agent('con', then='note')]},
        agent('judging', 'judge', then='rule'),
        {'name': 'settled', 'final': True},
        {'name': 'broken', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [
        ['done', 'arguing', 'judging'],
        ['done', 'judging', 'settled'],
        ['failed', '*', 'broken'],
    ]

    def prompt_pro(self, memory):
        return f'Argue for: {memory.motion}'

    def prompt_con(self, memory):
        return f'Argue against: {memory.motion}'

    def prompt_judging(self, memory):
        return f'Judge: {memory.motion}'

    def note(self, memory, event):
        memory.said.append(event.data['text'])

    def rule(self, memory, event):
        memory.verdict = f'{memory.motion}: {event.data["text"]}'
'''
MIDDLE = 2
"""The step at which one of the two has ended and the other continues."""


@pytest.fixture(scope='module')
def debates(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Server]:
    """A server that knows the pattern."""
    server = Server(tmp_path_factory.mktemp('debates'), port=free_port(port))
    server.patterns = tmp_path_factory.mktemp('patterns')
    (server.patterns / 'debate.py').write_text(DEBATE, 'utf-8')
    server.start()
    yield server
    server.stop()


@pytest.fixture
def run(debates: Server) -> str:
    """The address of a finished run."""
    return debates.launch('debate', ended=True)


def wait_until_done(page: Page) -> None:
    expect(page.locator('.run-head .pill')).to_have_text('Done', timeout=30_000)


def change(page: Page, field: str, text: str) -> None:
    """Open the memory of the shown variant, and change one of its fields."""
    fold = page.locator('.fork-variant:visible details', has=page.locator('summary', has_text='Memory'))
    if fold.get_attribute('open') is None:
        fold.locator('summary').click()
    fold.get_by_label(field, exact=True).fill(text)


def test_a_fork_in_a_parallel_state_starts_with_edited_text(
    page: Page, debates: Server, run: str, axe
) -> None:
    page.goto(f'{run}?at={MIDDLE}')
    page.get_by_role('button', name='Fork').click()
    expect(page.get_by_role('heading', name=f'Fork from step {MIDDLE}')).to_be_visible()
    expect(page.locator('.diagram .state.active')).to_have_count(2)
    expect(page.get_by_label('Title', exact=True)).to_be_focused()
    change(page, 'Motion', 'Milk is better than water')
    expect(page.locator('.form-foot [role=status]')).to_contain_text('Free: no provider')
    axe(page)
    page.keyboard.press('Control+Enter')
    expect(page).not_to_have_url(re.compile(re.escape(run)))
    wait_until_done(page)
    page.get_by_role('button', name='Watch').click()
    expect(page.get_by_role('region', name='Result')).to_contain_text('Milk is better than water:')
    compare = page.get_by_role('region', name='Result').get_by_role('link', name='Compare')
    expect(compare).to_have_attribute('href', re.compile(rf'a={run.rpartition("/")[2]}&b=\w+$'))
    expect(page.locator('.run-facts a', has_text=f'at {MIDDLE}')).to_be_visible()
    original = debates.ask(f'/runs/{run.rpartition("/")[2]}/result')
    assert 'Tea is better than coffee:' in str(original)


@pytest.mark.long
def test_variants_are_compared_blind_until_one_wins(page: Page, run: str, axe) -> None:
    page.goto(f'{run}/fork?at={MIDDLE}')
    page.get_by_role('button', name='Add variant').press('Enter')
    expect(page.get_by_role('button', name='Add variant')).to_be_focused()
    expect(page.get_by_role('button', name='Variant B')).to_have_attribute('aria-pressed', 'true')
    change(page, 'Motion', 'Milk is better than water')
    page.get_by_role('button', name='Variant A').click()
    expect(page.locator('.fork-variant:visible summary', has_text='Memory')).not_to_contain_text('change')
    page.get_by_role('button', name='Variant B').click()
    expect(page.locator('.fork-variant:visible summary', has_text='Memory')).to_contain_text('1 change')
    page.get_by_role('button', name='Start 2 variants').click()
    variants = page.locator('.variant')
    expect(variants).to_have_count(2)
    expect(variants.locator('.pill', has_text='Done')).to_have_count(2, timeout=30_000)
    expect(variants.nth(1)).to_contain_text('Milk is better than water:')
    expect(variants.locator('.variant-overrides')).to_have_text(
        ['as the original', 'motion = Milk is better than water']
    )
    facts = variants.first.locator('.agent-facts')
    assert facts.evaluate('one => one.scrollHeight <= one.clientHeight'), 'its tokens and time are cut off'
    page.get_by_role('checkbox', name='Blind').click()
    expect(variants.locator('h2')).to_have_text([re.compile('Variant [AB]')] * 2)
    expect(variants.get_by_role('link', name='Open')).to_have_count(0)
    expect(variants.locator('.variant-overrides:visible')).to_have_count(0)
    axe(page)
    page.get_by_role('region', name='Variant B').get_by_role('button', name='Pick as winner').click()
    expect(variants.locator('.chip:visible', has_text='Winner')).to_have_count(1)
    expect(variants.locator('h2').first).to_contain_text('(A)')
    page.get_by_role('link', name='Fork tree').click()
    expect(page.locator('.fork-tree-row')).to_have_count(3)
    expect(page.locator('.fork-tree-row', has_text='Winner')).to_contain_text(f'fork at {MIDDLE}')
    axe(page)


@pytest.mark.long
def test_problems_and_equal_variants_start_nothing_by_mistake(page: Page, run: str, axe) -> None:
    page.goto(run)
    page.get_by_role('button', name='Fork').click()
    expect(page.locator('.notice')).to_contain_text('The run had ended')  # forked where it can continue
    change(page, 'Rounds', 'many')
    problem = page.locator('.field', has_text='Rounds').locator('.problem')
    expect(problem).to_have_text('Enter a whole number.')
    page.get_by_role('button', name='Start fork').click()
    expect(page.get_by_label('Rounds', exact=True)).to_be_focused()
    change(page, 'Rounds', '10')
    expect(problem).to_have_text('Enter 9 or less.')  # the engine's message, which names the bare field
    page.get_by_label('Motion', exact=True).focus()
    page.get_by_role('button', name='Start fork').click()
    expect(page.get_by_label('Rounds', exact=True)).to_be_focused()
    page.get_by_role('button', name='Restore the original').click()
    expect(page.locator('.form-foot [role=status]')).to_contain_text('Free: no provider')
    page.get_by_role('button', name='Add variant').click()
    page.get_by_role('button', name='Start 2 variants').click()
    dialog = page.get_by_role('dialog', name='Start identical variants?')
    expect(dialog).to_contain_text('Variants A and B make the same changes')
    axe(page)
    dialog.get_by_role('button', name='Cancel').click()
    expect(page).to_have_url(re.compile('/fork'))
    page.get_by_role('button', name='Start 2 variants').click()
    dialog.get_by_role('button', name='Start anyway').click()
    page.wait_for_url(re.compile('/variants/'))


@pytest.mark.long
def test_a_cancelled_run_is_retried_from_its_last_step_and_run_again(
    page: Page, debates: Server, axe
) -> None:
    cancelled = debates.launch('debate', options={'paused': True})
    page.goto(cancelled)
    expect(page.locator('.run-head .pill')).to_have_text('Paused')
    page.get_by_role('button', name='Cancel').click()
    page.get_by_role('button', name='Cancel run').click()
    expect(page.locator('.run-head .pill')).to_have_text('Cancelled')
    page.get_by_role('button', name='More', exact=True).click()
    axe(page)
    page.get_by_role('button', name='Close').click()
    page.get_by_role('button', name='Retry', exact=True).click()
    page.get_by_role('button', name='Retry from step').click()
    expect(page).not_to_have_url(cancelled)
    wait_until_done(page)
    expect(page.get_by_role('button', name='Retry')).to_be_hidden()  # the run is done
    retried = page.url
    page.get_by_role('button', name='More').click()
    page.get_by_role('button', name='Run again').click()
    expect(page.get_by_role('dialog')).to_contain_text('Free: no provider')
    page.get_by_role('dialog').get_by_role('button', name='Run again').click()
    expect(page).not_to_have_url(re.compile(re.escape(retried)))
    wait_until_done(page)
    page.goto(f'{page.url.partition("?")[0]}/family')
    expect(page.locator('.fork-tree-row.here, .here > .fork-tree-row')).to_contain_text('run again')
