"""Intervals, p values and numbers of cases: as SciPy and statsmodels compute them, on random tables."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from engine.operations.experiments.answer.levels import ALPHA, holm
from engine.operations.experiments.answer.paired import POWER, cases_needed, chance, interval
from engine.operations.experiments.answer.sequential import BETS, SymmetryTest

TABLES = 200
KINDS = ('normal', 'skewed', 'binary', 'one apart', 'huge')


def draw(seed: int, cases: int | None = None) -> np.ndarray:
    """Return differences of one of five kinds."""
    rng = np.random.default_rng(seed)
    size = cases or int(rng.integers(2, 12))
    match KINDS[seed % len(KINDS)]:
        case 'normal':
            return rng.normal(rng.normal(), 1, size)
        case 'skewed':
            return rng.exponential(size=size) ** 2
        case 'binary':
            return rng.integers(0, 2, size) - rng.integers(0, 2, size).astype(float)
        case 'one apart':
            return np.r_[np.zeros(size - 1), 1.0]
    return rng.choice([0, 1e-50, 1e49], size)


def exact_p(differences: np.ndarray) -> float:
    """Return the p value of all ways to choose signs."""
    signs = np.array(list(product((-1, 1), repeat=len(differences))))
    sums = signs @ differences
    slack = 1e-13 * abs(differences).sum()
    tails = [(sums >= differences.sum() - slack).mean(), (sums <= differences.sum() + slack).mean()]
    return min(1.0, 2 * min(tails))


@pytest.mark.parametrize('kind', range(len(KINDS)), ids=KINDS)
def test_p_values_are_those_of_all_ways_to_choose_signs(kind: int) -> None:
    for seed in range(kind, TABLES, len(KINDS)):
        differences = draw(seed)
        assert chance(differences) == pytest.approx(exact_p(differences)), differences


def test_many_p_values_at_once_are_those_of_each() -> None:
    table = np.array([draw(seed, cases=20) for seed in range(0, TABLES, len(KINDS))])
    one_by_one = [float(chance(row)) for row in table]
    assert chance(table) == pytest.approx(one_by_one, abs=0.02)  # Their signs are drawn apart.


def test_intervals_are_those_of_scipys_paired_bootstrap() -> None:
    for seed in range(TABLES):
        differences = draw(seed)
        base = np.random.default_rng(seed + TABLES).normal(size=len(differences))
        low, high = interval(differences)
        assert low <= differences.mean() <= high or np.isclose(low, high)
        if KINDS[seed % len(KINDS)] != 'normal' or len(differences) < 6:
            continue
        expected = stats.bootstrap(
            (base + differences, base),
            lambda one, other, axis: (one - other).mean(axis=axis),
            paired=True,
            vectorized=True,
            rng=np.random.default_rng(0),
        ).confidence_interval
        slack = 0.01 * float(np.ptp(differences))  # Ties of its statistic depend on rounding.
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=slack)


def test_adjusted_p_values_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    for _ in range(TABLES):
        p_values = rng.random(rng.integers(1, 9)) ** 3
        assert holm(p_values) == pytest.approx(multipletests(p_values, method='holm')[1])


def test_numbers_of_cases_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(2)
    for _ in range(TABLES):
        differences = rng.normal(0, rng.uniform(0.1, 10), 20)
        worth = float(differences.std(ddof=1) * rng.uniform(0.1, 0.9))
        needed = cases_needed(differences, worth, ALPHA)
        effect = worth / differences.std(ddof=1)
        assert needed == pytest.approx(TTestPower().solve_power(effect, alpha=ALPHA, power=POWER), abs=1.5)


def test_no_number_of_cases_is_named_where_none_can_be_known() -> None:
    assert cases_needed([0.1, 0.1], 0.05, ALPHA) is None
    assert cases_needed([0.1], 0.05, ALPHA) is None
    assert cases_needed([0.1, 0.2], 0.0, ALPHA) is None
    assert cases_needed([-1e6, 1e6], 0.01, ALPHA) == 100_000


def test_the_sequential_test_is_a_fair_bet_on_signs() -> None:
    distances = np.random.default_rng(3).exponential(size=8)
    wealth = []
    for signs in product((-1, 1), repeat=len(distances)):
        test = SymmetryTest()
        for difference in distances * signs:
            test.add(difference)
        wealth.append(test.wealth)
    assert np.mean(wealth) == pytest.approx(1)
    assert len(BETS) > 1 and max(wealth) > 5


def test_the_sequential_test_ignores_the_unit_of_scores() -> None:
    differences = np.random.default_rng(4).normal(1, 1, 30)
    tests = [SymmetryTest() for _ in range(3)]
    for test, unit in zip(tests, (1, 1e-40, 1e40), strict=True):
        for difference in differences:
            test.add(difference * unit)
    assert tests[0].p == pytest.approx(tests[1].p) == pytest.approx(tests[2].p)
    assert tests[0].p < 0.01
