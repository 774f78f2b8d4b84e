"""Validates a fork's overrides, and applies them to its summary and first step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, get_args

from engine.errors import InvalidInput
from engine.history.forks.fork_records import Beyond, ForkOverrides, StepSource
from engine.models.protocol import SCRIPTED
from engine.records import Change, RunInfo
from engine.records.document import escape_token
from engine.records.effort import EFFORT_SYNTAX, is_effort
from engine.records.jsonable import refuse_nul, to_jsonable
from engine.records.message import Message
from engine.runtime.activity import Services
from engine.runtime.run_factory import check_options, check_simulated, join_names, unknown_names
from engine.statechart.pattern import Pattern
from engine.statechart.run_state import AgentState, RunState
from engine.statechart.shape_builder import walk


def validate_overrides(variation: ForkOverrides, workflow: Pattern, services: Services) -> None:
    """Check that everything the overrides name exists.

    Args:
        variation: the overrides requested.
        workflow: the pattern with the fork's parameters.
        services: the models and tools available.

    Raises:
        InvalidInput: names the field, as in `models.writer`.
    """
    refuse_nul({'instructions': variation.instructions, 'prompts': variation.prompts, **variation.parameters})
    refuse_nul({change.path: change.value for change in variation.changes})
    stated = {path: state for path, _, state in walk(workflow.chart_states())}
    agents = [state['agent'] for state in stated.values() if 'agent' in state]
    roles = {role.name for spec in agents for role in spec.possible_roles}
    by_role = {
        'instructions': variation.instructions,
        'models': variation.models,
        'tools': variation.tools,
        'effort': variation.effort,
    }
    problems = {
        **unknown_names(workflow, services, by_role=by_role, tools=variation.tools),
        **_source_problems(variation, {*stated, *roles}),
        **{
            '.'.join(filter(None, ('effort', role))): EFFORT_SYNTAX
            for role, effort in variation.effort.items()
            if effort and not is_effort(effort)
        },
    }
    if problems:
        raise InvalidInput(problems)


def _source_problems(variation: ForkOverrides, places: set[str]) -> dict[str, str]:
    problems = dict[str, str]()
    for what, value, allowed in (
        ('before', variation.before, StepSource),
        ('after', variation.after, StepSource),
        ('beyond', variation.beyond, Beyond),
        *((f'plays.{where}', play, StepSource) for where, play in variation.plays.items()),
    ):
        if value not in get_args(allowed):
            problems[what] = f'must be one of {", ".join(get_args(allowed))}, not {value!r}'
    for where in variation.plays:
        is_step = where.startswith('@') and where[1:].isdecimal()
        if where not in places and not is_step:
            problems[f'plays.{where}'] = 'it is not a role, a state, or a step such as @17'
    return problems


def edits(variation: ForkOverrides, state: RunState, before: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the edits to a run's data: the overrides' own, and changes to agents' instructions and tasks.

    Memory fields that still hold a parameter's old value get the new one.

    Args:
        variation: the overrides requested.
        state: the run's data, and its pattern with the fork's parameters.
        before: the parent's parameters.

    Raises:
        InvalidInput: an agent has not been given a task yet, so there is no text to replace.
    """
    memory = state.dump()['memory']
    now = state.pattern.parameters.model_dump(mode='json')
    changes = [
        Change(op='replace', path=f'/memory/{escape_token(name)}', value=now[name])
        for name in now
        if name in memory and name in before and now[name] != before[name] == memory[name]
    ]
    changes.extend(variation.changes)
    for path, agent in state.agents.items():
        if agent.role in variation.instructions:
            changes.extend(_instruction_changes(path, agent, variation.instructions[agent.role]))
    for path, text in variation.prompts.items():
        receiver = state.agents.get(path)
        places = (
            [n for n, message in enumerate(receiver.messages) if message.role == 'user'] if receiver else []
        )
        if not places:
            begun = join_names(state.agents)
            problem = f'no agent of this name has been given a task yet; agents so far: {begun}'
            raise InvalidInput({f'prompts.{path}': problem})
        place = f'/agents/{escape_token(path)}/messages/{places[-1]}'
        changes.append(Change(op='replace', path=place, value=to_jsonable(asdict(Message.of('user', text)))))
    return tuple(changes)


def _instruction_changes(path: str, agent: AgentState, text: str) -> Iterator[Change]:
    home = f'/agents/{escape_token(path)}'
    yield Change(op='replace', path=f'{home}/instructions', value=text)
    message = to_jsonable(asdict(Message.of('system', text)))
    if agent.messages and agent.messages[0].role == 'system':
        yield Change(op='replace', path=f'{home}/messages/0', value=message)
    else:
        yield Change(op='add', path=f'{home}/messages/0', value=message)


def apply_overrides(
    info: RunInfo, variation: ForkOverrides, workflow: Pattern, services: Services
) -> RunInfo:
    """Apply the overrides to a run's summary. Raises `InvalidInput`."""
    models = {**info.models, **variation.models}
    plays = {variation.after, *variation.plays.values(), *_before(variation)}
    effort = {**info.options.get('effort', {}), **variation.effort}
    effort = {role: level for role, level in effort.items() if level}
    if plays == {'simulated'}:
        models = dict.fromkeys({'', *models}, SCRIPTED)
    elif plays != {'recorded'} or variation.beyond != 'stop':  # No model is called otherwise.
        check_options(services, models, {**info.options, 'effort': effort})
    overridden: dict[str, Any] = {
        'instructions': workflow.instruction_overrides,
        'tools': {**info.options.get('tools', {}), **variation.tools},
        'stubs': {} if variation.models else info.options.get('stubs', {}),  # Models named now are called.
    }
    return replace(
        info,
        version=workflow.version,
        parameters=workflow.parameters.model_dump(mode='json'),
        models=models,
        options={
            **{name: value for name, value in info.options.items() if name not in ('effort', 'stubs')},
            **to_jsonable({name: value for name, value in {**overridden, 'effort': effort}.items() if value}),
        },
        simulated=check_simulated(services, models)
        if variation.models or models != info.models
        else info.simulated,
    )


def _before(variation: ForkOverrides) -> tuple[StepSource, ...]:
    return () if variation.before == 'recorded' else (variation.before,)
