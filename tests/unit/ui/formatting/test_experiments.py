"""Experiments in tables, words and pictures."""

import re
from dataclasses import replace
from itertools import product

import pytest

from engine import Budget
from engine.operations.experiments import (
    Amounts,
    Cell,
    Estimate,
    Experiment,
    PathAnswer,
    PlaceStats,
    PlaceUse,
    Plan,
    Score,
    ScorerSpec,
    Variant,
)
from engine.operations.experiments.answer.path_records import Parting, Place
from engine.records import Launch, RunId, StatePath, Status
from ui.formatting.experiments.estimate import plan_sentences
from ui.formatting.experiments.paths import amount_words, path_layer, path_lines, state_uses
from ui.formatting.experiments.pictures import Point, front, pareto
from ui.formatting.experiments.table import DISAGREEMENT, SCORE, CellTable, figure, signed
from ui.formatting.experiments.words import (
    change_parts,
    progress_words,
    proposed_name,
    variant_words,
    without_part,
)


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
    table.places = {'unread': 0, 'broken': 1, 'lost': 2}
    assert table.order() == ['unread', 'broken', 'lost', 'alike'], (
        'as in the dataset; what is unknown is last'
    )


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


def test_an_estimate_says_what_is_usual_what_is_most_and_what_is_not_known() -> None:
    most = Amounts(calls=5_000.0, tokens=2e6, dollars=31.0)
    usual = Amounts(calls=150.0, tokens=21_000.0, dollars=None)
    estimate = Estimate(least_calls=64.0, most=most, usual=usual, earlier=20, unknown=('judge',))
    plan = Plan(cases=8, runs=16, judges=16, estimate=estimate, changed={'larger': ('models',)})
    experiment = Experiment(
        name='e',
        dataset='d',
        base=Launch(pattern='pipeline'),
        variants=(Variant(name='base'), Variant(name='larger')),
        scorers=(ScorerSpec(name='good', kind='model'),),
        budget=Budget(cost=5.0),
    )
    assert plan_sentences(plan, experiment) == [
        '16 runs to make (8 cases \N{MULTIPLICATION SIGN} 2 variants), and up to 16 runs of judges.',
        'About 150 calls, 21k tokens, at a cost that is not known for these models, by the medians of'
        ' 20 earlier runs, without those of judge, none of which has ended yet.',
        'At worst 64 to 5k calls, 2M tokens, $31.00, with all turns and attempts.',
        'Once $5.00 are used, no more runs start.',
        '“larger” is run again, since this has changed: models.',
    ]
    unknown = replace(estimate, most=Amounts(calls=None), usual=None, unknown=('pipeline', 'judge'))
    assert plan_sentences(replace(plan, estimate=unknown), experiment)[1:3] == [
        'What they usually use is not known, since no run of pipeline or judge has ended yet.',
        'At least 64 calls; nothing bounds how many.',
    ]


def test_a_variant_is_named_by_its_change() -> None:
    change = {'parameters': {'max_rounds': 3}, 'models': {'': 'a/b'}, 'instructions': {'writer': 'Be short.'}}
    assert variant_words(Variant(name='x', change=change)) == (
        'max rounds = 3, all: a/b, Writer: “Be short.”'
    )
    assert variant_words(Variant(name='x')) == 'the base, unchanged'


def test_the_parts_of_a_change_are_named_and_taken_back_one_by_one() -> None:
    change = {
        'instructions': {'writer': None},
        'stubs': {'writer': ['Fine.', 'Good.'], 'reviewer': ['No.']},
        'budget': {'tokens': 1_000, 'cost': 2.5, 'warn': 0.8},
        'version': '',
    }
    parts = change_parts(change)
    assert [part.words for part in parts] == [
        'Writer: instructions of the pattern',
        'Writer: 2 stubs',
        'Reviewer: 1 stub',
        'budget: 1,000 tokens, $2.50',
        'version of today',
    ]
    assert without_part(change, parts[1])['stubs'] == {'reviewer': ['No.']}
    left = change
    for part in parts:
        left = without_part(left, part)
    assert left == {} and proposed_name(left, ['as it is']) == 'as it is (2)'


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


def test_names_of_points_in_one_place_cover_neither_each_other_nor_a_point() -> None:
    names = ['as it is', 'a name of a variant that is much too long for a picture', 'stricter', 'strictest']
    points = [
        Point(name=name, score=0.1, spent=1000 + 9 * at, is_on_front=False) for at, name in enumerate(names)
    ]
    drawn = pareto(
        [*points, Point(name='x', score=0.9, spent=2000, is_on_front=True)], measure='right', unit='tokens'
    )
    texts = re.findall(
        r'class="name" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">(?:<title>.*?</title>)?(.*?)<', drawn
    )
    assert texts[1][3] == 'a name of a variant that is muc…'
    dots = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    boxes = [(x - 5, y - 5, x + 5, y + 5) for x, y in dots]
    for x, y, anchor, text in texts:
        left = float(x) - (6 * len(text) if anchor == 'end' else 0)
        boxes.append((left, float(y) - 12, left + 6 * len(text), float(y)))
    covered = [
        (one, other)
        for one, other in product(boxes[len(dots) :], boxes)
        if one is not other
        and one[0] < other[2]
        and other[0] < one[2]
        and one[1] < other[3]
        and other[1] < one[3]
    ]
    assert covered == []


def use(variant: str, runs: int, times: float) -> PlaceUse:
    """How ten runs of a variant used a place."""
    return PlaceUse(
        variant=variant, runs=runs, of=10, times=times, seconds=2.0, tokens=1_200.0, dollars=0.004 * times,
        score=None, other_score=None,
    )  # fmt: skip


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


def test_cost_and_time_are_those_of_the_states_without_others_in_them() -> None:
    rows = state_uses(PATHS)
    assert [path for path, _ in rows] == ['writing.thinking', 'reviewing']
    uses = rows[0][1]
    assert amount_words(uses['new']) == '$0.0080 · 1.2k tokens · 2.0 s'
    assert amount_words(replace(uses['new'], dollars=None)) == 'cost unknown · 1.2k tokens · 2.0 s'
    assert amount_words(replace(uses['new'], dollars=0.0, tokens=0.0, seconds=0.0)) == ''


def test_no_difference_has_no_sign() -> None:
    assert [signed(value) for value in (0.5, -0.5, 0.0, -0.0)] == ['+0.50', '\N{MINUS SIGN}0.50', '0', '0']
