"""Checks what a fork changes, and makes its summary and its first step of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, get_args

from engine.activity import Services
from engine.errors import InvalidInput
from engine.forks.variation import Beyond, Play, Variation
from engine.message import Message
from engine.outline import Shape
from engine.pattern import Pattern
from engine.plain import plain
from engine.pointer import escape
from engine.prepare import simulated
from engine.records import Change, RunInfo
from engine.shape import walk
from engine.state import AgentState, RunState


def checked(variation: Variation, workflow: Pattern, services: Services) -> None:
    """See that all that is named is there.

    Args:
        variation: what somebody wants.
        workflow: the pattern, with the parameters of the fork.
        services: the models and tools that there are.

    Raises:
        InvalidInput: names the field, as in `models.writer`.
    """
    stated = {path: state for path, _, state in walk(workflow.chart_states())}
    agents = [state['agent'] for state in stated.values() if 'agent' in state]
    roles = {role.name for spec in agents for role in spec.cast_list}
    problems = {**_unknown(variation, roles, services), **_misplayed(variation, {*stated, *roles})}
    if problems:
        raise InvalidInput(problems)


def _unknown(variation: Variation, roles: set[str], services: Services) -> dict[str, str]:
    problems = dict[str, str]()
    for what in ('instructions', 'models', 'tools'):
        for role in set(getattr(variation, what)) - roles - ({''} if what == 'models' else set()):
            problems[f'{what}.{role}'] = f'there is no role {role!r}; there are: {_listed(roles)}'
    for role, names in variation.tools.items():
        lost = [name for name in names if name not in services.tools and not services.mcp.has(name)]
        if lost:
            problems[f'tools.{role}'] = f'there is no tool {lost[0]!r}; there are: {_listed(services.tools)}'
    return problems


def _misplayed(variation: Variation, known: set[str]) -> dict[str, str]:
    problems = dict[str, str]()
    for what, value, allowed in (
        ('before', variation.before, Play),
        ('after', variation.after, Play),
        ('beyond', variation.beyond, Beyond),
        *((f'plays.{where}', play, Play) for where, play in variation.plays.items()),
    ):
        if value not in get_args(allowed):
            problems[what] = f'must be one of {", ".join(get_args(allowed))}, not {value!r}'
    for where in variation.plays:
        is_step = where.startswith('@') and where[1:].isdecimal()
        if where not in known and not is_step:
            problems[f'plays.{where}'] = 'it is no role, no state, and no step such as @17'
    return problems


def edits(variation: Variation, state: RunState, before: Mapping[str, Any]) -> tuple[Change, ...]:
    """The changes of a run's data that a variation makes: its own, and those of what agents were told.

    Memory that still holds what a parameter said holds then what it says now.

    Args:
        variation: what somebody wants.
        state: the run's data, and its pattern with the parameters of the fork.
        before: the parameters of its parent.

    Raises:
        InvalidInput: an agent has not begun, and so was told nothing.
    """
    memory = state.dump()['memory']
    now = state.pattern.parameters.model_dump(mode='json')
    found = [
        Change(op='replace', path=f'/memory/{escape(name)}', value=now[name])
        for name in now
        if name in memory and name in before and now[name] != before[name] == memory[name]
    ]
    found.extend(variation.changes)
    for path, agent in state.agents.items():
        if agent.role in variation.instructions:
            found.extend(_instructed(path, agent, variation.instructions[agent.role]))
    for path, text in variation.prompts.items():
        told = state.agents.get(path)
        places = [n for n, message in enumerate(told.messages) if message.role == 'user'] if told else []
        if not places:
            begun = _listed(state.agents) or 'none'
            problem = f'there is no agent here that was told something; there are: {begun}'
            raise InvalidInput({f'prompts.{path}': problem})
        place = f'/agents/{escape(path)}/messages/{places[-1]}'
        found.append(Change(op='replace', path=place, value=plain(asdict(Message.of('user', text)))))
    return tuple(found)


def _instructed(path: str, agent: AgentState, text: str) -> Iterator[Change]:
    home = f'/agents/{escape(path)}'
    yield Change(op='replace', path=f'{home}/instructions', value=text)
    told = plain(asdict(Message.of('system', text)))
    if agent.messages and agent.messages[0].role == 'system':
        yield Change(op='replace', path=f'{home}/messages/0', value=told)
    else:
        yield Change(op='add', path=f'{home}/messages/0', value=told)


def varied(info: RunInfo, variation: Variation, workflow: Pattern, services: Services) -> RunInfo:
    """A run's summary with what a variation changes of it. Raises `InvalidInput`."""
    models = {**info.models, **variation.models}
    plays = {variation.after, *variation.plays.values(), *_before(variation)}
    if plays == {'simulated'}:
        models = dict.fromkeys({'', *models}, 'scripted')
    given: dict[str, Any] = {
        'instructions': workflow.instructed,
        'tools': {**info.options.get('tools', {}), **variation.tools},
    }
    return replace(
        info,
        parameters=workflow.parameters.model_dump(mode='json'),
        models=models,
        options={**info.options, **plain({name: value for name, value in given.items() if value})},
        simulated=simulated(services, models) if models != info.models else info.simulated,
    )


def _before(variation: Variation) -> tuple[Play, ...]:
    return () if variation.before == 'recorded' else (variation.before,)


def alike(one: Shape, other: Shape) -> bool:
    """Whether two charts have the same states and edges; their time-outs may differ."""

    def outline(shape: Shape) -> object:
        states = [(state.path, state.kind, state.initial, state.roles, state.waits) for state in shape.states]
        return states, shape.edges, shape.initial

    return outline(one) == outline(other)


def _listed(names: Iterable[str]) -> str:
    return ', '.join(sorted(names))
