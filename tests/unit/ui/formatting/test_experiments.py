"""Experiments in tables, words and pictures."""

import pytest

from engine.operations.experiments import Cell, PathAnswer, PlaceStats, PlaceUse, Score, Variant
from engine.operations.experiments.answer.path_records import Parting, Place
from engine.records import RunId, StatePath, Status
from ui.formatting.experiments.paths import path_layer, path_lines, state_times
from ui.formatting.experiments.pictures import Point, front, pareto
from ui.formatting.experiments.table import DISAGREEMENT, SCORE, CellTable, figure
from ui.formatting.experiments.words import progress_words, variant_words


def cell(case: str, variant: str, value: float | None = None, *, repeat: int = 1, **more) -> Cell:
    """A run that has ended and was scored, unless `more` says otherwise."""
    given = {
        'state': 'scored',
        'status': Status.DONE,
        'scores': {'right': Score(value=value)},
        'changed': float(repeat),
    }
    key = f'{case}/{variant}/{repeat}'
    return Cell(
        id=key, experiment='e', case=case, variant=variant, repeat=repeat, run=RunId(key), **given | more
    )


@pytest.fixture
def table() -> CellTable:
    """Four cases: one alike, one that a variant loses, one that failed, one not scored."""
    table = CellTable(['base', 'new'], {'right': 'higher'}, repeats=1)
    table.add(
        [
            cell('alike', 'base', 0.5),
            cell('alike', 'new', 0.5),
            cell('lost', 'base', 1.0),
            cell('lost', 'new', 0.25),
            cell('broken', 'base', 1.0),
            cell('broken', 'new', status=Status.FAILED, scores={}),
            cell('unread', 'base', 0.75),
            cell('unread', 'new', None),
        ]
    )
    return table


def test_cases_are_sorted_by_disagreement_or_by_the_scores_of_a_variant(table: CellTable) -> None:
    assert table.order(DISAGREEMENT)[0] == 'lost'
    assert table.order(f'{SCORE}base') == ['lost', 'broken', 'unread', 'alike']
    assert table.order(f'{SCORE}new') == ['alike', 'lost', 'broken', 'unread'], 'what has no score is last'


def test_filters_tell_failed_runs_and_unscored_ones_from_low_scores(table: CellTable) -> None:
    assert table.order(show='failed') == ['broken']
    assert table.order(show='unscored') == ['unread']
    assert table.order(show='worse') == table.order(show='differ') == ['lost']
    assert table.order(text='LIK') == ['alike']


def test_a_row_has_the_score_its_gain_and_what_is_no_score(table: CellTable) -> None:
    (lost, broken) = table.lines(['lost', 'broken'])
    assert lost[2][:3] == ['0.25', '\N{MINUS SIGN}0.75', 'down'] and lost[2][6] == 0.25
    assert broken[2][0] == '' and broken[2][5] == [['failed', 'Failed']]


def test_a_run_that_stopped_is_told_from_one_with_a_low_score() -> None:
    table = CellTable(['base'], {'right': 'higher'}, repeats=1)
    table.add([cell('stopped', 'base', 0.0, status=Status.PAUSED), cell('low', 'base', 0.0)])
    (stopped, low) = table.lines(['stopped', 'low'])
    assert (stopped[1][0], stopped[1][5]) == ('0', [['failed', 'Failed']]) and low[1][5] == []
    assert table.order(show='failed') == ['stopped']


def test_where_lower_scores_are_better_a_lower_one_is_a_gain() -> None:
    table = CellTable(['base', 'new'], {'right': 'lower'}, repeats=1)
    table.add([cell('one', 'base', 8.0), cell('one', 'new', 2.0)])
    assert table.lines(['one'])[0][2][1:3] == ['\N{MINUS SIGN}6', 'up']
    assert table.order(show='worse') == []


def test_a_cell_changes_in_place_and_repeats_are_averaged() -> None:
    table = CellTable(['base'], {'right': 'higher'}, repeats=2)
    assert table.add([cell('one', 'base', state='running', status=None, scores={})]) == {'one'}
    assert len(table.running) == 1 and table.lines(['one'])[0][1][5] == [['running', '1 running']]
    table.add([cell('one', 'base', 0.5), cell('one', 'base', 1.0, repeat=2)])
    assert not table.running and table.cursor == 2.0
    assert table.lines(['one'])[0][1][:4] == ['0.75', '', '', '±0.35']
    assert progress_words(table, 4) == '2 of 4 runs'


def test_a_variant_is_named_by_its_change() -> None:
    change = {'parameters': {'max_rounds': 3}, 'models': {'': 'a/b'}, 'instructions': {'writer': 'Be short.'}}
    assert variant_words(Variant(name='x', change=change)) == (
        'max rounds = 3, all: a/b, Writer: other instructions'
    )
    assert variant_words(Variant(name='x')) == 'the base, unchanged'


@pytest.mark.parametrize(
    ('score', 'text'), [(1.0, '1'), (0.6, '0.60'), (0.052, '0.052'), (12.34, '12.3'), (1234.5, '1,234')]
)
def test_scores_have_as_many_figures_as_people_read(score: float, text: str) -> None:
    assert figure(score) == text


def test_the_front_has_what_no_other_beats_and_its_picture_names_all() -> None:
    points = [('cheap', 0.5, 1.0), ('best', 0.9, 4.0), ('dear', 0.8, 5.0)]
    assert front(points, higher=True) == {'cheap', 'best'}
    assert front(points, higher=False) == {'cheap'}
    drawn = pareto(
        [Point(name=f'<{n}>', score=s, spent=c, is_on_front=n != 'dear') for n, s, c in points],
        measure='right',
        unit='cost',
    )
    assert '&lt;dear&gt;' in drawn and '<dear>' not in drawn and drawn.count('dot best') == 2


def use(variant: str, runs: int, times: float) -> PlaceUse:
    """How ten runs of a variant used a place."""
    return PlaceUse(variant=variant, runs=runs, of=10, times=times, seconds=2.0, score=None, other_score=None)


def place(source: str, dest: str | None, base: float, new: float, gap: float) -> PlaceStats:
    """A place, how often runs of both variants went there, and how far they part."""
    return PlaceStats(
        place=Place(source=StatePath(source), dest=dest),
        uses=(use('base', 10 if base else 0, base), use('new', 10 if new else 0, new)),
        partings=(Parting(variant='new', gap=gap, adjusted_p=0.01, clear=gap > 0.5),),
    )


PATHS = PathAnswer(
    places=(
        place('writing', None, 1.0, 2.0, 1.0),
        place('writing.thinking', None, 1.0, 2.0, 1.0),
        place('reviewing', 'writing', 0.0, 1.0, 0.9),
        place('reviewing', None, 1.0, 1.0, 0.0),
    ),
    effects=(),
)


def test_the_diagram_shows_where_two_variants_part() -> None:
    layer = path_layer(PATHS, 'base', 'new', frozenset({'writing'}))
    assert set(layer['states']) == {'writing', 'reviewing'}, 'what is folded is not drawn'
    assert layer['states']['writing']['badge'] == '1→2\N{MULTIPLICATION SIGN}'
    assert layer['states']['reviewing']['classes'] == 'path-both'
    assert layer['edges']['reviewing>writing']['classes'] == 'path-b parting'


def test_partings_are_listed_by_their_gaps_without_what_is_folded() -> None:
    lines = path_lines(PATHS, 'base', 'new', frozenset({'writing'}))
    assert [(line.name, line.base) for line in lines] == [
        ('writing', '100% of runs, 1.0\N{MULTIPLICATION SIGN}'),
        ('reviewing>writing', 'never'),
    ]
    assert [path for path, _ in state_times(PATHS, ['base'])] == ['writing.thinking', 'reviewing']
