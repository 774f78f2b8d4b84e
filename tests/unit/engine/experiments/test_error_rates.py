"""By simulation: how often equal variants are called different, and a true difference is found."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from engine.operations.experiments.answer import CellResult, Design, Measure, find_answer
from engine.operations.experiments.answer.levels import ALPHA, EARLY_ALPHA, holm
from engine.operations.experiments.answer.paired import chance
from engine.operations.experiments.answer.sequential import SymmetryTest

EXPERIMENTS = 1_000
CASES = 30


def by_chance(experiments: int) -> float:
    """Return what a true rate of 5 % exceeds in one of a thousand such simulations."""
    return float(stats.binom.ppf(0.999, experiments, ALPHA)) / experiments


pytestmark = pytest.mark.slow

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

SCORES: dict[str, Draw] = {
    'normal': lambda rng, size: rng.normal(0, 1, size),
    'skewed': lambda rng, size: rng.exponential(size=size) ** 2,
    'binary': lambda rng, size: rng.integers(0, 2, size).astype(float),
    'rarely right': lambda rng, size: (rng.random(size) < 0.1).astype(float),
}


def called_different(scores: np.ndarray) -> tuple[float, float]:
    """Return the share of experiments that call any variant different from the first.

    Args:
        scores: by experiment, variant and case.

    Returns:
        tested at the end, and with an early stop.
    """
    differences = scores[:, 1:] - scores[:, :1]
    at_end = lowest(chance(differences))
    early = lowest(np.apply_along_axis(early_p, -1, differences))
    stopped = (early <= EARLY_ALPHA) | (at_end <= ALPHA - EARLY_ALPHA)
    return float((at_end <= ALPHA).mean()), float(stopped.mean())


def lowest(p_values: np.ndarray) -> np.ndarray:
    """Return the lowest adjusted p value of each experiment."""
    return np.array([min(holm(list(row))) for row in p_values])


def early_p(differences: np.ndarray) -> float:
    test = SymmetryTest()
    for difference in differences.tolist():
        test.add(difference)
    return test.p


@pytest.mark.parametrize('kind', SCORES)
def test_equal_variants_are_called_different_in_at_most_five_of_a_hundred(kind: str) -> None:
    scores = SCORES[kind](np.random.default_rng(7), (EXPERIMENTS, 2, CASES))
    assert max(called_different(scores)) <= by_chance(EXPERIMENTS)


def test_four_equal_variants_are_no_more_often_called_different_than_two() -> None:
    scores = SCORES['skewed'](np.random.default_rng(7), (EXPERIMENTS, 4, CASES))
    assert max(called_different(scores)) <= by_chance(EXPERIMENTS)


def test_a_difference_of_one_standard_deviation_is_found_on_thirty_cases() -> None:
    scores = np.random.default_rng(8).normal(0, 1, (EXPERIMENTS, 2, CASES))
    scores[:, 1] += 1
    assert min(called_different(scores)) >= 0.9


def test_an_early_stop_saves_cases() -> None:
    rng, used = np.random.default_rng(9), []
    for _ in range(200):
        test, differences = SymmetryTest(), rng.normal(1, 1, 100).tolist()
        while test.p > EARLY_ALPHA and differences:
            test.add(differences.pop())
        used.append(100 - len(differences))
    assert np.mean(used) < 25 and max(used) < 100


@pytest.mark.long
@pytest.mark.parametrize('kind', SCORES)
def test_the_rate_of_errors_in_many_experiments(kind: str) -> None:
    rates = [
        called_different(SCORES[kind](np.random.default_rng(seed), (EXPERIMENTS, 2, CASES)))
        for seed in range(20)
    ]
    at_end, with_early_stop = np.mean(rates, axis=0)
    print(f'{kind}: {at_end:.4f} at the end, {with_early_stop:.4f} with an early stop')
    assert max(at_end, with_early_stop) <= by_chance(20 * EXPERIMENTS)


@pytest.mark.long
@pytest.mark.parametrize('early_stop', [False, True], ids=['at the end', 'with early stop'])
@pytest.mark.parametrize(
    ('effect', 'least', 'most'), [(0.0, 0.0, by_chance(EXPERIMENTS)), (1.0, 0.9, 1.0)], ids=['equal', 'apart']
)
def test_whole_answers_err_as_seldom_as_their_p_values(
    effect: float, least: float, most: float, early_stop: bool
) -> None:
    rng = np.random.default_rng(10)
    plan = Design(
        base='A', variants=('B',), measures=(Measure(name='q'),), cases=CASES, early_stop=early_stop
    )
    called = []
    for _ in range(EXPERIMENTS):
        scores = rng.normal(0, 1, (2, CASES))
        cells = [
            CellResult(
                case=str(case),
                variant='AB'[variant],
                scores={'q': scores[variant, case] + effect * variant},
                ended=float(case),
            )
            for case in range(CASES)
            for variant in range(2)
        ]
        called.append(find_answer(plan, cells).comparisons[0].standing in ('better', 'worse'))
    assert least <= np.mean(called) <= most, np.mean(called)
