"""The gate: what is wrong with a draft of a chart file, found without running it.

The text is not trusted. All of this blocks: call it in a thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.charts import ChartPattern, ChartSource, load_chart
from engine.charts.library import by_line
from engine.charts.places import walk_states
from engine.errors import InvalidInput
from engine.models.protocol import Model
from engine.operations.rehearsal import Finding, Level, Means, Unbounded, rehearse
from engine.operations.rehearsal.simulator import Simulator, with_examples
from engine.patterns.author.records import Found, Worst
from engine.records import StatePath, StateShape
from engine.records.shape import ancestry, parent_of
from engine.runtime.stubs import all_stubbed, check_stubs
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import walk
from engine.tools.protocol import Tool

MAX_PLAYS = 5
"""Maximum number of scenarios of a draft that are tried."""
MAX_LISTED = 12
"""Maximum number of allowed tools that a finding lists."""
UNREAD = 'unused-memory'
"""A finding that is untidy and harms no run."""
UNKNOWN_TOOL = 'unknown-tool'


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What a draft may use, and what it must be called."""

    allowed: Collection[str]
    """The tools that its agents may use."""
    name: str = ''
    """The chart's name if that is fixed."""
    models: Mapping[str, Model]
    tools: Mapping[str, Tool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was found in a draft."""

    findings: tuple[Found, ...]
    chart: str = ''
    worst: Worst | None = None

    @property
    def sound(self) -> bool:
        """Whether nothing serious was found."""
        return not any(finding.is_serious for finding in self.findings)


def check(text: str, gate: Gate) -> Checked:
    """Return what is wrong with a draft: its form, its tools, its stubs, and what its chart can do."""
    try:
        pattern = load_chart(text, name=f'{gate.name}.chart.yaml' if gate.name else '')
    except InvalidInput as error:
        problems = by_line(error.problems).items()
        return Checked(findings=tuple(Found(line=line, text=text) for line, text in problems))
    workflow = pattern.sample()
    means = Means(models=gate.models, tools=gate.tools)
    rehearsal = rehearse(workflow, seconds=0, means=means)
    most = rehearsal.cost.most
    findings = [
        *_foreign_tools(pattern, gate),
        *(_located(finding, pattern.source) for finding in _own(rehearsal.findings, workflow)),
        *_endless(rehearsal.cost.unbounded, pattern.source),
        *_stub_problems(pattern, workflow),
    ]
    return Checked(
        findings=tuple(findings),
        chart=pattern.name,
        worst=Worst(
            calls=most.calls,
            tokens=most.tokens,
            dollars=most.dollars,
            answers=most.answers,
            least_calls=rehearsal.cost.least_calls,
        ),
    )


def simulate(text: str) -> tuple[tuple[Found, ...], str]:
    """Play a sound draft with its stubs to its end, on real memory; no model and no tool is called.

    Returns:
        What is wrong with the ways they lead, and how they end, in a sentence.
    """
    pattern = load_chart(text)
    plays = [(item.title, item.parameters, pattern.stubs_for(item)) for item in pattern.file.scenarios]
    findings: list[Found] = []
    endings: dict[str, int] = {}
    for title, parameters, stubs in plays[:MAX_PLAYS] or [('', {}, pattern.stubs_for())]:
        ending, problem = _play(pattern, parameters, stubs)
        endings[ending] = endings.get(ending, 0) + 1
        if problem:
            of = f' of the scenario {title!r}' if title else ''
            line = pattern.source.lines.get('scenarios' if title else 'stubs', 0)
            findings.append(Found(line=line, text=f'with the stubs{of}, {problem}'))
    times = {
        ending: f'{ending} ({count} times)' if count > 1 else ending for ending, count in endings.items()
    }
    return tuple(findings), '; '.join(times.values())


def _play(
    pattern: type[ChartPattern], parameters: Mapping[str, Any], stubs: Mapping[str, Any]
) -> tuple[str, str]:
    """Return how a run ends with these stubs, and what is wrong with that, or ''."""
    try:
        simulator = Simulator(with_examples(pattern, parameters))
        stopped = simulator.follow(stubs)
    except InvalidInput as error:
        return 'cannot be tried', f'nothing can be tried: {error}'
    moment, steps = simulator.moment, len(simulator.moments)
    ending = f'a simulated run ends in {", ".join(moment.active) or "an error"} after {steps} steps'
    if moment.ending == 'done':
        return ending, ''
    if moment.ending:
        return ending, f'the run fails: {moment.reason or "it ends in " + ", ".join(moment.active)}'
    states = simulator.chart.states
    waiting = [path for path in moment.active if states[path].waits and not _is_agents(path, states)]
    if waiting:
        return f'a simulated run waits for a person in {", ".join(waiting)} after {steps} steps', ''
    return ending, stopped


def _is_agents(path: StatePath, states: Mapping[StatePath, StateShape]) -> bool:
    """Return whether a state is one of those inside an agent's."""
    parent = states[path].parent
    return bool(parent and states[parent].role)


def _foreign_tools(pattern: type[ChartPattern], gate: Gate) -> Iterator[Found]:
    """Find tools that are not allowed: no text of a request or a draft makes one so."""
    names = sorted(gate.allowed)
    more = f' and {len(names) - MAX_LISTED} more' if len(names) > MAX_LISTED else ''
    listed = f'{", ".join(names[:MAX_LISTED]) or "none"}{more}'
    roles = ((f'roles.{name}.tools', role.tools) for name, role in pattern.file.roles.items())
    states = (
        ('.'.join(map(str, (*at, 'agent', 'tools'))), state.agent.tools or ())
        for _, at, state in walk_states(pattern.file)
        if state.agent
    )
    for place, used in (*roles, *states):
        for number, name in enumerate(used):
            if name not in gate.allowed:
                lines = pattern.source.lines
                line = lines.get(f'{place}.{number}', lines.get(place, 0))
                yield Found(line=line, text=f'the tool {name!r} is not allowed here; allowed: {listed}')


def _own(findings: Iterable[Finding], workflow: Pattern) -> Iterator[Finding]:
    """Leave out tools, which are looked at apart, and that those of any agent may ask people for ever."""
    agents = {path for path, _, state in walk(workflow.chart_states()) if 'agent' in state}
    for finding in findings:
        is_agents = finding.level is Level.NOTE and parent_of(finding.state) in agents
        if finding.rule != UNKNOWN_TOOL and not is_agents:
            yield finding


def _located(finding: Finding, source: ChartSource) -> Found:
    line: int | None = None
    if finding.edge:
        trigger, _, rest = finding.edge.partition(': ')
        origin, _, dest = rest.partition(' → ')
        line = source.edge_line(trigger, origin, dest)
    elif finding.state:
        line = next(filter(None, map(source.state_line, ancestry(finding.state))), None)
    about = finding.edge or finding.state
    return Found(
        line=line or 0,
        level='note' if finding.rule == UNREAD else finding.level.value,
        text=f'{about}: {finding.text}' if about else finding.text,
    )


def _endless(unbounded: Iterable[Unbounded], source: ChartSource) -> Iterator[Found]:
    """Find loops that may ask models for ever."""
    for reason in unbounded:
        if reason.figure == 'calls' and reason.edge:
            trigger = reason.edge.partition(': ')[0]
            line = source.edge_line(trigger, reason.state, reason.dest)
            yield Found(
                line=line or 0,
                text=f'{reason.text}: count it in memory, and let a guard compare that with a limit',
            )


def _stub_problems(pattern: type[ChartPattern], workflow: Pattern) -> Iterator[Found]:
    lines = pattern.source.lines
    listed = {'stubs': pattern.file.stubs}
    listed |= {f'scenarios.{number}.stubs': item.stubs for number, item in enumerate(pattern.file.scenarios)}
    for place, stubs in listed.items():
        try:
            check_stubs(workflow, {name: list(visits) for name, visits in stubs.items()})
        except InvalidInput as error:
            for field, problem in error.problems.items():
                inside = f'{place}{field.removeprefix("stubs")}'
                while inside not in lines and '.' in inside:
                    inside = inside.rpartition('.')[0]
                yield Found(line=lines.get(inside, 0), text=f'{field}: {problem}')
    if pattern.file.roles and not any(all_stubbed(workflow, stubs) for stubs in listed.values()):
        roles = ', '.join(pattern.file.roles)
        yield Found(line=lines.get('stubs', 0), text=f'`stubs` must have answers of every role: {roles}')
