"""Charts in a simulated browser: the list, the editor, versions and their differences."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from nicegui.testing.user_interaction import UserInteraction

from engine import Catalog, LocalConductor
from engine.charts.library import ChartLibrary
from engine.operations import Role
from engine.records import RunQuery
from tests.support.pages.clicks import answer, click, enter, labelled, see
from ui.web.components.elements import Diagram
from ui.web.pages.charts.editor.template import TEMPLATE
from ui.web.pages.charts.editor.text import ChartText

TOAST = TEMPLATE.replace('chart: new', 'chart: toast').replace('title: New chart', 'title: Toast')
BROKEN = TOAST.replace('from: writing, to: judging', 'from: writing, to: nowhere')


@pytest.fixture
async def conductor(tmp_path) -> AsyncIterator[LocalConductor]:
    catalog = Catalog.load()
    ChartLibrary(catalog, tmp_path)
    async with LocalConductor(catalog=catalog) as conductor:
        yield conductor


def text_of(pages) -> ChartText:
    (element,) = pages.find(kind=ChartText).elements
    return element


def trigger(pages, element, event, args) -> None:
    with pages.client:
        UserInteraction(pages, {element}, None).trigger(event, args)


def type_text(pages, text: str) -> None:
    trigger(pages, text_of(pages), 'text', [text, 1])


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(200):
        if holds():
            return
        await asyncio.sleep(0.05)
    raise AssertionError('it never held')


def open_menu(pages, kind: str, name: str) -> None:
    (diagram,) = pages.find(kind=Diagram).elements
    trigger(pages, diagram, 'context', {'kind': kind, 'name': name, 'x': 1, 'y': 1})


async def test_a_new_chart_begins_with_an_example_and_is_stored_when_it_is_saved(pages, conductor):
    await pages.open('/charts')
    await see(pages, 'No charts yet.', 'Patterns in Python', 'Supervisor')
    click(pages, 'New chart')
    await see(pages, 'Nothing is stored until you save it.', retries=30)
    enter(pages, 'Name', 'Two Writers')
    answer(pages, 'New chart')
    await see(pages, 'lower-case words with hyphens between', retries=30)
    enter(pages, 'Name', 'pipeline')
    answer(pages, 'New chart')
    await see(pages, 'There is already a chart or a pattern', retries=30)
    enter(pages, 'Name', 'toast')
    answer(pages, 'New chart')
    await see(pages, 'Not saved', 'No problems.', retries=30)
    assert text_of(pages).text.startswith('chart: toast\n') and await conductor.charts.list() == []
    click(pages, 'Save')
    await see(pages, 'Version 1', 'Saved', 'Describe a change', retries=30)
    await pages.open('/charts')
    await see(pages, 'New chart', '4 states · version 1', retries=30)


async def test_an_error_is_said_with_its_line_while_the_last_diagram_stays(pages, conductor):
    await conductor.charts.save('toast', TOAST)
    await pages.open('/charts/toast')
    await see(pages, 'Toast', 'No problems.', retries=30)
    type_text(pages, BROKEN)
    line = 1 + BROKEN[: BROKEN.index('nowhere')].count('\n')
    await see(pages, f'Line {line}', "no state 'nowhere'", 'As it was before the errors', retries=30)
    click(pages, 'Save')
    await see(pages, 'Not saved: the text has errors.', retries=30)
    assert len(await conductor.charts.versions('toast')) == 1
    type_text(pages, TOAST)
    await see(pages, 'No problems.', 'Saved', retries=30)
    await pages.should_not_see('As it was before the errors')


async def test_a_rehearsal_says_what_is_never_reached_and_where_that_stands(pages, conductor):
    await conductor.charts.save('toast', TOAST.replace('  done: {', '  lost: {waits: word}\n  done: {'))
    await pages.open('/charts/toast')
    await see(pages, 'calls', retries=60)
    click(pages, 'Rehearsal')
    await see(pages, 'No run can reach it.', retries=30)
    click(pages, 'lost')
    (diagram,) = pages.find(kind=Diagram).elements
    assert diagram.props['overlays']['picked']['states'] == {'lost': {'classes': 'picked'}}


async def test_the_diagram_changes_the_text_by_its_menus(pages, conductor):
    await conductor.charts.save('toast', TOAST)
    await pages.open('/charts/toast')
    await see(pages, 'No problems.', retries=30)
    open_menu(pages, '', '')
    click(pages, 'Add agent…')
    await see(pages, 'A state in which an agent works.', retries=30)
    enter(pages, 'Name', 'proofreading')
    enter(pages, 'Role', 'proofreader')
    enter(pages, 'Task', 'Mend {{ memory.answer }}')
    answer(pages, 'Add agent')
    await see(pages, 'Unsaved changes', retries=30)
    assert '  proofreading:' in text_of(pages).text and 'proofreader:' in text_of(pages).text
    open_menu(pages, 'state', 'judging')
    click(pages, 'Rename…')
    await see(pages, 'everywhere: in transitions', retries=30)
    enter(pages, 'Name', 'reviewing')
    answer(pages, 'Rename')
    await until(lambda: 'reviewing' in next(iter(pages.find(kind=Diagram).elements)).props['states'])
    assert 'judging' not in text_of(pages).text
    open_menu(pages, 'edge', 'reviewing>writing')
    click(pages, 'Change…')
    await see(pages, 'What leads out of reviewing', retries=30)
    enter(pages, 'Unless', 'is_spent')
    answer(pages, 'Change transition')
    await until(lambda: 'unless: is_spent' in text_of(pages).text)
    open_menu(pages, 'state', 'reviewing')
    click(pages, 'Rename the role critic…')
    await see(pages, 'Renames critic everywhere', retries=30)
    enter(pages, 'Name', 'judge')
    answer(pages, 'Rename')
    await until(lambda: 'agent: judge' in text_of(pages).text and 'critic:' not in text_of(pages).text)


async def test_the_event_and_the_goal_of_a_transition_change_in_one_step(pages, conductor):
    await conductor.charts.save('toast', TOAST)
    await pages.open('/charts/toast')
    await see(pages, 'No problems.', retries=30)
    open_menu(pages, 'edge', 'judging>done')
    await see(pages, 'Change… (on done if is_approved)', 'Change… (on done if is_spent)')
    click(pages, 'Change… (on done if is_spent)')
    await see(pages, 'What leads out of judging', retries=30)
    enter(pages, 'Event', 'expired')
    enter(pages, 'To', 'failed')
    answer(pages, 'Change transition')
    changed = TOAST.replace(
        '{on: done, from: judging, to: done, if: is_spent}',
        '{on: expired, from: judging, to: failed, if: is_spent}',
    )
    await until(lambda: text_of(pages).text == changed)


async def test_an_edit_that_is_impossible_is_refused_at_its_field(pages, conductor):
    await conductor.charts.save('toast', TOAST)
    await pages.open('/charts/toast')
    await see(pages, 'No problems.', retries=30)
    open_menu(pages, 'state', 'writing')
    click(pages, 'Rename…')
    await see(pages, 'everywhere: in transitions', retries=30)
    enter(pages, 'Name', 'judging')
    answer(pages, 'Rename')
    await see(pages, 'There is already', retries=30)
    assert text_of(pages).text == TOAST


async def test_the_cursor_lights_its_state_and_a_click_on_one_lights_it(pages, conductor):
    await conductor.charts.save('toast', TOAST)
    await pages.open('/charts/toast')
    await see(pages, 'No problems.', retries=30)
    (diagram,) = pages.find(kind=Diagram).elements
    lines = TOAST.split('\n')
    trigger(pages, text_of(pages), 'line', lines.index('  judging:') + 2)
    assert list(diagram.props['overlays']['picked']['states']) == ['judging']
    trigger(
        pages,
        text_of(pages),
        'line',
        lines.index('  writer: {title: Writer, instructions: You write short texts.}') + 1,
    )
    assert 'picked' not in diagram.props['overlays']
    trigger(pages, diagram, 'pick', 'writing.thinking')
    assert list(diagram.props['overlays']['picked']['states']) == ['writing.thinking']


async def test_a_save_over_somebody_elses_asks_first(pages, conductor):
    await conductor.charts.save('toast', TOAST)
    await pages.open('/charts/toast')
    await see(pages, 'No problems.', retries=30)
    theirs = TOAST.replace('You judge texts.', 'You judge hard.')
    await conductor.charts.save('toast', theirs, base=(await conductor.charts.get('toast')).version)
    mine = TOAST.replace('  judging:\n', '  judging:\n    within: 60\n')
    type_text(pages, mine)
    await see(pages, 'Unsaved changes', retries=30)
    click(pages, 'Save')
    await see(pages, 'saved version 2 meanwhile', 'judging', 'now ends after 60 s', retries=50)
    answer(pages, 'Overwrite')
    await see(pages, 'Version 3', retries=30)
    assert (await conductor.charts.get('toast')).text == mine


async def test_a_chart_that_was_removed_meanwhile_is_saved_again(pages, conductor):
    await conductor.charts.save('toast', TOAST)
    await pages.open('/charts/toast')
    await see(pages, 'No problems.', retries=30)
    await conductor.charts.remove('toast')
    mine = TOAST.replace('You judge texts.', 'You judge hard.')
    type_text(pages, mine)
    await see(pages, 'Unsaved changes', retries=30)
    click(pages, 'Save')
    await see(pages, 'It was removed meanwhile', retries=30)
    answer(pages, 'Save')
    await see(pages, 'Version 2', retries=30)
    assert (await conductor.charts.get('toast')).text == mine


async def test_an_earlier_version_is_looked_at_compared_and_made_current(pages, conductor):
    first = await conductor.charts.save('toast', TOAST, note='as agreed')
    mine = TOAST.replace('  judging:\n', '  judging:\n    within: 60\n')
    second = await conductor.charts.save('toast', mine, base=first.version)
    await pages.open('/charts/toast/difference')
    await see(pages, 'What changed in toast', 'now ends after 60 s', '1 state changed', retries=30)
    await pages.open(f'/charts/toast/difference?from={second.version}&to={first.version}')
    await see(pages, 'no longer has a time limit', retries=30)
    await pages.open('/charts/toast')
    await see(pages, 'No problems.', retries=30)
    click(pages, 'Versions')
    await see(pages, 'Version 1', 'as agreed', 'Look at', retries=30)
    await pages.open(f'/charts/toast?version={first.version}')
    await see(pages, 'This is an earlier version.', retries=30)
    assert text_of(pages).props['readonly'] and not labelled(pages, 'Note on this version')
    click(pages, 'Run')
    await see(pages, 'Configure Toast', 'ersion 1', retries=30)
    await pages.open(f'/charts/toast?version={first.version}')
    click(pages, 'Make current')
    await see(pages, 'Saved', retries=30)
    assert (await conductor.charts.get('toast')).version == first.version


async def test_a_python_pattern_is_shown_as_far_as_a_chart_can_say_it(pages):
    await pages.open('/charts/pipeline')
    await see(pages, 'This pattern is written in Python', 'What it cannot say (', 'researching', retries=60)
    assert text_of(pages).props['readonly'] and 'chart: pipeline' in text_of(pages).text


class TestViewers:
    @pytest.fixture
    def role(self) -> Role:
        return Role.VIEWER

    async def test_they_look_and_change_nothing(self, pages, conductor):
        await conductor.charts.save('toast', TOAST)
        await pages.open('/charts/toast')
        await see(pages, 'Requires the role operator; yours is viewer', 'No problems.', retries=30)
        assert text_of(pages).props['readonly']
        await pages.should_not_see('Change')


@pytest.mark.parametrize('path', ['/charts/nothing', '/charts/nothing/difference', '/charts/..%2Fpasswords'])
async def test_an_unknown_chart_has_a_page_that_says_so(pages, path):
    response = await pages.http_client.get(path)
    assert response.status_code == 404 and 'There is no' in response.text


async def test_the_example_runs_with_its_own_answers(pages, conductor):
    await conductor.charts.save('toast', TOAST)
    await pages.open('/launch/toast')
    click(pages, 'Samples')
    click(pages, 'A toast')
    await see(pages, 'Stubs answer instead of models.', 'for: writer, critic.', retries=30)
    click(pages, 'Run')
    await see(pages, 'Here is run', retries=30)
    (info,) = (await conductor.runs(RunQuery())).runs
    await conductor.result(info.id)
    view = await conductor.view(info.id)
    assert view.memory['answer'] == 'To Ada and to all that she has built!' and view.memory['round'] == 1
