"""Experiments: their list, one while it runs and once it is over."""

import io
from dataclasses import replace

import pytest
from nicegui.testing import User

from engine import LocalConductor
from engine.operations import Role
from engine.operations.experiments import Experiment, Variant
from tests.pages.experiments.conftest import LOAVES
from tests.support.harness import until
from tests.support.pages.clicks import answer, click, control, labelled, see
from ui.app.backend import Backend
from ui.web.components.elements import Diagram
from ui.web.pages.experiments import screen
from ui.web.pages.experiments.cells import CellGrid


def grid(pages: User) -> CellGrid:
    """The table of cases on the page."""
    assert pages.client
    (found,) = [element for element in pages.client.elements.values() if isinstance(element, CellGrid)]
    return found


async def test_the_list_says_what_an_experiment_found(pages: User, over: Experiment) -> None:
    await pages.open('/experiments')
    await see(pages, 'Loaves', 'Echo', 'Done', 'as it is, wrong, breaks', '“wrong” is worse than “as it is”')


async def test_the_sample_is_started_with_one_click(pages: User) -> None:
    await pages.open('/experiments')
    await see(pages, 'No experiments yet')
    click(pages, 'Run the sample')
    await see(pages, 'A stricter reviewer', retries=30)


async def test_an_unknown_experiment_is_reported(pages: User) -> None:
    assert (await pages.http_client.get('/experiments/nothing')).status_code == 404


async def test_an_experiment_is_exported_whole_and_known_where_it_comes_from(
    pages: User, over: Experiment, conductor: LocalConductor
) -> None:
    await pages.open(f'/experiments/{over.id}')
    await see(pages, 'Export')
    answer = await pages.http_client.get(f'/experiments/{over.id}/export')
    assert answer.status_code == 200, answer.text
    assert f'loaves-{over.id[:6]}.jsonl.gz' in answer.headers['Content-Disposition']
    imported = await conductor.import_bundle(io.BytesIO(answer.content))
    assert {item.outcome for item in imported} == {'known'} and len(imported) > 2
    assert (await pages.http_client.get('/experiments/nothing/export')).status_code == 404


async def test_the_page_says_which_variant_is_better_and_what_failed(pages: User, over: Experiment) -> None:
    await pages.open(f'/experiments/{over.id}')
    await see(
        pages,
        '“wrong” is worse than “as it is” by 1.0',
        'Worse',
        'answer = none',
        '8 of 8',
        'Nothing to compare',
    )
    await pages.should_not_see('Pause')
    assert grid(pages).total == 8


async def test_the_table_has_a_row_for_each_case_with_failures_apart(pages: User, over: Experiment) -> None:
    await pages.open(f'/experiments/{over.id}')
    click(pages, 'Cases')
    await see(pages, '8 cases')
    rows = grid(pages).props['first']
    assert [row[0] for row in rows] == [f'case {n}' for n in range(8)]
    (case, best, wrong, broken) = rows[0]
    assert case.startswith('case') and best[0] == '1' and wrong[:3] == ['0', '\N{MINUS SIGN}1', 'down']
    assert broken[0] == '' and broken[5] == [['failed', 'Failed']]


async def test_the_head_of_the_table_has_the_means_of_the_scorer_chosen(
    pages: User, over: Experiment
) -> None:
    await pages.open(f'/experiments/{over.id}')
    click(pages, 'Cases')
    await see(pages, '8 cases', '“wrong” is worse than “as it is”', retries=30)
    assert [note for *_, note in grid(pages).props['columns']] == ['', 'mean 1', 'mean 0', '']
    (scorer,) = labelled(pages, 'Scores by')
    with pages.client:
        scorer.set_value('status')
    assert [note for *_, note in grid(pages).props['columns']] == ['', 'mean 1', 'mean 1', 'mean 0']


async def test_a_cell_opens_the_runs_with_their_scores(pages: User, over: Experiment) -> None:
    await pages.open(f'/experiments/{over.id}')
    click(pages, 'Cases')
    await see(pages, '8 cases')
    pages.find(CellGrid).trigger('open', ['case 3', 1])
    await see(pages, 'case 3 · wrong', '3 loaves', 'without', 'Compare with as it is', 'Open run')
    click(pages, 'Compare with another…')
    await see(pages, 'Compare case 3 · wrong with…')


async def test_an_experiment_under_way_is_followed_and_paused(pages: User, conductor: LocalConductor) -> None:
    started = await conductor.experiments.add(replace(LOAVES, at_once=1))
    await conductor.experiments.pause(started.id)
    await pages.open(f'/experiments/{started.id}')
    await see(pages, 'Paused', 'of 24 runs', 'Resume')
    click(pages, 'Resume')
    await see(pages, 'Done', 'Score again', retries=30)


async def test_an_experiment_that_failed_says_why_and_is_resumed(
    pages: User, conductor: LocalConductor
) -> None:
    pattern = conductor.catalog.patterns.pop('echo')
    lost = replace(LOAVES, id='lost', dataset=(await conductor.datasets.get(LOAVES.dataset)).id)
    await conductor.experiments._store.experiments.write([lost])
    await conductor.experiments.resume('lost')
    await pages.open('/experiments/lost')
    await see(pages, 'Failed', "There is no pattern 'echo'", retries=30)
    conductor.catalog.add(pattern)
    click(pages, 'Resume')
    await see(pages, 'Done', 'Score again', retries=30)


async def test_the_answer_of_an_experiment_that_is_over_does_not_wait(
    pages: User, conductor: LocalConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, 'ANSWER_REST', 1e9)  # the answer before took long
    started = await conductor.experiments.add(replace(LOAVES, at_once=1))
    await conductor.experiments.pause(started.id)
    await pages.open(f'/experiments/{started.id}')
    await see(pages, 'Nothing to compare')
    click(pages, 'Resume')
    await see(pages, '“wrong” is worse than “as it is”', retries=30)


async def test_the_diagram_says_where_variants_part(pages: User, conductor: LocalConductor) -> None:
    around = Variant(name='around', change={'parameters': {'detour': True}})
    variants = (LOAVES.variants[0], around)
    over = (await conductor.experiment(replace(LOAVES, variants=variants))).experiment
    await pages.open(f'/experiments/{over.id}')
    click(pages, 'Diagram')
    await see(pages, 'Where they part most', '100% apart', 'A never · B 100% of runs', retries=30)
    click(pages, 'Cost & time')
    await see(pages, 'Worth choosing between, by the means alone', retries=20)


async def test_an_experiment_with_one_variant_says_what_it_scored_and_where_its_runs_went(
    pages: User, conductor: LocalConductor
) -> None:
    over = (await conductor.experiment(replace(LOAVES, variants=LOAVES.variants[:1]))).experiment
    await pages.open(f'/experiments/{over.id}')
    await see(pages, 'as it is: right 1 on 8 cases.', 'The only variant', retries=30)
    click(pages, 'Diagram')
    await see(pages, 'What runs scored that went a certain way', retries=30)
    (diagram,) = pages.find(kind=Diagram).elements
    badges = {mark.get('badge') for mark in diagram.props['overlays']['paths']['states'].values()}
    assert badges == {'1\N{MULTIPLICATION SIGN}'}
    await pages.should_not_see('Where they part most')


class TestViewer:
    @pytest.fixture
    def role(self) -> Role:
        return Role.VIEWER

    async def test_sees_the_answer_and_may_not_delete(self, pages: User, over: Experiment) -> None:
        await pages.open(f'/experiments/{over.id}')
        await see(pages, '“wrong” is worse than “as it is”')
        (delete,) = pages.find('Delete').elements
        assert delete.parent_slot.parent.props['data-refused'] == 'experiments.remove'


async def test_an_experiment_is_scheduled_from_its_page_which_then_says_so(
    pages: User, backend: Backend, over: Experiment
) -> None:
    await pages.open(f'/schedules?experiment={over.id}')
    await see(pages, 'New schedule')
    await until(lambda: bool(labelled(pages, 'When')))
    assert (control(pages, 'Name').value, control(pages, 'Starts').value) == (over.name, over.name)
    answer(pages, 'Save')
    await until(lambda: bool(labelled(pages, 'Run now: Loaves')))
    (schedule,) = await backend.services.schedules.list()
    assert schedule.experiment and schedule.experiment.name == over.name
    await pages.open(f'/experiments/{over.id}')
    await see(pages, 'Scheduled: Loaves, next', 'Schedule')
