"""Prepares runs: checks what is asked for, finds the chart, and restores what was recorded."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from engine.activity import Services
from engine.attempt import choices
from engine.catalog import Catalog
from engine.chart import Chart
from engine.errors import EngineError, EventRefused, InvalidInput, PatternError
from engine.options import OF_ONE, checked
from engine.path import is_active
from engine.pattern import Pattern, problems
from engine.plain import plain
from engine.reads import built
from engine.records import (
    CONTROL,
    EXHAUSTED,
    Budget,
    Event,
    RunId,
    RunInfo,
    Shape,
    StatePath,
    Status,
    Usage,
    View,
)
from engine.shape import START, walk
from engine.state import RunState
from engine.stepping.breakpoint import dumped
from engine.stepping.checking import checked as placed
from engine.view import Fold, Ledger

FROM_OUTSIDE = frozenset({'pause', 'resume', 'step', 'breakpoints', 'cancel', 'edit', 'extend'})
"""Events of the engine's that a person may send; the others it sends itself."""
MOST_CHARTS = 100


class Charts:
    """Charts by pattern and, where these shape the chart, by the parameters that it is made of."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._charts: dict[object, Chart] = {}
        """The one that was used last is the last."""
        self._read: dict[type[Pattern], set[frozenset[str]]] = {}
        """The fields that charts of a pattern were made of; which, may depend on the values of others."""

    def of(self, workflow: Pattern) -> Chart:
        """The chart of a pattern with its parameters. Raises `PatternError`."""
        made, chart = type(workflow), None
        for names in self._read.get(made, ()):
            key = _key(workflow, names)
            chart = self._charts.pop(key, None)
            if chart:
                break
        if not chart:
            chart, names = built(workflow)
            self._check_tools(workflow)
            self._read.setdefault(made, set()).add(names)
            key = _key(workflow, names)
            while len(self._charts) >= MOST_CHARTS:
                del self._charts[next(iter(self._charts))]
        self._charts[key] = chart
        return chart

    def _check_tools(self, workflow: Pattern) -> None:
        for path, _, state in walk(workflow.chart_states()):
            for name in state['agent'].tools if 'agent' in state else ():
                if name not in self._services.tools and not self._services.mcp.has(name):
                    raise PatternError(workflow.name, f'there is no tool {name!r}', where=f'state {path!r}')


def _key(workflow: Pattern, names: frozenset[str]) -> object:
    return type(workflow), names, workflow.parameters.model_dump_json(include=set(names))


def workflow_of(catalog: Catalog, info: RunInfo) -> Pattern:
    """The pattern of a run, as the run has it. Raises `UnknownPattern`, `InvalidInput`."""
    made = catalog.pattern(info.pattern)
    workflow = made(made.parse(info.parameters))
    workflow.instructed = info.options.get('instructions', {})
    return workflow


def begun(workflow: Pattern) -> RunState:
    """The data a run starts with. Raises `PatternError`."""
    try:
        return RunState(workflow, workflow.remember())
    except ValidationError as error:
        listed = '; '.join(f'{field}: {problem}' for field, problem in problems(error).items())
        raise PatternError(workflow.name, f'it cannot start: {listed}', where='Memory') from None


def restored(fold: Fold, workflow: Pattern, chart: Chart) -> RunState:
    """The live data of a recorded run. Raises `EngineError` where its pattern has changed too much."""
    unknown = [path for path in fold.ledger.active if path not in chart.states and path != START]
    if unknown:
        raise EngineError(f'pattern {workflow.name!r} has no state {unknown[0]!r} any more')
    try:
        state = RunState.load(workflow, fold.document)
        state.notices = fold.ledger.meter.notices
        return state
    except ValidationError as error:
        listed = '; '.join(f'{field}: {problem}' for field, problem in problems(error).items())
        raise EngineError(f'the memory of pattern {workflow.name!r} has changed: {listed}') from None


def launched(  # noqa: PLR0913  (what a launch form has)
    pattern: Pattern,
    services: Services,
    *,
    title: str,
    tags: Sequence[str],
    models: Mapping[str, str],
    seed: int,
    owner: str,
    options: Mapping[str, Any],
    like: RunInfo | None = None,
    budget: Budget | None = None,
) -> RunInfo:
    """The summary of a new run, or of one that replays what was recorded of `like`. Raises `InvalidInput`."""
    parameters, now = pattern.parameters.model_dump(mode='json'), services.clock.now()
    return RunInfo(
        id=RunId(uuid.uuid4().hex[:12]),
        pattern=pattern.name,
        title=title.strip() or title_of(pattern),
        parameters=parameters,
        models=dict(models or (like.models if like else {})),
        seed=seed,
        options=checked(options),
        budget=budgeted(budget),
        created=now,
        updated=now,
        simulated=like.simulated if like else simulated(services, models),
        tags=tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip())),
        owner=owner,
        epoch=1,
    )


def opened(options: Mapping[str, Any], workflow: Pattern, shape: Shape) -> Mapping[str, Any]:
    """Options with the breakpoints that a run begins with as they are kept. Raises `InvalidInput`."""
    if not options.get('breakpoints'):
        return options
    found = placed(options['breakpoints'], shape, type(workflow).Memory.model_fields)
    return {**options, 'breakpoints': dumped(found)}


def budgeted(budget: Budget | None) -> Budget | None:
    """A budget as it is kept: None where it limits nothing. Raises `InvalidInput`."""
    if budget is not None:
        budget.check()
    return budget if budget and budget.limits() else None


def born_of(parent: RunInfo, *, owner: str, now: float) -> RunInfo:
    """The summary of a run that begins as `parent` did, at its first step."""
    return replace(
        parent,
        id=RunId(uuid.uuid4().hex[:12]),
        options={name: value for name, value in parent.options.items() if name not in OF_ONE},
        status=Status.RUNNING,
        created=now,
        updated=now,
        seq=0,
        usage=Usage(),
        error='',
        waiting='',
        parent=parent.id,
        parent_at=0,
        owner=owner,
        epoch=1,
        bytes=0,
        starred=False,
        pinned=False,
        deleted=0.0,
    )


def forked(parent: RunInfo, view: View, *, owner: str, now: float, budget: Budget | None) -> RunInfo:
    """The summary of a run that begins as `parent` was at `view`. Raises `EventRefused`."""
    if view.status.ended:
        raise EventRefused(parent.id, 'fork', f'at step {view.seq} it is {view.status}')
    made = born_of(parent, owner=owner, now=now)
    return replace(
        made,
        options={name: value for name, value in made.options.items() if name != 'replay'},
        status=view.status,
        seq=view.seq,
        usage=view.usage,
        budget=budget,
        waiting=parent.waiting,
        parent_at=view.seq,
        epoch=0,
    )


def simulated(services: Services, models: Mapping[str, str]) -> bool:
    """Whether all models chosen for a run only play. Raises `InvalidInput` for one that is not there."""
    unknown = {
        f'models.{role}'
        if role
        else 'models': f'there is no model {name!r}; there are: {", ".join(services.models)}'
        for role in models
        for name in choices(models, role)
        if name not in services.models
    }
    if unknown:
        raise InvalidInput(unknown)
    chosen = {name for role in models for name in choices(models, role)}
    chosen |= set() if '' in models else {'scripted'} & set(services.models)
    return all(services.models[name].simulated for name in chosen)


def unpriced_models(services: Services, info: RunInfo) -> list[str]:
    """Those chosen for a run whose price is known not to be known. Reads the list of prices: blocks."""
    named = {name for role in {'', *info.models} for name in choices(info.models, role)}
    found = [(name, services.models[name]) for name in sorted(named) if name in services.models]
    one = Usage(input=1, output=1)
    return [
        name
        for name, model in found
        if not model.simulated and (price := getattr(model, 'price', None)) and price(one) is None
    ]


def title_of(pattern: Pattern) -> str:
    """A line for lists: what the run is about."""
    line = ' '.join(pattern.task[:1_000].split())
    return (line if len(line) <= 80 else f'{line[:79].rstrip()}…') or pattern.title


def outside_event(run: RunId, ledger: Ledger, name: str, at: str, data: Mapping[str, Any] | None) -> Event:
    """An event as somebody sends it.

    Raises:
        EventRefused: only the engine may send it, or it is addressed to a state that is not active.
        InvalidInput: its data is not JSON.
    """
    if name in CONTROL - FROM_OUTSIDE or name in ('done', 'expired', 'always', EXHAUSTED):
        raise EventRefused(run, name, 'only the engine sends it')
    if at and not is_active(at, ledger.active):
        raise EventRefused(run, name, f'{at!r} is not active')
    try:
        return Event(name=name, at=StatePath(at), data=plain(dict(data or {})))
    except (ValueError, TypeError) as error:
        raise InvalidInput({'data': f'it is not JSON: {error}'}) from None
