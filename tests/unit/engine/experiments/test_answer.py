"""Answers from runs: verdicts, what is left out, early stops, and all of it in words."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from engine import InvalidInput
from engine.operations.experiments.answer import CellResult, Design, EarlyStop, Measure, find_answer

QUALITY = Measure(name='quality')
Score = Callable[[int, int], float | None]


def runs(variant: str, cases: Sequence[int], score: Score, repeats: int = 1, **more: Any) -> list[CellResult]:
    """Return runs of a variant with scores by case and repeat, one case after the other."""
    return [
        CellResult(
            case=f'case {case}',
            variant=variant,
            repeat=repeat,
            scores={'quality': score(case, repeat)},
            ended=float(case),
            **more,
        )
        for case in cases
        for repeat in range(repeats)
    ]


def design(cases: int, *variants: str, **more: Any) -> Design:
    return Design(
        **{'base': 'A', 'variants': variants or ('B',), 'measures': (QUALITY,), 'cases': cases, **more}
    )


def noise(case: int, repeat: int) -> float:
    """Return something from 0 to 1 that looks random."""
    return (case * 37 + repeat * 53) % 101 / 100


def say(plan: Design, *cells: list[CellResult], **more: Any) -> str:
    return find_answer(plan, [cell for listed in cells for cell in listed], **more).text


FORTY = range(40)
BASE = runs('A', FORTY, noise, dollars=0.5)


def test_a_better_variant_is_named_with_its_interval_and_its_cost() -> None:
    better = runs('B', FORTY, lambda case, _: noise(case, 0) + 0.1 + (case % 5 - 2) / 10, dollars=0.9)
    answer = find_answer(design(40), [*better, *BASE])
    assert (
        answer.text
        == '“B” is better than “A” by 0.100 (0.057 to 0.145) on 40 cases, and costs 1.8 times as much.'
    )
    assert answer.best == 'B' and answer.comparisons[0].cost_ratio == pytest.approx(1.8)


def test_where_less_is_better_the_lower_score_wins() -> None:
    seconds = Measure(name='quality', lower_is_better=True)
    faster = runs('B', FORTY, lambda case, _: noise(case, 0) - 0.1 - case % 5 / 100)
    assert say(design(40, measures=(seconds,)), BASE, faster).startswith('“B” is better than “A” by 0.12')
    assert say(design(40), BASE, faster).startswith('“B” is worse than “A” by 0.12')


def test_no_visible_difference_is_an_answer_and_says_how_many_cases_would_be_needed() -> None:
    alike = runs('B', range(12), lambda case, _: noise(case, 0) + (case % 3 - 1) / 10)
    text = say(design(12), runs('A', range(12), noise), alike)
    assert text == (
        'No difference between “B” and “A” can be seen with 12 cases (difference 0.000, -0.042 to 0.042);'
        ' some 18 would be needed for 0.06.'
    )
    many = runs('B', FORTY, lambda case, _: noise(case, 0) + (case % 3 - 1) / 10)
    assert say(design(40), BASE, many).endswith('; one of 0.06 would probably have been seen.')


def test_repeats_are_not_cases() -> None:
    base, better = runs('A', range(5), noise, 20), runs('B', range(5), lambda *at: noise(*at) + 0.2, 20)
    text = say(design(5, repeats=20), base, better)
    assert text == '5 cases cannot tell “B” from “A” (difference 0.20, 0.20 to 0.20): at least 6 are needed.'


@pytest.mark.parametrize(
    ('plan', 'cells', 'text'),
    [
        (design(0), [], 'There are no cases.'),
        (replace(design(40), variants=()), BASE, 'There is no variant to compare “A” with.'),
        (design(40), [], 'No run has ended yet.'),
        (design(40), BASE, 'No run of “B” has ended yet.'),
        (design(40), runs('B', FORTY, noise), 'No run of “A” has ended yet.'),
        (design(40), [*BASE, *runs('B', FORTY, noise)], '“B” and “A” scored the same on each of 40 cases.'),
        (
            design(1),
            [*runs('A', [1], noise), *runs('B', [1], noise)],
            '“B” and “A” scored the same on 1 case.',
        ),
        (
            design(1),
            [*runs('A', [1], noise), *runs('B', [1], lambda *_: 1)],
            '1 case cannot tell “B” from “A” (difference 0.63, 0.63 to 0.63): at least 6 are needed.',
        ),
        (
            design(40),
            [*BASE, *runs('B', FORTY, lambda *_: None, failed=True)],
            'Every run of “B” failed (40).',
        ),
        (design(40), [*BASE, *runs('B', FORTY, lambda *_: None)], 'No run of “B” was scored.'),
        (design(40), [*BASE, *runs('B', FORTY, lambda *_: float('nan'))], 'No run of “B” was scored.'),
        (
            design(40),
            [*BASE, *runs('B', range(40, 80), noise)],
            '“B” and “A” have no case on which both were scored.',
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_said_plainly(plan: Design, cells: list[CellResult], text: str) -> None:
    assert find_answer(plan, cells).text == text


def test_failed_and_unscored_runs_are_left_out_and_counted() -> None:
    scored = runs('B', range(10, 40), lambda case, _: noise(case, 0) + 0.3 + case % 2 / 10)
    failed, unscored = (
        runs('B', range(6), lambda *_: None, failed=True),
        runs('B', range(6, 10), lambda *_: None),
    )
    answer = find_answer(design(40), [*BASE, *scored, *failed, *unscored])
    assert answer.text.endswith(
        'on 30 cases. 10 cases left out: a run failed or was not scored. 6 of 40 runs of “B” failed.'
    )
    of_b = answer.variants[1]
    assert (of_b.runs, of_b.failed, of_b.scores[0].not_scored, of_b.scores[0].cases) == (40, 6, 4, 30)


def test_a_failed_run_counts_if_its_scorer_judges_failures() -> None:
    failed = runs('B', FORTY, lambda case, _: noise(case, 0) - 0.5, failed=True)
    assert say(design(40), BASE, failed).startswith('“B” is worse than “A” by 0.50')


def test_a_summary_tells_the_spread_between_repeats_from_that_between_cases() -> None:
    cells = runs('A', range(4), lambda case, repeat: 10 * case + repeat, 3, tokens=5, seconds=2, dollars=1)
    summary = find_answer(design(4, repeats=3), cells).variants[0]
    assert (summary.scores[0].mean, summary.scores[0].spread) == (16, 1)
    assert (summary.tokens, summary.seconds, summary.dollars) == (5, 2, 1)
    unknown = find_answer(design(4), [*cells, *runs('A', [5], noise)]).variants[0]
    assert unknown.dollars is None


def test_several_variants_share_the_chance_of_error() -> None:
    slightly = runs('B', FORTY, lambda case, _: noise(case, 0) + (case % 5 - 1.4) / 10)
    others = {name: runs(name, FORTY, lambda case, _: 1 - noise(case, 0)) for name in ('C', 'D', 'E')}
    alone = find_answer(design(40), [*BASE, *slightly]).comparisons[0]
    cells = [*BASE, *slightly, *(cell for cells in others.values() for cell in cells)]
    together = find_answer(design(40, 'B', *others), cells)
    assert alone.standing == 'better' and together.comparisons[0].standing == 'unclear'
    assert together.comparisons[0].adjusted_p == pytest.approx(4 * together.comparisons[0].p)
    assert together.best == ''


def test_further_measures_are_reported_and_do_not_decide() -> None:
    cells = [
        CellResult(case=str(case), variant=name, scores={'quality': 0.5, 'length': case + 10 * (name == 'B')})
        for case in range(20)
        for name in 'AB'
    ]
    answer = find_answer(design(20, measures=(QUALITY, Measure(name='length', lower_is_better=True))), cells)
    assert answer.text == '“B” and “A” scored the same on each of 20 cases.'
    assert answer.comparisons[1].text == 'By length: “B” is worse than “A” by 10 (10 to 10) on 20 cases.'
    assert answer.best == ''


def test_nothing_is_concluded_before_all_runs_have_ended() -> None:
    better = runs('B', range(20), lambda case, _: noise(case, 0) + 0.5 + case % 3 / 10)
    so_far = find_answer(design(40), [*BASE[:20], *better])
    assert (so_far.comparisons[0].standing, so_far.comparisons[0].p, so_far.best) == ('open', None, '')
    assert so_far.text == (
        '“B” against “A” so far, on 20 cases of 40: difference 0.595, 0.560 to 0.631.'
        ' Nothing is concluded from a part of the runs.'
    )
    assert say(design(40), BASE[:20], better, cut_short=True).startswith('“B” is better than “A” by 0.595')


def test_a_clear_difference_can_stop_a_variant_early_and_stays_clear() -> None:
    plan = design(40, 'B', 'C', early_stop=True)
    stop = EarlyStop(plan)
    cells: list[CellResult] = []
    for case in range(40):
        better = runs('B', [case], lambda case, _: noise(case, 0) + 0.5 + case % 3 / 10)
        for cell in (*runs('A', [case], noise), *better, *runs('C', [case], lambda at, _: noise(at * 7, 1))):
            stop.add(cell)
            cells.append(cell)
        if stop.settled:
            break
    assert stop.settled == ('B',) and 6 < case < 25
    answer = find_answer(plan, cells)
    assert answer.comparisons[0].settled and answer.best == 'B'
    assert f'on {case + 1} cases of 40, clear before the end' in answer.text
    assert answer.comparisons[1].standing == 'open'


def test_a_case_counts_for_an_early_stop_once_all_its_repeats_have_ended() -> None:
    plan = design(40, repeats=2, early_stop=True)
    stop = EarlyStop(plan)
    for cell in [*runs('A', FORTY, noise), *runs('B', FORTY, lambda *at: noise(*at) + 0.5, 2)]:
        stop.add(cell)
    assert stop.p_values == [1.0]
    for cell in runs('A', FORTY, noise):
        stop.add(cell)
    assert stop.settled == ('B',)


@pytest.mark.parametrize(
    ('fields', 'wrong'),
    [
        ({'variants': ('B', 'B')}, 'variants'),
        ({'variants': ('A',)}, 'variants'),
        ({'measures': ()}, 'measures'),
        ({'measures': (QUALITY, QUALITY)}, 'measures'),
        ({'cases': -1}, 'cases'),
        ({'repeats': 0}, 'repeats'),
    ],
)
def test_a_plan_that_compares_nothing_is_refused(fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        design(5, **fields) if 'cases' not in fields else design(**fields)
    assert list(refusal.value.problems) == [wrong]
