"""Datasets: imported, looked at, changed case by case, and made from runs."""

from dataclasses import replace

import pytest
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction

from engine import LocalConductor
from engine.agents.chart import agent
from engine.operations import Role
from engine.operations.experiments import Case
from engine.records import RunId
from tests.support.harness import Lone, complete_run
from tests.support.pages.clicks import answer, click, control, enter, labelled, press_labelled, see
from ui.formatting.experiments.expectations import read_expectation

TABLE = 'id,answer,expectation,detour\none,1 loaf,1,false\ntwo,2 loaves,2,perhaps\nthree,3 loaves,3,true'


async def test_a_pasted_table_becomes_a_dataset_without_its_wrong_rows(
    pages: User, conductor: LocalConductor
) -> None:
    await pages.open('/datasets')
    await see(pages, 'loaves', '8 cases · 1 version')
    click(pages, 'Import')
    await see(pages, 'A table with a header')
    enter(pages, 'Name', 'Pasted')
    enter(pages, 'For the pattern', 'echo')
    with pages.client:
        labelled(pages, 'Table')[0].set_value(TABLE)
    await see(
        pages,
        '2 cases, 2 with an expectation, and 1 problem.',
        'must be true or false',
        'Row 3, detour',
        retries=20,
    )
    answer(pages, 'Save')
    await see(pages, 'Imported, without 1 row', retries=20)
    cases = await conductor.datasets.cases('Pasted')
    assert [(case.id, case.expectation, case.parameters['detour']) for case in cases] == [
        ('one', '1', False),
        ('three', '3', True),
    ]


async def test_a_column_is_read_as_a_person_says(pages: User, conductor: LocalConductor) -> None:
    await pages.open('/datasets')
    click(pages, 'Import')
    await see(pages, 'A table with a header')
    enter(pages, 'Name', 'Mapped')
    with pages.client:
        labelled(pages, 'Table')[0].set_value('question,gold\nHow many?,16')
    await see(pages, '1 case, 0 with an expectation.', retries=20)
    enter(pages, 'gold', 'expectation')
    await see(pages, '1 case, 1 with an expectation.', retries=20)
    answer(pages, 'Save')
    await see(pages, '1 case · Imported', retries=20)
    (case,) = await conductor.datasets.cases('Mapped')
    assert (case.parameters, case.expectation) == ({'question': 'How many?'}, '16')


async def test_a_changed_case_makes_a_version_and_the_earlier_one_stays(
    pages: User, conductor: LocalConductor
) -> None:
    info = await conductor.datasets.get('loaves')
    await pages.open(f'/datasets/{info.id}')
    await see(pages, 'case 3', '3 loaves')
    press_labelled(pages, 'Edit: case 3')
    await see(pages, 'Edit case')
    enter(pages, 'Expected', 'three')
    answer(pages, 'Save')
    await see(pages, 'Changed case 3', 'three', retries=20)
    assert [case.expectation for case in await conductor.datasets.cases('loaves')][3] == 'three'
    assert [case.expectation for case in await conductor.datasets.cases('loaves', info.versions[0].id)][
        3
    ] == '3'


async def test_the_files_of_a_case_are_shown_renamed_and_kept(pages: User, conductor: LocalConductor) -> None:
    case = Case(id='one', files={'a.txt': 'text', 'b.bin': {'base64': 'AP8='}}, source=RunId('r1'))
    info = await conductor.datasets.save('filed', [case])
    await pages.open(f'/datasets/{info.id}')
    await see(pages, 'Files', 'a.txt (4 B), b.bin (2 B)')
    press_labelled(pages, 'Edit: one')
    await see(pages, '2 files, 6 B: a.txt, b.bin')
    with pages.client:
        labelled(pages, 'Path')[0].set_value('/a.txt')
    answer(pages, 'Save')
    await see(pages, 'Must not begin with a slash')
    with pages.client:
        labelled(pages, 'Path')[0].set_value('docs/a.txt')
    enter(pages, 'Expected', '7')
    answer(pages, 'Save')
    await see(pages, 'docs/a.txt (4 B), b.bin (2 B)', retries=20)
    (saved,) = await conductor.datasets.cases('filed')
    assert saved == replace(case, files={'docs/a.txt': 'text', 'b.bin': {'base64': 'AP8='}}, expectation=7)


async def test_an_unknown_dataset_is_reported(pages: User) -> None:
    assert (await pages.http_client.get('/datasets/nothing')).status_code == 404


@pytest.mark.parametrize(
    ('text', 'before', 'value'),
    [
        ('', None, None),
        ('16', None, 16),
        ('16', '15', '16'),
        ('{"a": 1}', None, {'a': 1}),
        ('x y', None, 'x y'),
    ],
)
def test_what_is_expected_is_json_or_a_text(text: str, before: object, value: object) -> None:
    assert read_expectation(text, before) == value


class TestViewer:
    @pytest.fixture
    def role(self) -> Role:
        return Role.VIEWER

    async def test_sees_cases_and_changes_none(self, pages: User, conductor: LocalConductor) -> None:
        await pages.open(f'/datasets/{(await conductor.datasets.get("loaves")).id}')
        await see(pages, 'case 3', 'Export')
        for text in ('Edit', 'Import', 'Delete', 'Add case'):
            await pages.should_not_see(text)


class Reader(Lone):
    """One agent that reads files."""

    states = (agent('working', prompt='ask', tools=('read_file',)), *Lone.states[1:])


async def test_a_run_with_files_becomes_a_case_with_them(pages: User, conductor: LocalConductor) -> None:
    conductor.catalog.add(Reader)
    files = {'a.txt': 'text', 'b.bin': {'base64': 'AP8='}}
    await complete_run(conductor, 'reader', title='Filed', files=files)
    await pages.open('/runs')
    await see(pages, 'Filed')
    press_labelled(pages, 'Actions for Filed')
    await see(pages, 'Add to dataset')
    click(pages, 'Add to dataset')
    await see(pages, 'The run becomes a case')
    enter(pages, 'Dataset', 'filed')
    answer(pages, 'Add')
    await see(pages, 'Added to filed', retries=20)
    (case,) = await conductor.datasets.cases('filed')
    assert case.files == files


async def test_a_run_becomes_a_case_with_a_corrected_answer(pages: User, conductor: LocalConductor) -> None:
    run = await complete_run(conductor, 'echo', {'answer': 'four loaves'}, title='Four')
    await pages.open('/runs')
    await see(pages, 'Four')
    press_labelled(pages, 'Actions for Four')
    await see(pages, 'Add to dataset')
    click(pages, 'Add to dataset')
    await see(pages, 'The run becomes a case')
    assert control(pages, 'Expected').value == 'four loaves'
    enter(pages, 'Expected', '4')
    enter(pages, 'Dataset', 'corrected')
    answer(pages, 'Add')
    await see(pages, 'Added to corrected', retries=20)
    (case,) = await conductor.datasets.cases('corrected')
    assert (case.expectation, case.source, case.parameters['answer']) == ('4', run, 'four loaves')


async def test_several_runs_become_cases_and_what_a_person_has_corrected_stays(
    pages: User, conductor: LocalConductor
) -> None:
    first, second = [
        await complete_run(conductor, 'echo', {'answer': f'{n} loaves'}, title=f'Run {n}') for n in range(2)
    ]
    failed = await complete_run(conductor, 'echo', {'answer': 'half a loaf', 'fails': True}, title='Broken')
    corrected = Case(id=first, parameters={'answer': '0 loaves'}, expectation='none', source=first)
    await conductor.datasets.save('sorted', [corrected])
    await pages.open('/runs')
    await see(pages, 'Run 0', 'Run 1', 'Broken')
    assert pages.client
    for box in [item for item in pages.client.elements.values() if 'run-tick' in item.classes]:
        UserInteraction(pages, {box}, None).trigger('click', [True, False])
    click(pages, 'Add to dataset')
    await see(pages, 'Add 3 runs to a dataset', '2 of them have an answer')
    enter(pages, 'Dataset', 'sorted')
    answer(pages, 'Add')
    await see(pages, 'Added to sorted', retries=20)
    expected = {case.id: case.expectation for case in await conductor.datasets.cases('sorted')}
    assert expected == {first: 'none', second: '1 loaves', failed: None}


async def test_what_a_launch_form_holds_becomes_a_case(pages: User, conductor: LocalConductor) -> None:
    await pages.open('/launch/echo')
    await see(pages, 'Reset form')
    enter(pages, 'Task', 'Whisper it')
    click(pages, 'Add to dataset')
    await see(pages, 'What the form holds becomes a case')
    enter(pages, 'Dataset', 'loaves')
    enter(pages, 'Expected', 'a whisper')
    answer(pages, 'Add')
    await see(pages, 'Added to loaves', retries=20)
    *_, case = await conductor.datasets.cases('loaves')
    assert (case.id, case.parameters['task'], case.expectation) == ('9', 'Whisper it', 'a whisper')
