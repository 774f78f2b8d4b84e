"""Variants of a new experiment, edited with the fields of the launch form."""

from nicegui.testing import User

from engine import LocalConductor
from engine.operations.experiments import Experiment
from tests.support.harness import until
from tests.support.pages.clicks import answer, click, control, enter, labelled, open_fold, press_labelled, see
from ui.web.pages.charts.editor.template import TEMPLATE

TOAST = TEMPLATE.replace('chart: new', 'chart: toast').replace('title: New chart', 'title: Toast')


async def test_a_variant_is_edited_by_fields_named_by_its_change_and_taken_back(pages: User) -> None:
    await pages.open('/experiments/new?pattern=pipeline')
    enter(pages, 'Task', 'Compare tea and coffee')
    click(pages, 'Add variant')
    await see(pages, 'Everything else is as in all runs', 'No change yet')
    open_fold(pages, 'Instructions')
    enter(pages, 'Reviewer', 'Calculate each number again.')
    await see(pages, 'Reviewer: “Calculate each number again.”')
    assert control(pages, 'Name').value == 'Reviewer: “Calculate each number again.”'
    open_fold(pages, 'Tools')
    enter(pages, 'Analyzer', 'calculator')
    enter(pages, 'Name', 'careful')
    answer(pages, 'Save')
    await until(lambda: bool(labelled(pages, 'Edit: careful')))
    press_labelled(pages, 'Take back: Analyzer: calculator')
    await pages.should_not_see('Analyzer: calculator')
    press_labelled(pages, 'Duplicate: careful')
    press_labelled(pages, 'Move up: careful (2)')
    press_labelled(pages, 'Remove: as it is')
    await pages.should_not_see('No change yet')
    for _ in range(4):
        click(pages, 'Undo')
    await see(pages, 'as it is', 'careful', 'Analyzer: calculator')
    await pages.should_not_see('careful (2)')


async def test_answers_in_place_of_a_model_are_entered_as_text(pages: User) -> None:
    await pages.open('/experiments/new?pattern=pipeline')
    enter(pages, 'Task', 'Compare tea and coffee')
    click(pages, 'Add variant')
    await see(pages, 'Everything else is as in all runs')
    open_fold(pages, 'Stubs')
    press_labelled(pages, 'Add entry: Analyzer')
    (text,) = labelled(pages, 'Analyzer, Entry 1')
    with pages.client:
        text.set_value('Tea is cheaper.\nCoffee is quicker.')
    await see(pages, 'Analyzer: 1 stub')
    answer(pages, 'Save')
    await until(lambda: bool(labelled(pages, 'Edit: Analyzer: 1 stub')))


async def test_a_variant_is_an_earlier_version_of_a_chart(pages: User, conductor: LocalConductor) -> None:
    first = await conductor.charts.save('toast', TOAST, note='as agreed')
    await conductor.charts.save('toast', TOAST.replace('title: Toast', 'title: Rye'), base=first.version)
    await pages.open('/experiments/new?pattern=toast')
    enter(pages, 'Task', 'A toast to Ada')
    click(pages, 'Add variant')
    await see(pages, 'Everything else is as in all runs', '2 (current)', 'as agreed', retries=10)
    enter(pages, 'Version of the pattern', first.version)
    await see(pages, f'version {first.version}')
    answer(pages, 'Save')
    await until(lambda: bool(labelled(pages, f'Edit: version {first.version}')))


async def test_a_variant_of_a_pattern_that_is_gone_keeps_its_input(
    pages: User, conductor: LocalConductor, over: Experiment
) -> None:
    del conductor.catalog.patterns['echo']
    await pages.open(f'/experiments/new?after={over.id}')
    await see(pages, 'This pattern is not available here', 'base.pattern: there is no', retries=30)
    press_labelled(pages, 'Edit: wrong')
    await see(pages, 'Everything else is as in all runs')
    enter(pages, 'Name', 'wrong as before')
    answer(pages, 'Save')
    await until(lambda: bool(labelled(pages, 'Take back: answer = none')))


async def test_a_variant_changes_what_every_case_gives(pages: User) -> None:
    await pages.open('/experiments/new?pattern=echo')
    await see(pages, 'They give: answer.')
    click(pages, 'Add variant')
    await see(pages, 'No change yet')
    assert not labelled(pages, 'Answer')
    click(pages, 'Change what cases give')
    click(pages, 'Answer')
    enter(pages, 'Answer', '7')
    await see(pages, 'answer = 7')
    press_labelled(pages, 'Take back: answer = 7')
    await see(pages, 'No change yet', 'Change what cases give')
