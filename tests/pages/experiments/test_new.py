"""The form of a new experiment, and the forms of variants and scorers."""

import pytest
from nicegui.testing import User

from engine import LocalConductor
from engine.operations.experiments import KINDS, Case, Experiment
from tests.pages.experiments.test_variants import TOAST
from tests.support.harness import complete_run
from tests.support.pages.clicks import answer, click, enter, labelled, see
from ui.web.pages.experiments.new.scorers import form_values, read_settings, settings_model


async def test_an_experiment_is_entered_estimated_confirmed_and_started(
    pages: User, conductor: LocalConductor
) -> None:
    await pages.open('/experiments/new?pattern=echo')
    await see(pages, '8 cases, of which 8 have an expectation', 'They give: answer.')
    enter(pages, 'Name', 'Is a whisper worse?')
    click(pages, 'Add variant')
    await see(pages, 'Everything else is as in all runs')
    enter(pages, 'Task', 'Whisper it')
    answer(pages, 'Save')
    await see(pages, 'task = Whisper it')
    click(pages, 'Add scorer')
    click(pages, 'Path and use')
    await see(pages, 'States that it must not enter.')
    enter(pages, 'Not visited', 'around')
    answer(pages, 'Save')
    await see(pages, 'not visited: ["around"]', '16 runs to make', 'They call no model.', retries=20)
    click(pages, 'Start experiment')
    await see(pages, 'Start this experiment?')
    answer(pages, 'Start experiment')
    await see(pages, 'Score again', retries=30)
    (made,) = await conductor.experiments.list()
    assert made.name == 'Is a whisper worse?'
    assert made.variants[1].change == {'parameters': {'task': 'Whisper it'}}
    assert made.scorers[0].settings == {'not_visited': ['around']}


async def test_what_is_missing_is_said_at_its_place(pages: User, conductor: LocalConductor) -> None:
    await conductor.datasets.save('another', (await conductor.datasets.cases('loaves'))[:2])
    await pages.open('/experiments/new?pattern=echo')
    await see(pages, 'What it takes is shown here', retries=20)
    click(pages, 'Start experiment')
    await see(pages, 'Choose a dataset.', 'Add a scorer.', 'Enter a value.')


async def test_an_earlier_version_and_a_split_are_chosen_with_their_cases(
    pages: User, conductor: LocalConductor
) -> None:
    first = await conductor.datasets.get('loaves')
    cases = [
        Case(id=f'case {n}', parameters={'answer': f'{n}'}, split='test' if n else 'train') for n in range(3)
    ]
    await conductor.datasets.save('loaves', cases, note='Smaller')
    await pages.open('/experiments/new?pattern=echo')
    await see(pages, '3 cases, of which 0', '2 (newest) · 3 cases', 'Smaller', 'Test (2)', 'First cases')
    enter(pages, 'Split', 'test')
    await see(pages, '2 cases, of which 0', 'case 2')
    enter(pages, 'Version of the dataset', first.versions[0].id)
    await see(pages, '8 cases, of which 8 have an expectation', '3 more cases in the dataset')


async def test_running_again_keeps_the_version_of_the_dataset(
    pages: User, conductor: LocalConductor, over: Experiment
) -> None:
    await conductor.datasets.save('loaves', [Case(id='other', parameters={'answer': 'x'})])
    await pages.open(f'/experiments/new?after={over.id}')
    await see(pages, '8 cases, of which 8 have an expectation')
    await conductor.datasets.remove('loaves')
    await pages.open(f'/experiments/new?after={over.id}')
    await see(pages, 'The dataset has been removed. Choose another one.')


async def test_running_again_says_what_is_reused(pages: User, over: Experiment) -> None:
    await pages.open(f'/experiments/new?after={over.id}')
    await see(pages, 'Run again what has changed', 'answer = none', '16 runs of the earlier', retries=20)


async def test_runs_become_variants_named_by_their_changes(pages: User, conductor: LocalConductor) -> None:
    runs = [
        await complete_run(
            conductor, 'echo', {'detour': detour}, title='Both alike', tags=[f'variants-{detour}']
        )
        for detour in (False, True)
    ]
    await pages.open(f'/experiments/new?runs={",".join(runs)}')
    await see(pages, 'as it is', 'detour = true')
    await pages.should_not_see('variants-')
    assert labelled(pages, 'Edit: detour = true')


async def test_runs_of_two_versions_become_variants_that_differ_in_them(
    pages: User, conductor: LocalConductor
) -> None:
    first = await conductor.charts.save('toast', TOAST)
    runs = [await complete_run(conductor, 'toast', {'task': 'A toast to Ada'})]
    await conductor.charts.save('toast', TOAST.replace('title: Toast', 'title: Rye'), base=first.version)
    runs += [await complete_run(conductor, 'toast', {'task': 'A toast to Ada'})]
    await pages.open(f'/experiments/new?runs={runs[1]},{runs[0]}')
    await see(pages, f'version {first.version}')


@pytest.mark.parametrize('kind', KINDS)
def test_settings_go_into_their_form_and_back(kind: str) -> None:
    settings = {
        'equal': {'value': {'a': [1]}},
        'contains': {'value': ['one', 'two'], 'of': '/draft'},
        'regex': {'pattern': r'\d+', 'found': False},
        'schema': {'schema': {'type': 'object'}},
        'number': {'value': 42.5, 'within': 0.1},
        'file': {'path': 'docs/*.md'},
        'command': {'command': 'make test'},
        'path': {'visited': ['around'], 'approval': False, 'visits': {'around': 1}},
        'model': {'rubric': 'Is it right?'},
        'people': {'compare': True},
        'python': {'function': 'scorers:polite'},
    }.get(kind, {})
    model = settings_model(kind)
    given = {
        'json_schema' if name == 'schema' else name: value
        for name, value in form_values(kind, settings).items()
    }
    assert read_settings(kind, model.model_validate(given).model_dump(mode='json')) == settings
