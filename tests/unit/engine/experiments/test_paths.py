"""Where the paths of variants part, and what runs scored that went there."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from engine.operations.experiments.answer.path_records import RunPath
from engine.operations.experiments.answer.paths import compare_paths
from engine.operations.experiments.answer.way_effects import chances_between
from engine.records import Dwell, PathStats, StatePath

REVISING, WRITING = StatePath('revising'), StatePath('writing')
Way = Callable[[np.random.Generator], tuple[int, float]]
"""How often a run revises, and what it scores apart from its case."""


def run(case: str, variant: str, revisions: int, score: float | None) -> RunPath:
    stays = {WRITING: Dwell(visits=1, seconds=10)}
    edges = {(WRITING, 'done'): 1}
    if revisions:
        stays[REVISING] = Dwell(visits=revisions, seconds=5 * revisions, tokens=6 * revisions, dollars=9.0)
        edges[WRITING, 'revising'] = revisions
    return RunPath(case=case, variant=variant, score=score, stats=PathStats(seq=9, edges=edges, stays=stays))


def runs(steps: dict[str, Way], cases: int, repeats: int = 1, seed: int = 0) -> list[RunPath]:
    rng = np.random.default_rng(seed)
    paths = []
    for case in range(cases):
        ease = rng.normal()
        for variant, step in steps.items():
            for _ in range(repeats):
                revisions, score = step(rng)
                paths.append(run(f'case {case}', variant, revisions, ease + score))
    return paths


def test_where_variants_part_most_comes_first() -> None:
    rarely: Way = lambda rng: (int(rng.random() < 0.2), 0.0)  # noqa: E731
    mostly: Way = lambda rng: (int(rng.random() < 0.9), 0.0)  # noqa: E731
    answer = compare_paths('A', ('B',), runs({'A': rarely, 'B': mostly}, 40))
    first, edge, *rest = answer.places
    assert [str(first.place), str(edge.place)] == ['`revising`', '`writing` to `revising`']
    assert first.gap == pytest.approx(0.7, abs=0.15) and first.partings[0].clear
    assert [(item.gap, item.partings[0].clear) for item in rest] == [(0, False)] * 2


def test_a_place_says_how_often_each_variant_went_there_and_what_those_runs_scored() -> None:
    paths = [
        run('one', 'A', 2, 1.0),
        run('one', 'A', 0, 0.5),
        run('one', 'B', 1, None),
        run('two', 'A', 0, 0.1),
    ]
    answer = compare_paths('A', ('B',), paths)
    place = next(item for item in answer.places if str(item.place) == '`revising`')
    of_a, of_b = place.uses
    assert (of_a.runs, of_a.of, of_a.times, of_a.seconds) == (1, 3, 2 / 3, 10 / 3)
    assert (of_a.tokens, of_a.dollars) == (4, 3)
    assert (of_a.score, of_a.other_score) == (1.0, pytest.approx(0.3))
    assert (of_b.runs, of_b.times, of_b.score, of_b.other_score) == (1, 1, None, None)


def test_equal_variants_seldom_part_clearly() -> None:
    step: Way = lambda rng: (int(rng.integers(0, 4)), 0.0)  # noqa: E731
    answers = [compare_paths('A', ('B',), runs({'A': step, 'B': step}, 20, 1, seed)) for seed in range(60)]
    clear = [any(item.partings[0].clear for item in answer.places) for answer in answers]
    assert np.mean(clear) <= 0.15  # 5 % are expected.


def revise_twice(rng: np.random.Generator) -> tuple[int, float]:
    often = rng.random() < 0.5
    return (2 if often else 1), 2.0 * often + rng.normal(0, 0.3)


def test_what_runs_of_the_same_cases_scored_that_went_a_certain_way_is_said() -> None:
    (effect,) = compare_paths('A', (), runs({'A': revise_twice}, 20, 4)).effects
    assert (effect.variant, str(effect.place), effect.at_least) == ('A', '`revising`', 2)
    assert effect.same_cases and effect.low < 2 < effect.high
    assert effect.text.startswith(
        '43 runs of “A” that went through `revising` at least twice scored 1.96 higher ('
    )
    assert effect.text.endswith(' than 37 others of the same cases.')


def test_without_repeats_it_is_said_that_the_cases_may_be_why() -> None:
    (effect,) = compare_paths('A', (), runs({'A': revise_twice}, 60)).effects
    assert not effect.same_cases and effect.low < 2 < effect.high
    assert effect.text.endswith(' others of other cases, which may be why.')


def test_nothing_is_said_where_the_way_says_nothing_about_the_score() -> None:
    step: Way = lambda rng: (int(rng.integers(0, 3)), rng.normal())  # noqa: E731
    any_effect = [bool(compare_paths('A', (), runs({'A': step}, 15, 3, seed)).effects) for seed in range(60)]
    assert np.mean(any_effect) <= 0.15  # 5 % are expected.


def test_nothing_is_said_of_few_runs() -> None:
    assert compare_paths('A', (), runs({'A': revise_twice}, 4, 10)).effects == ()
    assert compare_paths('A', ('B',), []).places == ()


def test_two_thousand_runs_through_a_large_chart_take_seconds() -> None:
    rng = np.random.default_rng(1)
    states = [StatePath(f'state {number}') for number in range(60)]
    paths = []
    for case in range(500):
        for variant in 'ABCD':
            visits = rng.integers(0, 3, len(states))
            stays = {path: Dwell(visits=int(count)) for path, count in zip(states, visits, strict=True)}
            edges = {
                (states[0], path): int(count) for path, count in zip(states, visits, strict=True) if count
            }
            stats = PathStats(seq=1, stays=stays, edges=edges)
            paths.append(RunPath(case=str(case), variant=variant, score=float(rng.random()), stats=stats))
    before = time.process_time()
    compare_paths('A', ('B', 'C', 'D'), paths)
    assert time.process_time() - before < 30


def test_chances_of_ways_are_those_of_scipy() -> None:
    rng = np.random.default_rng(2)
    shares, means = (rng.random((5, 12)) < 0.5).astype(float), rng.normal(size=12)
    for row, p in zip(shares, chances_between(shares, means), strict=True):
        expected = stats.permutation_test(
            (row,), lambda sample: sample @ (means - means.mean()), permutation_type='pairings', rng=3
        )
        assert p == pytest.approx(expected.pvalue, abs=0.03)
