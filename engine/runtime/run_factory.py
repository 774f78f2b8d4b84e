"""Run factory: validates launch options, finds charts, and restores recorded state."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from engine.configuration.catalog import Catalog
from engine.errors import EngineError, EventRefused, InvalidInput, PatternError
from engine.journal.projection import Fold, RunProjection
from engine.models.protocol import SCRIPTED, candidate_models
from engine.records import (
    CONTROL,
    ENDINGS,
    EXHAUSTED,
    Budget,
    Event,
    Launch,
    RunId,
    RunInfo,
    StatePath,
    Status,
    Usage,
    View,
)
from engine.records.effort import role_effort
from engine.records.jsonable import clip, refuse_nul, to_jsonable
from engine.records.run_info import tidy
from engine.records.shape import is_active
from engine.runtime.activity import Services
from engine.runtime.chart_builder import build_chart
from engine.runtime.stubs import all_stubbed
from engine.statechart.chart import Chart
from engine.statechart.pattern import Pattern, validation_problems
from engine.statechart.run_state import RunState
from engine.statechart.shape_builder import START, walk
from engine.tools import Tool
from engine.tools.acp import AGENT_PREFIX

EXTERNAL_CONTROL = frozenset({'pause', 'resume', 'step', 'breakpoints', 'cancel', 'edit', 'extend'})
"""Control events that a person may send; only the engine sends the others."""
MAX_CHARTS = 100
ACTOR: ContextVar[str] = ContextVar('actor', default='')
"""The account on whose behalf the engine is called; '' without logins. Events from outside carry it."""


@contextmanager
def acting_as(name: str) -> Iterator[None]:
    """Call the engine on somebody's behalf: events sent and runs started meanwhile are theirs."""
    before = ACTOR.set(name)
    try:
        yield
    finally:
        ACTOR.reset(before)


class ChartCache:
    """Caches charts by pattern and by the values of the parameters they depend on."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._charts: dict[object, Chart] = {}
        """Ordered by last use, the most recent last."""
        self._dependencies: dict[type[Pattern], set[frozenset[str]]] = {}
        """The sets of parameters that a pattern's charts depend on; their values decide which one applies."""

    def of(self, workflow: Pattern) -> Chart:
        """Return the chart of a pattern with its parameters. Raises `PatternError`."""
        pattern, chart = type(workflow), None
        for names in self._dependencies.get(pattern, ()):
            key = _key(workflow, names)
            chart = self._charts.pop(key, None)
            if chart:
                break
        if not chart:
            chart, names = build_chart(workflow)
            self._check_tools(workflow)
            self._dependencies.setdefault(pattern, set()).add(names)
            key = _key(workflow, names)
            while len(self._charts) >= MAX_CHARTS:
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
    """Return the pattern of a run, with the run's parameters. Raises `UnknownPattern`, `InvalidInput`."""
    pattern = catalog.pattern_of(info)
    workflow = pattern(pattern.parse_recorded(info.parameters))
    workflow.instruction_overrides = info.options.get('instructions', {})
    return workflow


def initial_state(workflow: Pattern) -> RunState:
    """Return the data a run starts with. Raises `PatternError`."""
    try:
        return RunState(workflow, workflow.remember())
    except ValidationError as error:
        problems = '; '.join(f'{field}: {problem}' for field, problem in validation_problems(error).items())
        raise PatternError(workflow.name, f'it cannot start: {problems}', where='Memory') from None


def restore_state(fold: Fold, workflow: Pattern, chart: Chart) -> RunState:
    """Return the live data of a recorded run. Raises `EngineError` if its pattern has changed too much."""
    unknown = [path for path in fold.projection.active if path not in chart.states and path != START]
    if unknown:
        raise EngineError(f'pattern {workflow.name!r} no longer has a state {unknown[0]!r}')
    try:
        state = RunState.load(workflow, fold.document)
        state.notices, state.unchanged = fold.projection.meter.notices, fold.unchanged
        return state
    except ValidationError as error:
        problems = '; '.join(f'{field}: {problem}' for field, problem in validation_problems(error).items())
        raise EngineError(f'the memory of pattern {workflow.name!r} has changed: {problems}') from None


def new_run_id() -> RunId:
    """Return a random id of 12 hexadecimal digits."""
    return RunId(uuid.uuid4().hex[:12])


def new_run_info(
    launch: Launch, pattern: Pattern, services: Services, *, replayed_run: RunInfo | None = None
) -> RunInfo:
    """Return the summary of a new run, or of one that replays `replayed_run`. Raises `InvalidInput`."""
    options, models, now = launch.options, launch.models, services.clock.now()
    refuse_nul({'title': launch.title, 'tags': launch.tags, **options})
    if replayed_run is None:
        check_options(services, models, options)
    else:
        options |= {name: replayed_run.options[name] for name in REPLAYED if name in replayed_run.options}
    return RunInfo(
        id=new_run_id(),
        pattern=pattern.name,
        version=pattern.version,
        title=tidy(launch.title) or title_of(pattern),
        parameters=pattern.parameters.model_dump(mode='json'),
        models=dict(models or (replayed_run.models if replayed_run else {})),
        seed=launch.seed,
        options=options,
        budget=normalize_budget(launch.budget),
        created=now,
        updated=now,
        simulated=replayed_run.simulated
        if replayed_run
        else check_simulated(services, models) or all_stubbed(pattern, launch.stubs),
        tags=tuple(dict.fromkeys(filter(None, map(tidy, launch.tags)))),
        author=ACTOR.get(),
        private=launch.private,
        epoch=1,
    )


def normalize_budget(budget: Budget | None) -> Budget | None:
    """Return a budget as stored: None if it limits nothing. Raises `InvalidInput`."""
    if budget is not None:
        budget.check()
    return budget if budget and budget.limits() else None


def child_run_info(parent: RunInfo, *, owner: str, now: float) -> RunInfo:
    """Return the summary of a run that starts as `parent` did, from its first step."""
    return replace(
        parent,
        id=new_run_id(),
        options={name: value for name, value in parent.options.items() if name not in NOT_INHERITED},
        status=Status.RUNNING,
        created=now,
        updated=now,
        seq=0,
        usage=Usage(),
        error='',
        waiting='',
        parent=parent.id,
        parent_at=0,
        author=ACTOR.get() or parent.author,
        owner=owner,
        epoch=1,
        bytes=0,
        starred=False,
        pinned=False,
        deleted=0.0,
    )


def fork_run_info(parent: RunInfo, view: View, *, owner: str, now: float, budget: Budget | None) -> RunInfo:
    """Return the summary of a run that starts from `parent` at `view`. Raises `EventRefused`."""
    if view.status.ended:
        raise EventRefused(parent.id, 'fork', f'at step {view.seq} it is {view.status}')
    child = child_run_info(parent, owner=owner, now=now)
    return replace(
        child,
        options={name: value for name, value in child.options.items() if name != 'replay'},
        status=view.status,
        seq=view.seq,
        usage=view.usage,
        budget=budget,
        waiting=parent.waiting,
        parent_at=view.seq,
        epoch=0,
    )


def check_simulated(services: Services, models: Mapping[str, str]) -> bool:
    """Return whether all models chosen for a run are simulated. Raises `InvalidInput` for an unknown one."""
    unknown = {
        f'models.{role}'
        if role
        else 'models': f'there is no model {name!r}; available: {", ".join(services.models)}'
        for role in models
        for name in candidate_models(models, role)
        if name not in services.models
    }
    if unknown:
        raise InvalidInput(unknown)
    check_agents(services, models)
    chosen = {name for role in models for name in candidate_models(models, role)}
    chosen |= set() if '' in models else {SCRIPTED} & set(services.models)
    return all(services.models[name].simulated for name in chosen)


def unknown_names(
    workflow: Pattern,
    services: Services,
    *,
    by_role: Mapping[str, Iterable[str]],
    tools: Mapping[str, Iterable[str]],
) -> dict[str, str]:
    """Return the problems with settings by role, by field: unknown roles and unknown tools.

    Args:
        workflow: the pattern with its parameters.
        services: the tools available.
        by_role: the roles each setting names, as in `{'instructions': ['writer']}`; '' is for all roles.
        tools: the tools given for each role.
    """
    agents = [state['agent'] for _, _, state in walk(workflow.chart_states()) if 'agent' in state]
    roles = {role.name for spec in agents for role in spec.possible_roles}
    problems = {
        f'{what}.{role}': f'there is no role {role!r}; available: {join_names(roles)}'
        for what, named in by_role.items()
        for role in sorted(set(named) - roles - {''})
    }
    for role, names in tools.items():
        unknown = [name for name in names if name not in services.tools and not services.mcp.has(name)]
        if unknown:
            problems[f'tools.{role}'] = (
                f'there is no tool {unknown[0]!r}; available: {join_names(services.tools)}'
            )
    return problems


FILE_TOOLS = frozenset({'files', 'commands'})
"""The categories of tools that look into the agent's folder."""


def folders_of_files(
    workflow: Pattern,
    available: Mapping[str, Tool],
    *,
    models: Mapping[str, str],
    tools: Mapping[str, Iterable[str]],
) -> list[str]:
    """Return the folders of the agents that can use files: with such tools, or as an external agent.

    Args:
        workflow: the pattern with its parameters.
        available: the tools there are, by name.
        models: the models chosen, by role.
        tools: the tools given, by role, instead of the pattern's.
    """
    folders = []
    for path, _, state in walk(workflow.chart_states()):
        if 'agent' not in state:
            continue
        spec: Any = state['agent']
        for role in spec.possible_roles:
            names = tools.get(role.name, role.tools if spec.roles else spec.tools)
            able = any(name in available and available[name].category in FILE_TOOLS for name in names)
            if able or candidate_models(models, role.name)[0].startswith(AGENT_PREFIX):
                folders.append(spec.folder or path)
    return list(dict.fromkeys(folders))


def join_names(names: Iterable[str]) -> str:
    """Join names for an error message."""
    return ', '.join(sorted(names)) or 'none'


def check_agents(services: Services, models: Mapping[str, str]) -> None:
    """Raise `InvalidInput` for an external agent that cannot be used, or not with fallbacks."""
    problems: dict[str, str] = {}
    for role in models:
        names = candidate_models(models, role)
        field = f'models.{role}' if role else 'models'
        for name in names:
            if problem := getattr(services.models[name], 'problem', ''):
                problems[field] = f'{name}: {problem}'
            elif len(names) > 1 and name.startswith(AGENT_PREFIX):
                problems[field] = f'{name}: an external agent cannot have or be a fallback: name it alone'
    if problems:
        raise InvalidInput(problems)


def check_options(services: Services, models: Mapping[str, str], options: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for a reasoning effort or approvals that a chosen model does not support."""
    problems: dict[str, str] = {}
    effort, approvals = options.get('effort', {}), options.get('approvals', 'marked')
    for role in {*effort, *models}:
        level = role_effort(effort, role)
        for name in candidate_models(models, role):
            model = services.models.get(name)
            problem_of = getattr(model, 'effort_problem', None)
            if level and problem_of and (problem := problem_of(level)):
                problems['.'.join(filter(None, ('effort', role)))] = f'{name}: {problem}'
            problem_of = getattr(model, 'approvals_problem', None)
            if problem_of and (problem := problem_of(approvals)):
                problems['approvals'] = f'{name}: {problem}'
    if problems:
        raise InvalidInput(problems)


def find_unpriced_models(services: Services, info: RunInfo) -> list[str]:
    """Return the chosen live models without a known price. Reads the price list: blocks."""
    named = {name for role in {'', *info.models} for name in candidate_models(info.models, role)}
    chosen = [(name, services.models[name]) for name in sorted(named) if name in services.models]
    sample = Usage(input=1, output=1)
    return [
        name
        for name, model in chosen
        if not model.simulated and (price := getattr(model, 'price', None)) and price(sample) is None
    ]


TITLE_WORDS, MAX_DERIVED_TITLE = 6, 60
"""The most words and characters of a title that is derived from a task."""


def title_of(pattern: Pattern) -> str:
    """Return the default title: the first words of the task, or the pattern's title."""
    words = pattern.task[:1_000].split()
    start = clip(' '.join(words[:TITLE_WORDS]), MAX_DERIVED_TITLE)
    is_cut = len(words) > TITLE_WORDS and not start.endswith('…')
    return f'{start.rstrip(",;:.")}…' if is_cut else start or pattern.title


def event_key(run: RunId, key: str, name: str, at: str, data: Mapping[str, Any] | None) -> str:
    """Return a sender's key as journaled: hashed with the run, the sender and the event it is for."""
    if not key:
        return ''
    try:
        about = json.dumps([run, ACTOR.get(), key, name, at, dict(data or {})], sort_keys=True).encode()
    except (ValueError, TypeError):
        return ''  # The event will be refused.
    return hashlib.blake2b(about, digest_size=8).hexdigest()


def refuse_internal(run: RunId, projection: RunProjection, name: str, at: str) -> None:
    """Refuse an event that only the engine may send, or for a state that is not active: `EventRefused`."""
    if name in CONTROL - EXTERNAL_CONTROL or name in (ENDINGS - {'failed'}) | {'always', EXHAUSTED}:
        raise EventRefused(run, name, 'only the engine can send it')
    if at and not is_active(at, projection.active):
        raise EventRefused(run, name, f'{at!r} is not active')


def outside_event(name: str, at: str, data: Mapping[str, Any] | None, key: str) -> Event:
    """Build an event from a caller's values. Raises `InvalidInput` if its data is not JSON."""
    try:
        values = to_jsonable(dict(data or {}))
        refuse_nul(values)
        return Event(name=name, at=StatePath(at), data=values, who=ACTOR.get(), key=key)
    except (ValueError, TypeError) as error:
        raise InvalidInput({'data': f'it is not JSON: {error}'}) from None


REPLAYED = ('effort', 'stubs')
"""Options of a run that its replay has, too: they decide which calls are made."""
NOT_INHERITED = ('kind', 'group', 'play', 'begins', 'paused', 'breakpoints')
"""Options that derived runs do not inherit: the run's origin, the tag it shares with variants, what it
replays of its parent, the data of its first step, whether it starts paused, and its breakpoints."""
