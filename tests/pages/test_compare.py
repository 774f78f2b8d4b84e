"""The comparison page without a browser: its verdicts, and the errors if there are not two runs."""

import pytest
from nicegui.testing import User

from engine import Conductor, LocalConductor
from engine.history import diff_words
from engine.records import RunId
from tests.support.harness import FakeModel, Lone, catalog, complete_run, pipeline_reply
from tests.support.pages.clicks import see
from tests.support.pages.serving import serve
from ui.web.pages.compare import page as compare
from ui.web.pages.compare.chart import path_layer, position_layer
from ui.web.pages.compare.player import difference_starts
from ui.web.pages.shared import compare_picker, errors
from ui.web.pages.shared.compare_picker import find_relatives, search_runs


@pytest.fixture
async def conductor():
    async with LocalConductor(catalog=catalog(FakeModel(pipeline_reply), Lone)) as conductor:
        yield conductor


@pytest.fixture
def pages(user: User, conductor: Conductor) -> User:
    serve(conductor, compare, errors)
    return user


async def ran(conductor: Conductor, **parameters) -> str:
    run = await complete_run(conductor, 'pipeline', {'task': 'Compare tea and coffee', **parameters})
    return run


async def test_the_page_says_where_and_why_runs_diverge(pages, conductor):
    a, b = await ran(conductor), await ran(conductor, max_iterations=0)
    await pages.open(f'/compare?a={a}&b={b}')
    await see(pages, 'The runs diverge at step', 'No revisions left: no in A, yes in B: A went')
    await see(pages, 'Go to divergence', 'The runs diverge here')


async def test_the_same_run_twice(pages, conductor):
    a = await ran(conductor)
    await pages.open(f'/compare?a={a}&b={a}')
    await pages.should_see('The same run twice')
    await pages.should_not_see('The runs diverge here')
    await pages.should_see('1 / ')  # it opens at the first row


async def test_an_unknown_run(pages, conductor):
    a = await ran(conductor)
    answer = await pages.http_client.get(f'/compare?a={a}&b=nowhere')
    assert (answer.status_code, 'There is no run “nowhere”' in answer.text) == (404, True)


async def test_no_runs_are_named(pages):
    await pages.open('/compare')
    await pages.should_see('Choose two runs')


@pytest.mark.parametrize('at', ['0', '1', '999999', 'x'])
async def test_any_row_can_be_opened(pages, conductor, at):
    a, b = await ran(conductor), await ran(conductor)
    await pages.open(f'/compare?a={a}&b={b}&at={at}')
    await pages.should_see('The runs took the same path')


async def list_relatives(conductor: Conductor, run: RunId) -> dict[str, list[RunId]]:
    """List the runs offered for comparison with one, by their captions."""
    relatives = await find_relatives(conductor, await conductor.info(run))
    return {title: [info.id for info in infos] for title, infos in relatives.items()}


async def test_the_family_is_offered_first(conductor, monkeypatch):
    monkeypatch.setattr(compare_picker, 'MAX_RUNS', 2)
    parent = await ran(conductor)
    child = await conductor.fork(parent, 3)
    twin, lost = await conductor.fork(parent, 5), await conductor.fork(parent, 5)
    nephew = await conductor.fork(twin, 4)
    for run in (child, twin, lost, nephew):
        await conductor.result(run)
    await conductor.delete(lost)
    strangers = [await ran(conductor) for _ in range(3)]  # newer than the whole family
    assert await list_relatives(conductor, child) == {
        'Forked from': [parent],
        'Forked from the same run': [twin],
        'Related': [nephew],
        'Same pattern': strangers[::-1],
    }
    assert await list_relatives(conductor, parent) == {
        'Forks': [twin, child],
        'Related': [nephew],
        'Same pattern': strangers[::-1],
    }
    await conductor.delete(parent)
    await conductor.purge(parent)
    assert (await list_relatives(conductor, nephew))['Forked from'] == [twin]


async def test_any_run_is_found_by_text_or_id(conductor):
    one, other = await ran(conductor), (await conductor.start('lone', title='A zebra')).id
    await conductor.result(other)
    info = await conductor.info(one)
    for text in ('zebra', other):
        assert [run.id for run in (await search_runs(conductor, info, text))['Results']] == [other]
    for text in ('giraffe', one, 'nobody'):
        assert await search_runs(conductor, info, text) == {}


async def test_the_diagram_shows_both_paths_even_with_folded_agents(conductor):
    comparison = await conductor.compare(await ran(conductor), await ran(conductor, max_iterations=0))
    layer = path_layer(comparison, frozenset())
    assert layer['edges']['reviewing>analyzing'] == {
        'classes': 'path-a', 'badge': 'A', 'title': 'Taken 1 time in A, 0 times in B',
    }  # fmt: skip
    assert layer['states']['reviewing']['badge'] == 'A2 B1'
    assert layer['states']['reviewing']['classes'] == 'path-both'
    folded = path_layer(comparison, frozenset({'reviewing', 'analyzing'}))
    assert 'reviewing.thinking' not in folded['states']
    assert folded['states']['reviewing'] == layer['states']['reviewing']
    assert folded['edges']['reviewing>analyzing'] == layer['edges']['reviewing>analyzing']


async def test_the_active_states_of_both_are_marked_on_visible_states(conductor):
    run = await ran(conductor)
    steps = await conductor.transitions(run)
    spots = position_layer((steps[2], steps[11]), frozenset({'researching'}))
    assert spots['states']['researching']['badge'] == 'A here'
    assert (
        position_layer((steps[2], steps[2]), frozenset({'researching'}))['states']['researching']['badge']
        == 'A+B here'
    )


async def test_the_next_difference_is_a_new_path_or_other_text(conductor):
    comparison = await conductor.compare(await ran(conductor), await ran(conductor, max_iterations=0))
    assert comparison.divergence is not None
    assert difference_starts(comparison.rows) == [comparison.divergence.row]
    same = await conductor.compare(comparison.a.info.id, await ran(conductor, task='Another question'))
    assert difference_starts(same.rows) == [place for place, row in enumerate(same.rows) if row.facets] != []


def test_words_in_only_one_text_are_highlighted():
    assert diff_words('one two three', 'one 2 three') == (
        [(True, 'one '), (False, 'two'), (True, ' three')],
        [(True, 'one '), (False, '2'), (True, ' three')],
    )
    assert diff_words('a b', 'a b') == ([(True, 'a b')], [(True, 'a b')])
    assert diff_words('word ' * 4_000, 'x') is None
