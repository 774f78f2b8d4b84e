"""Saved tests: a run as the one case of an experiment, which expects what the run has done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from engine.operations.experiments.datasets import RECORDED_OPTIONS, Case, Recording
from engine.operations.experiments.files.yaml_file import ExperimentFile
from engine.operations.experiments.records import Experiment, ScorerSpec, Variant
from engine.records import Launch, RunInfo, Shape, Status, Transition, View

STATUS, WAY, ANSWER = 'status', 'way', 'answer'
"""The names of the scorers of a saved test."""
VARIANT: Final = 'as it is'


def saved_test(info: RunInfo, shape: Shape, view: View, steps: Sequence[Transition]) -> ExperimentFile:
    """Return a test that expects what a run did.

    Args:
        info: the run.
        shape: its chart, which says what its answer is.
        view: the run after these steps.
        steps: all of them, from the first.
    """
    answer = view.memory.get(shape.answer) if shape.answer else None
    launch = Launch.of(info)
    base = Launch(pattern=info.pattern, **{name: getattr(launch, name) for name in RECORDED_OPTIONS})
    visits = Counter(path for step in steps for path in step.entered)
    conditions = {
        'visited': sorted(visits),
        'visits': {path: count for path, count in sorted(visits.items()) if count > 1},
        'tokens': view.usage.total,
    }
    # A replay stops where its recording does, so it cannot end as a run that goes on.
    status = None if view.status is Status.RUNNING else view.status
    name = ' '.join(f'{info.title[:150]} ({info.id[:6]})'.split())
    return ExperimentFile(
        experiment=Experiment(
            name=name,
            dataset=name,
            base=base,
            variants=(Variant(name=VARIANT),),
            scorers=scorers_of(status, conditions, answer),
            recorded=True,
        ),
        cases=(
            Case(
                id=info.id,
                parameters=dict(info.parameters),
                expectation=_expected(answer),
                recording=Recording(
                    pattern=info.pattern,
                    seed=info.seed,
                    options=base.options,
                    shape=shape,
                    steps=tuple(steps),
                ),
            ),
        ),
    )


def scorers_of(status: Status | None, conditions: Mapping[str, Any], answer: Any) -> tuple[ScorerSpec, ...]:
    """Return the scorers of a saved test.

    Args:
        status: how the run has to end; None if that does not matter.
        conditions: settings of the path scorer; empty ones are left out.
        answer: what the case expects, for the kind of scorer: a text has to be contained.
    """
    return tuple(_scorers(status, conditions, answer))


def _scorers(status: Status | None, conditions: Mapping[str, Any], answer: Any) -> Iterator[ScorerSpec]:
    if status:
        yield ScorerSpec(name=STATUS, kind='status', settings={'status': [status.value]})
    given = {name: value for name, value in conditions.items() if value not in (None, [], {})}
    yield ScorerSpec(name=WAY, kind='path', settings={**given, 'any_end': True})
    expected = _expected(answer)
    if isinstance(expected, str):
        settings = {'case_matters': True, 'any_end': True}
        yield ScorerSpec(name=ANSWER, kind='contains', settings=settings)
    elif expected is not None:
        yield ScorerSpec(name=ANSWER, kind='equal', settings={'any_end': True})


def _expected(answer: Any) -> Any:
    """Return what a case expects of an answer: white space around a text does not matter."""
    return answer.strip() or None if isinstance(answer, str) else answer
