"""ChartPattern: the pattern that a chart file becomes; everything works with it as with one in Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from engine.agents.spec import Role
from engine.charts.compiling.agents import AgentCompiler
from engine.charts.compiling.building import Build, Design, Roles
from engine.charts.compiling.fields import ChartForm, FieldTypes
from engine.charts.compiling.language import Language
from engine.charts.compiling.people import inputs_for_seats, seats_of
from engine.charts.compiling.scope import DESIGN, MAX_ITEMS, MAX_STEPS, Values
from engine.charts.compiling.states import BuildStates, StateCompiler
from engine.charts.compiling.steps import Action, StepCompiler
from engine.charts.format import NAME_RULES, ROLE_NAME, ChartFile, Scenario
from engine.charts.format import Role as FileRole
from engine.charts.places import edge_sources, state_lines
from engine.charts.reading import Place, Problems, Tree, read_chart
from engine.charts.source import ChartSource
from engine.configuration.code_version import digest_of
from engine.errors import InvalidInput, PatternError
from engine.records import Event, StatePath
from engine.records.shape import ancestry
from engine.runtime.stubs import agent_names, check_stubs
from engine.statechart.expressions.compiler import Evaluation, Part
from engine.statechart.expressions.expression import compute
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import walk

MAX_ROLES = 200
"""Maximum number of roles of a chart."""
SHOWN = ('title', 'summary', 'family', 'answer', 'caveat')
"""What a class has as an attribute if the file gives it."""
TABLES = ('suits', 'aliases', 'panels', 'marks', 'wait_texts', 'projects')
"""What it always has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What builds a chart for given parameters, and what runs beside it."""

    states: BuildStates
    edges: BuildStates
    roles: Callable[[Build], Roles]
    facts: Mapping[str, Part]
    on_retry: Action | None
    reads: frozenset[str]
    """The fields of memory that expressions and templates read."""
    writes: frozenset[str]
    """Those that steps write."""

    def build(self, pattern: Pattern) -> Build:
        """Return the beginning of a chart. Raises `PatternError`."""
        run = Build(pattern, {})
        return Build(pattern, self.roles(run))


class ChartPattern(Pattern, abstract=True):
    """A pattern from a chart file."""

    source: ClassVar[ChartSource]
    file: ClassVar[ChartFile]
    plan: ClassVar[Plan]

    def facts(self, memory: Any) -> Mapping[str, Any]:
        """Return the part of memory that the agents' tools may read."""
        run = self._evaluation({'memory': memory})
        return {name: compute(part, run) for name, part in self.plan.facts.items()}

    def on_retry(self, memory: Any, event: Event) -> None:
        """Do the steps for an attempt that is to be repeated."""
        if self.plan.on_retry:
            values = {'memory': memory, 'event': event.name, 'at': event.at, 'data': event.data}
            more = {'error': event.data.get('error'), 'attempt': event.attempt, 'role': self._role(event.at)}
            self.plan.on_retry.run(memory, self._evaluation({**values, **more}))

    @classmethod
    def stubs_for(cls, scenario: Scenario | None = None) -> dict[str, tuple[Any, ...]]:
        """Return what the agents say in a scenario: by its stubs, or else the file's.

        Those of roles that nobody plays, with its parameters, are left out.
        """
        given = (scenario.stubs if scenario else None) or cls.file.stubs
        names = agent_names(cls.sample(scenario.parameters if scenario else None))
        return {name: tuple(visits) for name, visits in given.items() if name in names}

    def all_roles(self) -> list[Role]:
        """Return the chart's roles, in the file's order."""
        roles = self.plan.build(self).roles
        return [role for name, each in roles.items() for role in each if role.name == name]

    def _evaluation(self, values: Mapping[str, Any]) -> Evaluation:
        return Evaluation(Values({'parameters': self.parameters, **values}), {}, MAX_STEPS, MAX_ITEMS)

    def _role(self, path: str) -> str | None:
        """Return the role of the agent that works in a state."""
        states = {place: state for place, _, state in walk(self.chart_states()) if 'agent' in state}
        roles = (str(states[at]['agent'].role) for at in ancestry(StatePath(path)) if at in states)
        return next(roles, None)


def _states(pattern: ChartPattern) -> Any:
    """Build the states of a chart that depends on its parameters."""
    return pattern.plan.states(pattern.plan.build(pattern), {})


def _transitions(pattern: ChartPattern) -> Any:
    """Build its transitions."""
    return pattern.plan.edges(pattern.plan.build(pattern), {})


def load_chart(text: str, *, name: str = '') -> type[ChartPattern]:
    """Return the pattern that a chart file describes.

    Args:
        text: the file's text, YAML or JSON.
        name: the chart's name, or that of its file, in which problems are; the text must name the same.

    Raises:
        InvalidInput: names the file and the line of each problem.
    """
    return _Loader(text, name).load()


class _Loader:
    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name
        self._problems = Problems(name or 'chart')
        self._tree: Tree
        self._file: ChartFile
        self._records: FieldTypes

    def _note(self, path: Place, problem: str, inner: int = 1) -> None:
        self._problems.add(self._tree.line(path, inner), problem)

    def load(self) -> type[ChartPattern]:
        self._tree, data = read_chart(self._text, self._problems)
        try:
            self._file = ChartFile.model_validate(data)
        except ValidationError as error:
            for item in error.errors(include_url=False, include_input=False):
                self._note(item['loc'], _problem(item))
            self._problems.stop_if_any()
        expected = Path(self._name).name.removesuffix('.yaml').removesuffix('.json').removesuffix('.chart')
        if self._name and expected != self._file.chart:
            self._note(('chart',), f'must be {expected!r}, as the file is called')
        self._records = FieldTypes(self._file, self._note)
        members = self._members()
        self._problems.stop_if_any()
        return self._class(members)

    def _members(self) -> dict[str, Any]:
        """Return the attributes of the class, noting what is wrong."""
        file, records = self._file, self._records
        memory: Any = records.memory(with_seats=bool(seats_of(file)))
        parameters = records.model('Parameters', file.parameters, ('parameters',), ChartForm, 'parameters')
        for name in file.records:
            records.record(name, ('records', name))
        language = Language(file, memory, parameters, self._note)
        language.define()
        steps = StepCompiler(language, self._tree.line)
        states = StateCompiler(language, steps, records.record, AgentCompiler(steps))
        build_states = states.states(file.states, ('states',), ())
        build_edges = states.edges(file.transitions, ('transitions',), (), file.states)
        roles = self._roles(language)
        facts = {name: language.value(value, ('facts', name)) for name, value in file.facts.items()}
        on_retry = steps.action(file.on_retry, ('on_retry',))
        for name, listed in file.actions.items():
            if name not in steps.used:
                steps.steps(listed, ('actions', name), ())
        for number, name in enumerate(file.projects):
            if name not in file.parameters:
                self._note(('projects', number), f'there is no parameter {name!r}')
        for name, guard in file.guards.items():
            language.expression(guard.if_, ('guards', name))
        inputs = {
            trigger: records.model('Input', fields, ('inputs', trigger), ChartForm, trigger)
            for trigger, fields in file.inputs.items()
        }
        plan = Plan(
            states=build_states,
            edges=build_edges,
            roles=roles,
            facts=facts,
            on_retry=on_retry,
            reads=frozenset(language.reads),
            writes=frozenset(language.writes),
        )
        digest = digest_of(self._text.encode(errors='replace'))
        return {
            'name': file.chart,
            'version': digest,
            'initial': file.initial,
            **{part: value for part in SHOWN if (value := getattr(file, part))},
            **{part: value for part in TABLES if (value := getattr(file, part))},
            'words': _words(file, states.guards.keys() - file.guards.keys()),
            'inputs': inputs_for_seats(file) | inputs,
            'Memory': memory,
            'Parameters': parameters,
            'plan': plan,
            'file': file,
            'source': ChartSource(
                text=self._text,
                digest=digest,
                lines=dict(self._tree.lines()),
                states=state_lines(file, self._tree),
                edges=tuple(edge_sources(file, self._tree)),
            ),
            'varies': language.varies,
        }

    def _roles(self, language: Language) -> Callable[[Build], Roles]:
        """Return what builds the roles for the parameters."""
        builders = [self._role(language, key, role) for key, role in self._file.roles.items()]

        def build(run: Build) -> Roles:
            roles: dict[str, tuple[Role, ...]] = {}
            for key, builder in zip(self._file.roles, builders, strict=True):
                several = builder(run)
                roles |= {role.name: (role,) for role in several}
                roles[key] = tuple(several)
                if len(roles) > MAX_ROLES:
                    raise run.problem(('roles', key), f'it has more than {MAX_ROLES} roles')
            return roles

        return build

    def _role(self, language: Language, key: str, role: FileRole) -> Callable[[Build], list[Role]]:
        at: Place = ('roles', key)
        variable, items = '', None
        if role.for_ is not None:
            variable, part = language.loop(role.for_, (*at, 'for'), (), DESIGN)
            items = Design(part, (*at, 'for'))
        name, title, instructions = (
            Design(language.template(text, (*at, place), (variable,) if items else (), DESIGN), (*at, place))
            for place, text in (
                ('name', role.name or key),
                ('title', role.title),
                ('instructions', role.instructions),
            )
        )

        def build(run: Build) -> list[Role]:
            built: list[Role] = []
            for item in run.items(items, {})[: MAX_ROLES + 1] if items else (None,):
                variables = {variable: item} if items else {}
                own = run.name(name, variables, ROLE_NAME)
                words = own.replace('_', ' ').replace('-', ' ').capitalize()
                built.append(
                    Role(
                        name=own,
                        title=str(run.value(title, variables)) or words,
                        instructions=str(run.value(instructions, variables)),
                        tools=role.tools,
                    )
                )
            return built

        return build

    def _class(self, members: dict[str, Any]) -> type[ChartPattern]:
        varies = members.pop('varies')
        members |= {'__module__': __name__, '__doc__': members.get('summary', '')}
        try:
            if varies:
                members |= {'states': _states, 'transitions': _transitions}
            else:
                plan: Plan = members['plan']
                run = plan.build(Pattern())
                members |= {'states': plan.states(run, {}), 'transitions': plan.edges(run, {})}
            chart: type[ChartPattern] = type('Chart', (ChartPattern,), members)
            self._check_samples(chart)
        except PatternError as error:
            self._problems.add(self._line(error.where, members['source']), error.problem)
        self._problems.stop_if_any()
        return chart

    def _check_samples(self, chart: type[ChartPattern]) -> None:
        """Note what is wrong with scenarios and stubs: with their values, and with what agents say."""
        self._check_stubs(chart.sample(), self._file.stubs, ('stubs',))
        for number, scenario in enumerate(self._file.scenarios):
            at = ('scenarios', number)
            try:
                workflow = chart(chart.parse(scenario.parameters))
                self._check_stubs(workflow, scenario.stubs, (*at, 'stubs'))
            except InvalidInput as error:
                for field, problem in error.problems.items():
                    self._note((*at, 'parameters', *field.split('.')), f'{field}: {problem}')

    def _check_stubs(self, workflow: Pattern, stubs: Mapping[str, Any], at: Place) -> None:
        unplayed = self._file.roles.keys() - agent_names(workflow)
        try:
            check_stubs(workflow, {name: visits for name, visits in stubs.items() if name not in unplayed})
        except InvalidInput as error:
            for field, problem in error.problems.items():
                rest = field.removeprefix('stubs.')
                agent = max(
                    (name for name in stubs if f'{rest}.'.startswith(f'{name}.')), key=len, default=''
                )
                steps = (
                    int(step) if step.isdecimal() else step for step in rest[len(agent) + 1 :].split('.')
                )
                self._note((*at, agent, *steps), f'{rest}: {problem}')

    def _line(self, where: str, source: ChartSource) -> int:
        """Return the line that a pattern's error is about."""
        match where.split("'"):
            case ['state ', path, *_]:
                return source.state_line(path) or self._tree.line(('states',))
            case ['trigger ', trigger, _, state, *inside]:
                path = '.'.join((*inside[1:2], state))
                fits = (edge.line for edge in source.edges if edge.trigger == trigger and edge.leaves(path))
                return next(fits, self._tree.line(('transitions',)))
        return self._tree.line([int(step) if step.isdecimal() else step for step in where.split('.')])


def _problem(item: Any) -> str:
    """Return a problem that pydantic found, in words."""
    match item['type']:
        case 'extra_forbidden':
            return f'there is no field {item["loc"][-1]!r} here'
        case 'missing':
            return f'{item["loc"][-1]!r} is missing'
        case 'string_pattern_mismatch':
            return f'a name here has {NAME_RULES[item["ctx"]["pattern"]]}'
    return str(item['msg'].removeprefix('Value error, '))


def _words(file: ChartFile, inline: Collection[str]) -> dict[str, Any]:
    """Return the guards in words; one without a name is its own text."""
    texts = {name: name.replace('memory.', '') for name in inline}
    named = {name: guard.words for name, guard in file.guards.items() if guard.words is not None}
    return {**{name: (text, f'not ({text})') for name, text in texts.items()}, **file.words, **named}
