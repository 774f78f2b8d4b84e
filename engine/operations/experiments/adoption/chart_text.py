"""What of a variant's change a chart can say, and the text that says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from engine.charts import load_chart
from engine.charts.edits import Edit, SetDefault, SetRole, edit_chart
from engine.errors import EngineError, InvalidInput
from engine.records import Launch
from engine.statechart.shape_builder import walk

OF_TRIALS: Final = ('stubs', 'tags', 'private', 'seed')
"""Fields of a launch that belong to a trial, and never become a default."""
SAID: Final = ('parameters', 'instructions', 'tools')
"""Fields that a chart says by name or role."""
UNSAID: Final = {
    'pattern': 'it is another workflow',
    'models': 'a chart does not say which model answers',
    'effort': 'a chart does not say how much a model is to think',
    'budget': 'a chart has no budget',
    'approvals': 'a chart does not say which calls of tools need approval',
}
"""Why a chart does not say other fields."""


def say_in_chart(text: str, launch: Launch, change: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return a chart's text with the change of a variant, and what it cannot say, by field.

    Comments and layout stay. What the new text says is read back, so that it is what was run.

    Args:
        text: the chart's.
        launch: the variant's, which has the values.
        change: the variant's; its `version` is the caller's to follow.
    """
    problems: dict[str, str] = {}
    for field, changed in change.items():
        if field in SAID:
            for name in changed:
                if name not in getattr(launch, field):
                    continue  # What the base gives is taken back: the chart's own is what was run.
                try:
                    text = edit_chart(text, _edit(field, name, getattr(launch, field)[name]))
                except InvalidInput as error:
                    problems[f'{field}.{name}'] = '; '.join(error.problems.values())
        elif field not in (*OF_TRIALS, 'version'):
            problems[field] = UNSAID.get(field, 'a chart does not say this')
    return text, problems or dict(_differences(text, launch, change))


def _edit(field: str, name: str, value: Any) -> Edit:
    if field == 'parameters':
        return SetDefault(parameter=name, value=value)
    return SetRole(role=name, **{field: value})


def _differences(text: str, launch: Launch, change: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what of a change a text does not say as it was run, though it was put there, by field."""
    try:
        chart = load_chart(text)
        agents = [
            (path, state['agent'])
            for path, _, state in walk(chart.sample().chart_states())
            if 'agent' in state
        ]
    except EngineError as error:
        yield 'pattern', f'the chart does not work with it: {error}'
        return
    for name in change.get('parameters', ()):
        known = chart.Parameters.model_fields[name]
        kind: Any = known.annotation
        given = TypeAdapter(kind).validate_python(launch.parameters[name])
        if known.get_default(call_default_factory=True) != given:
            yield f'parameters.{name}', 'as a default it is another value'
    for path, agent in agents:
        for role in agent.possible_roles:
            tools = tuple(tool for tool in agent.tools if tool in role.tools)
            if role.name in change.get('tools', ()) and tools != launch.tools.get(role.name, tools):
                yield f'tools.{role.name}', f'the state {path!r} names its own tools'
            wanted = launch.instructions.get(role.name, role.instructions)
            if role.name in change.get('instructions', ()) and role.instructions != wanted:
                yield f'instructions.{role.name}', 'as text of a chart they read differently'
