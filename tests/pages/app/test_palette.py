"""The palette: what it finds, for whom."""

from collections.abc import Sequence

import pytest

from engine.operations import Role
from tests.pages.app.test_runs import keep
from ui.web.pages.settings.page import SECTIONS
from ui.web.pages.shared.palette.matching import match
from ui.web.pages.shared.palette.palette import Entry, find
from ui.web.routing import PLACES


def paths(found: Sequence[Entry]) -> list[str]:
    return [entry.path for entry in found]


@pytest.mark.parametrize(
    ('query', 'text'),
    [('pipe', 'Pipeline'), ('line', 'Pipeline'), ('dbg', 'Debugger'), ('side ag', 'Agents side by side')],
)
def test_a_word_is_found_by_its_start_its_middle_or_its_letters(query, text):
    assert match(query, text) > 0
    assert match(query, 'Inbox') == 0


def test_the_start_of_a_word_counts_for_more_than_its_middle_and_that_for_more_than_letters():
    assert match('run', 'Runs') > match('run', 'Prune') > match('run', 'Routine') > 0
    assert match('', 'Runs') == 0


async def test_it_finds_pages_settings_patterns_runs_and_the_actions_of_the_page(pages, backend, conductor):
    for number in range(3):
        await keep(conductor, number)
    await keep(conductor, 7, title='Tea or coffee', note='for the canteen')
    assert paths(await find(backend, 'sched', []))[0] == '/schedules'
    assert paths(await find(backend, 'mcp', []))[0] == '/settings#mcp'
    assert paths(await find(backend, 'se', []))[0] == '/settings'
    assert paths(await find(backend, 'pipel', []))[0] == '/launch/pipeline'
    assert paths(await find(backend, 'tea cof', [])) == ['/runs/run007']
    assert paths(await find(backend, 'canteen', [])) == ['/runs/run007']  # by its note
    assert (await find(backend, 'undo', ['Fork', 'Undo']))[0] == Entry(title='Undo', note='Action')
    assert await find(backend, 'xyzzy', ['Fork']) == []
    unasked = await find(backend, '', ['Fork'])
    assert {'Fork', 'Home'} <= {entry.title for entry in unasked}
    assert not {'/workers', '/accounts'} & set(paths(await find(backend, 'workers', [])))  # not here


async def test_every_part_of_settings_that_it_leads_to_has_that_heading(pages):
    await pages.open('/settings')
    headings = {
        element.props.get('id'): getattr(element, 'text', '') for element in pages.client.elements.values()
    }
    assert {id: headings.get(id) for id in SECTIONS} == SECTIONS
    assert set(SECTIONS) == {path.partition('#')[2] for path in PLACES if '#' in path}


@pytest.mark.parametrize('role', [Role.VIEWER])
async def test_who_may_start_nothing_is_offered_no_pattern(pages, backend, role):
    assert not [path for path in paths(await find(backend, 'pipeline', [])) if path.startswith('/launch')]
