"""Runs share a chart if, and only if, the parameters it depends on are equal."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from engine import LocalConductor, Pattern
from engine.patterns.review.pattern import ParallelReview
from engine.runtime.activity import Activity
from engine.runtime.chart_builder import build_chart

TASKS = ('Sort a list of names by age', 'Read a number from a line of text')


class Wanted(BaseModel):
    """Parameters of the patterns below."""

    task: str = ''
    many: bool = False
    workers: int = 2
    pause: float = 1.0

    @property
    def crew(self) -> list[str]:
        return [f'worker{number}' for number in range(self.workers)]


class Base(Pattern):
    Parameters = Wanted
    initial = 'working'
    transitions = (['done', 'working', 'over'],)

    def ends(self) -> list[Any]:
        return [{'name': 'over', 'final': True}]

    async def work(self, memory: Any, activity: Activity) -> dict[str, Any]:
        return {}


class Branching(Base):
    def states(self) -> list[Any]:
        if not self.parameters.many:
            return [{'name': 'working', 'invoke': 'work'}, *self.ends()]
        crew = [{'name': name, 'invoke': 'work'} for name in self.parameters.crew]
        inside = [
            {
                'name': member['name'],
                'initial': 'at_it',
                'children': [{'name': 'at_it', 'invoke': 'work'}, {'name': 'gone', 'final': True}],
                'transitions': [['done', 'at_it', 'gone']],
            }
            for member in crew
        ]
        return [{'name': 'working', 'parallel': inside}, *self.ends()]


async def say(value: Any, scope: Any, activity: Activity) -> dict[str, Any]:
    return {'text': value.parameters.task if isinstance(value, Pattern) else value.task}


class Keeping(Base):
    """A pattern whose chart holds a reference to the pattern."""

    def states(self) -> list[Any]:
        return [{'name': 'working', 'invoke': partial(say, self)}, *self.ends()]


class KeepingParameters(Base):
    def states(self) -> list[Any]:
        return [{'name': 'working', 'invoke': partial(say, self.parameters)}, *self.ends()]


class Dumping(Base):
    def states(self) -> list[Any]:
        return [
            {'name': 'working', 'invoke': 'work', 'within': len(self.parameters.model_dump())},
            *self.ends(),
        ]


class Comparing(Base):
    def states(self) -> list[Any]:
        plain = self.parameters == Wanted()
        return [{'name': 'working', 'invoke': 'work', 'within': 10 if plain else 20}, *self.ends()]


class Preparing(Base):
    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        self.seconds = 10 + self.parameters.workers

    def states(self) -> list[Any]:
        return [{'name': 'working', 'invoke': 'work', 'within': self.seconds}, *self.ends()]


ALL = frozenset(Wanted.model_fields)


@pytest.mark.parametrize(
    ('pattern', 'values', 'names'),
    [
        (Branching, {}, {'many'}),
        (Branching, {'many': True}, {'many', 'workers'}),
        (Keeping, {}, ALL),
        (KeepingParameters, {}, ALL),
        (Dumping, {}, ALL),
        (Comparing, {}, ALL),
        (Preparing, {}, ALL),
    ],
)
def test_a_chart_depends_on_all_parameters_it_read_or_may_read(
    pattern: type[Pattern], values: dict[str, Any], names: set[str]
) -> None:
    assert build_chart(pattern(Wanted(**values)))[1] == names


def test_tracked_parameters_still_compare_as_equal() -> None:
    assert build_chart(Comparing(Wanted()))[0].states['working'].within == 10  # type: ignore[index]
    assert build_chart(Comparing(Wanted(task='x')))[0].states['working'].within == 20  # type: ignore[index]


async def test_a_chart_is_shared_by_runs_with_equal_parameters() -> None:
    async with LocalConductor() as conductor:
        charts = conductor._live.charts
        one = charts.of(Branching(Wanted(task='a')))
        assert charts.of(Branching(Wanted(task='b', workers=5))) is one
        many = charts.of(Branching(Wanted(task='a', many=True)))
        assert many is not one
        assert charts.of(Branching(Wanted(task='c', many=True, pause=2))) is many
        more = charts.of(Branching(Wanted(many=True, workers=3)))
        assert len(more.states) == len(many.states) + 3
        assert charts.of(Branching(Wanted())) is one


async def test_a_chart_that_keeps_its_parameters_is_not_shared() -> None:
    async with LocalConductor() as conductor:
        for item in (Keeping, KeepingParameters):
            for task in TASKS:
                invoke = conductor._live.charts.of(item(Wanted(task=task)))._invokes['working']  # type: ignore[index]
                assert (await invoke(None, None))['text'] == task  # type: ignore[operator]


async def test_parallel_reviews_of_different_tasks_share_one_chart() -> None:
    async with LocalConductor() as conductor:
        workflows = [ParallelReview(ParallelReview.parse({'task': task})) for task in TASKS]
        first, second = (conductor._live.charts.of(workflow) for workflow in workflows)
        assert first is second
        three = ParallelReview(ParallelReview.parse({'task': TASKS[0], 'coders': 3}))
        two = ParallelReview(ParallelReview.parse({'task': TASKS[0], 'coders': 2}))
        assert conductor._live.charts.of(three) is not conductor._live.charts.of(two)


async def test_the_least_recently_used_is_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('engine.runtime.run_factory.MAX_CHARTS', 2)
    async with LocalConductor() as conductor:
        charts = conductor._live.charts
        one = charts.of(Branching(Wanted()))
        charts.of(Branching(Wanted(many=True, workers=3)))
        assert charts.of(Branching(Wanted())) is one
        charts.of(Branching(Wanted(many=True, workers=4)))
        assert charts.of(Branching(Wanted())) is one
        assert len(charts._charts) == 2
