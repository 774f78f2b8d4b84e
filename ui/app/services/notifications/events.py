"""Finds notable events: questions, endings, failures and budgets of runs; ends of experiments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from engine import Catalog, LocalConductor, Status, Transition
from engine.journal import Fold
from engine.operations.experiments import Experiment
from engine.records import Instant, Launch, StatePath
from ui.app.services.inbox import question_path
from ui.app.services.inbox.questions import find_asks
from ui.app.services.notifications.destinations import EventType
from ui.app.services.schedules import Schedule, Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something about a run or an experiment to notify people of."""

    event: EventType | Literal['test']
    step: int
    time: Instant
    text: str
    """A sentence."""
    number: int = 0
    """Counts the notices of a step."""
    path: str = ''
    """The path of the page about it; by default that of the run at the step."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Further details for programs."""


def find_notices(catalog: Catalog, fold: Fold, steps: Iterable[Transition]) -> Iterator[Notice]:
    """Yield the notices for `steps`, which continue a fold; the fold is advanced."""
    waits = {state.path for state in fold.shape.states if state.waits}
    turn: list[Transition] = []
    for step in steps:
        if turn and not step.raised:
            yield from _of_turn(catalog, fold, turn, waits)
            turn = []
        turn.append(step)
    if turn:
        yield from _of_turn(catalog, fold, turn, waits)


def _of_turn(catalog: Catalog, fold: Fold, turn: list[Transition], waits: set[StatePath]) -> Iterator[Notice]:
    """Yield the notices for one event and its consequences."""
    ended = fold.projection.status.ended
    fold.apply_all(turn)
    notices: list[Notice] = []
    for step in turn:
        if step.event.name in ('warn', 'exhaust') and not step.raised:
            data = {'budget': str(step.event.data.get('budget', ''))}
            notices.append(_notice('run.budget_warned', step, str(step.event.data.get('reason', '')), data))
    entered = {path for step in turn for path in step.entered} & waits
    if entered:
        for ask in find_asks(catalog, fold.shape, fold.view):
            if ask.at in entered and ask.step >= turn[0].seq:
                question = {'question': ask.id, 'digest': ask.digest, 'answers': list(ask.events)}
                notice = _notice('run.waiting', turn[-1], ask.text, question)
                notices.append(replace(notice, path=question_path(ask.id)))
    if fold.projection.status.ended and not ended:
        notices.append(_ending(fold, turn[-1]))
    for number, notice in enumerate(notices):
        yield replace(notice, number=number)


async def find_experiment_notices(conductor: LocalConductor, experiment: Experiment) -> Sequence[Notice]:
    """Return the notices for an experiment that is over: that it is, and whether it has regressed."""
    answer = (await conductor.experiments.answer(experiment.id)).text if experiment.state == 'done' else ''
    regression = await conductor.experiments.regression(experiment) if answer else ''
    data = {'experiment': experiment.id, 'title': experiment.name, 'state': experiment.state}
    over = Notice(
        event='experiment.done',
        step=0,
        time=experiment.ended,
        text=answer or f'{experiment.state.capitalize()}: {experiment.reason or "no reason given"}',
        path=f'/experiments/{experiment.id}',
        data=data | {'pattern': experiment.base.pattern, 'tags': list(experiment.base.tags)},
    )
    worse = replace(over, event='experiment.regressed', text=regression, number=1)
    return [over, worse] if regression else [over]


UNSTARTED_WORDS: Mapping[str, str] = {
    'failed': 'could not start',
    'skipped': 'did not start this time',
    'missed': 'has missed a time',
}


def unstarted_notice(schedule: Schedule, tick: Tick) -> Notice:
    """Return the notice for a due time at which a schedule has started nothing."""
    return Notice(
        event='schedule.not_started',
        step=0,
        time=tick.due,
        text=f'{schedule.name} {UNSTARTED_WORDS[tick.state]}: {tick.reason}',
        path='/schedules',
        data={
            'schedule': schedule.id,
            'title': schedule.name,
            'state': tick.state,
            'pattern': schedule.pattern,
            'tags': list(launch_of_schedule(schedule).tags),
        },
    )


def launch_of_schedule(schedule: Schedule) -> Launch:
    """Return the run that a schedule starts, or how its experiment runs cases."""
    assert schedule.launch  # It was checked when it was stored.
    return schedule.launch


def _ending(fold: Fold, step: Transition) -> Notice:
    status, reason = fold.projection.status, fold.projection.reason
    data = {'status': str(status), 'error': reason}
    event: EventType = 'run.failed' if status is Status.FAILED else 'run.ended'
    done = 'Done with issues' if reason else 'Done'
    word = {Status.FAILED: 'Failed', Status.CANCELLED: 'Cancelled'}.get(status, done)
    return _notice(event, step, f'{word}: {reason}' if reason else word, data)


def _notice(event: EventType, step: Transition, text: str, data: Mapping[str, Any]) -> Notice:
    return Notice(event=event, step=step.seq, time=step.time, text=text, data=data)
