"""Agents: the states of a chart file in which an agent works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel

from engine.agents.chart import agent
from engine.agents.criteria import Check, Criteria, Evidence
from engine.agents.spec import Role, RoleAssignment
from engine.charts.compiling.building import Build, Design, Variables
from engine.charts.compiling.language import Local
from engine.charts.compiling.people import compile_seat
from engine.charts.compiling.scope import DESIGN, Values, evaluation
from engine.charts.compiling.steps import Action, StepCompiler
from engine.charts.compiling.templates import is_template
from engine.charts.format import Agent, State, Until
from engine.charts.reading import Place
from engine.errors import EngineError
from engine.records import Event
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.expressions.compiler import Evaluation, Part
from engine.statechart.expressions.expression import compute
from engine.statechart.expressions.values import EvaluationError, is_number, kind_of
from engine.statechart.retry import Retry
from engine.statechart.shape_builder import listify

EVIDENCE = ('artifacts', 'text')
"""The names in a criterion of an agent's work."""
Think = Callable[[CallbackContext, Activity], Awaitable[dict[str, Any]]]
BuildAgent = Callable[[Build, str, Any, Variables], dict[str, Any]]
"""Builds an agent's state from its name, its time limit and the variables."""


class Computed:
    """A value that is computed from a run's data: a text for an agent, or a time limit."""

    def __init__(self, name: str, part: Part, variables: Mapping[str, Any]) -> None:
        self.__name__, self._part, self._variables = name, part, variables

    def value(self, scope: CallbackContext, event: Event) -> Any:
        """Return the value. Raises `EvaluationError`."""
        return compute(self._part, evaluation(scope, event, self._variables))


class Prompt(Computed):
    """An agent's task."""

    def __call__(self, scope: CallbackContext, event: Event) -> str:
        """Return the text."""
        return str(self.value(scope, event))


class Limit(Computed):
    """A time limit."""

    def __call__(self, scope: CallbackContext, event: Event) -> float | None:
        """Return the seconds, or None for no limit. Raises `EvaluationError`."""
        seconds = self.value(scope, event)
        if seconds is not None and not is_number(seconds):
            raise EvaluationError(f'within must be a number of seconds, not {kind_of(seconds)}')
        return None if seconds is None else float(seconds)


class Cast:
    """Picks the role of an agent that may play several."""

    def __init__(self, role: Part, visit: Part, variables: Mapping[str, Any]) -> None:
        self.__name__ = 'cast'
        self._role, self._visit, self._variables = role, visit, variables

    def __call__(self, scope: CallbackContext, event: Event) -> RoleAssignment:
        """Return the role. Raises `EvaluationError`."""
        run = evaluation(scope, event, self._variables)
        role, visit = compute(self._role, run), compute(self._visit, run)
        return RoleAssignment(str(role), visit if isinstance(visit, int) and visit > 0 else 1)


class AgentCompiler:
    """Compiles the agent of a state.

    Args:
        steps: compiles its actions.
    """

    def __init__(self, steps: StepCompiler) -> None:
        self._language, self._steps = steps.language, steps

    def compile(
        self,
        state: State,
        path: Place,
        local: Local,
        actions: Mapping[str, Action | None],
        output: type[BaseModel] | None,
    ) -> BuildAgent:
        """Return what builds the state."""
        language, spec = self._language, state.agent
        assert spec is not None
        at = (*path, 'agent')
        if not state.prompt.strip():
            language.note(path, 'an agent needs a `prompt`')
        self._check_roles(spec, at)
        if bool(spec.roles) == bool(spec.role) or bool(spec.roles) != bool(spec.cast):
            language.note(at, 'give one role, or several with a `cast` that picks one')
        named: list[tuple[Place, str]] = [
            ((*at, 'roles', number), name) for number, name in enumerate(spec.roles)
        ]
        roles = [
            Design(language.template(name, place, local, DESIGN), place)
            for place, name in named or [((*at, 'role'), spec.role)]
        ]
        prompt = language.template(state.prompt, (*path, 'prompt'), local)
        cast = language.part(spec.cast or 'null', (*at, 'cast'), local)
        visit = language.part(spec.visit or '1', (*at, 'visit'), local)
        until = self._criteria(spec.until, (*at, 'until')) if spec.until else None
        retry = Retry(**spec.retry.model_dump()) if spec.retry else None
        seat = state.seat
        add_seat = (
            compile_seat(self._steps, seat, output, actions['then'], ((*path, 'seat'), local))
            if seat
            else None
        )
        refusals = [
            (
                language.condition(item.if_, (*at, 'refuse', number, 'if'), local),
                language.template(item.error, (*at, 'refuse', number, 'error'), local),
            )
            for number, item in enumerate(spec.refuse)
        ]

        def build(run: Build, name: str, within: Any, variables: Variables) -> dict[str, Any]:
            wanted = [role for design in roles for role in _find_roles(run, design, variables)]
            if not wanted:
                raise run.problem(at, 'there is no role that it could play')
            built = agent(
                name,
                wanted if spec.roles else wanted[0],
                cast=Cast(cast, visit, variables) if spec.roles else '',
                output=output,
                prompt=Prompt('prompt', prompt, variables),
                then=_bound(actions['then'], variables) or '',
                enter=_bound(actions['enter'], variables) or '',
                tools=spec.tools,
                turns=spec.turns,
                folder=spec.folder,
                until=until,
                may_be_silent=spec.may_be_silent,
                within=within,
                retry=retry,
            )
            if refusals:
                thinking = built['children'][0]
                thinking['invoke'] = partial(_refuse_or_think, refusals, variables, thinking['invoke'])
            if on_step := _bound(actions['on_step'], variables):
                built['transitions'] = [
                    {**edge, 'after': [on_step, *listify(edge.get('after'))]} for edge in built['transitions']
                ]
            return add_seat(built, variables) if add_seat else built

        return build

    def _check_roles(self, spec: Agent, path: Place) -> None:
        roles = self._language.file.roles
        if any(role.for_ for role in roles.values()):
            return
        for name in (spec.role, *spec.roles):
            if name and name not in roles and not is_template(name):
                listed = ', '.join(roles) or 'none'
                self._language.note(path, f'there is no role {name!r}; available: {listed}')

    def _criteria(self, until: Until, path: Place) -> Criteria:
        checks = [
            Check(
                name=item.name,
                missing=item.missing,
                holds=partial(
                    _is_met, self._language.part(item.must, (*path, 'checks', number, 'must'), (), EVIDENCE)
                ),
            )
            for number, item in enumerate(until.checks)
        ]
        given = until.model_dump(exclude={'checks'})
        return Criteria(**given, checks=tuple(checks))


def _find_roles(run: Build, design: Design, variables: Variables) -> tuple[Role, ...]:
    """Return the role with a name, or all that it stands for. Raises `PatternError`."""
    name = str(run.value(design, variables))
    if name not in run.roles:
        listed = ', '.join(run.roles) or 'none'
        raise run.problem(design.path, f'there is no role {name!r}; available: {listed}')
    return run.roles[name]


def _bound(action: Action | None, variables: Mapping[str, Any]) -> Action | None:
    return action.bind(variables) if action else None


def _is_met(part: Part, evidence: Evidence) -> bool:
    values = Values({'artifacts': dict(evidence.artifacts), 'text': evidence.text})
    try:
        return bool(compute(part, Evaluation(values)))
    except EvaluationError:
        return False


async def _refuse_or_think(
    refusals: Sequence[tuple[Part, Part]],
    variables: Mapping[str, Any],
    think: Think,
    scope: CallbackContext,
    activity: Activity,
) -> dict[str, Any]:
    """Fail for the first reason that holds, else ask the model. Raises `EngineError`."""
    run = evaluation(scope, Event(name='', at=scope.path), variables)
    for test, error in refusals:
        if compute(test, run):
            raise EngineError(str(compute(error, run)))
    return await think(scope, activity)
