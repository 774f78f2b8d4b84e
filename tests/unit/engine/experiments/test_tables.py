"""Scores by case, against cost, and over versions."""

import pytest

from engine.experiments.answer import CellResult, Design, Measure, find_answer, find_trend, scores_by_case

QUALITY = Measure(name='quality')


def cell(variant: str, score: float | None, dollars: float | None = 1.0, case: str = 'one') -> CellResult:
    return CellResult(case=case, variant=variant, scores={'quality': score}, dollars=dollars)


def design(*variants: str, lower: bool = False) -> Design:
    measure = Measure(name='quality', lower_is_better=lower)
    return Design(base='A', variants=variants, measures=(measure,), cases=1)


@pytest.mark.parametrize(('lower', 'front'), [(False, ('A', 'D', 'C')), (True, ('A', 'B'))])
def test_the_front_is_what_nothing_beats_in_score_and_in_cost(lower: bool, front: tuple[str, ...]) -> None:
    cells = [
        cell('A', 0.5, 1.0),
        cell('B', 0.4, 2.0),
        cell('C', 0.9, 3.0),
        cell('D', 0.7, 2.0),
        cell('E', 0.9, 4.0),
        cell('F', 1.0, None),
        cell('G', None, 0.1),
    ]
    assert find_answer(design(*'BCDEFG', lower=lower), cells).front == front


def test_cases_on_which_variants_disagree_most_come_first() -> None:
    cells = [
        *[cell('A', 0.5, case='alike'), cell('B', 0.6, case='alike')],
        *[cell('A', 0.1, case='apart'), cell('A', 0.3, case='apart'), cell('B', 1.0, case='apart')],
        *[cell('A', 0.9, case='half'), cell('B', None, case='half')],
    ]
    apart, alike, half = scores_by_case(design('B'), cells)
    assert (apart.case, apart.disagreement, apart.scores) == (
        'apart',
        0.8,
        {'A': 0.2, 'B': 1.0},
    )
    assert (alike.case, alike.disagreement) == ('alike', pytest.approx(0.1))
    assert (half.case, half.disagreement, half.scores['B']) == ('half', None, None)


def test_a_trend_compares_versions_on_the_cases_they_share() -> None:
    def version(first: int, gain: float) -> list[CellResult]:
        return [cell('A', case / 10 + gain, case=str(case)) for case in range(first, first + 8)]

    one, two, apart = find_trend(
        'quality', [('1', version(0, 0)), ('2', version(2, 0.5)), ('3', []), ('4', version(50, 0))]
    )
    assert (one.version, one.cases, one.mean, one.change) == ('1', 8, pytest.approx(0.35), None)
    assert one.low < 0.35 < one.high
    assert two.mean == pytest.approx(1.05) and two.change == pytest.approx(0.5) == two.change_low
    assert (apart.version, apart.change, apart.change_high) == ('4', None, None)
