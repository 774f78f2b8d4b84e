"""The forms of schedules and triggers: their fields, and the conversion to and from records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from engine import Catalog, InvalidInput
from engine.records import MAX_TAGS, Launch
from ui.app.services.schedules import KINDS, Interval, Schedule, SchedulePolicy, ScheduleSpec, Trigger
from ui.formatting.values import json_problem

OVERLAPS: dict[str, Any] = {
    'skip': 'Skip this one',
    'buffer_one': 'Wait until it has ended',
    'allow_all': 'Start anyway',
    'cancel_other': 'Cancel the previous run',
}
NAMES: Mapping[str, str] = {
    'name': 'name',
    'spec': 'cron',
    'spec.time_zone': 'time_zone',
    'policy.catchup_window': 'catch_up',
    'action.pattern': 'pattern',
    'files': 'files',
}
"""Form fields by record field, where their names differ."""


class StarterFields(BaseModel):
    """The fields that schedules and triggers share."""

    model_config = ConfigDict(str_strip_whitespace=True)

    name: str = Field(min_length=1, max_length=200, title='Name')
    pattern: str = ''
    parameters: str = Field(
        '{}',
        title='Parameters',
        description='As JSON, such as {"task": "What is new?"}.',
        json_schema_extra={'multiline': True},
    )
    tags: list[str] = Field([], max_length=MAX_TAGS, title='Tags', json_schema_extra={'inline': True})


class ScheduleFields(StarterFields):
    """The form of a schedule."""

    cron: str = Field(
        '',
        max_length=200,
        title='Cron expression',
        description='Minute, hour, day of the month, month, day of the week: 30 2 * * * is 02:30 each day.',
    )
    time_zone: str = Field('UTC', max_length=100, title='Time zone', description='Such as Europe/Berlin.')
    every: float | None = Field(None, ge=1, title='Or interval in seconds')
    overlap: Literal['skip', 'buffer_one', 'allow_all', 'cancel_other'] = Field(
        'skip', title='If the previous run has not ended', json_schema_extra={'labels': OVERLAPS}
    )
    catch_up: float = Field(
        3_600.0,
        ge=0,
        title='Catch up',
        description='After an outage, runs start up to this many seconds late.',
    )
    pause_on_failure: bool = Field(False, title='Pause after a failed run')


class TriggerFields(StarterFields):
    """The form of a trigger."""

    kind: Literal['webhook', 'file'] = Field(
        'webhook', title='Triggered by', json_schema_extra={'labels': dict(KINDS.choices)}
    )
    files: str = Field(
        '', max_length=1_000, title='Files', description='For a file: a path such as /srv/in/*.csv.'
    )
    mapping: str = Field(
        '{}',
        title='Parameters from the payload',
        description='JSON with a pointer for each parameter, such as {"task": "/issue/title"}.'
        ' For files: /path, /name, /size or /text.',
        json_schema_extra={'multiline': True},
    )


def with_patterns(fields: type[BaseModel], catalog: Catalog) -> type[BaseModel]:
    """Return the form's model with the available patterns."""
    titles = {name: pattern.title for name, pattern in sorted(catalog.patterns.items())}
    labels: dict[str, Any] = {'labels': titles}
    chosen: Any = (
        Literal[tuple(titles)],
        Field(next(iter(titles), ''), title='Pattern', json_schema_extra=labels),
    )
    return create_model(fields.__name__, __base__=fields, pattern=chosen)


def schedule_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Schedule`. Raises `InvalidInput`."""
    every = values['every']
    return {
        'name': values['name'],
        'action': _action(values),
        'spec': ScheduleSpec(
            cron=(values['cron'],) if values['cron'] else (),
            intervals=(Interval(every=every),) if every else (),
            time_zone=values['time_zone'],
        ),
        'policy': SchedulePolicy(
            overlap=values['overlap'],
            catchup_window=values['catch_up'],
            pause_on_failure=values['pause_on_failure'],
        ),
    }


def fields_of_schedule(schedule: Schedule) -> dict[str, Any]:
    """Return the form's values for a schedule."""
    return {
        **_fields_of_action(schedule.name, schedule.action),
        'cron': next(iter(schedule.spec.cron), ''),
        'time_zone': schedule.spec.time_zone,
        'every': next((interval.every for interval in schedule.spec.intervals), None),
        'overlap': schedule.policy.overlap,
        'catch_up': schedule.policy.catchup_window,
        'pause_on_failure': schedule.policy.pause_on_failure,
    }


def trigger_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Trigger`. Raises `InvalidInput`."""
    mapping = _json('mapping', values['mapping'])
    return {
        'name': values['name'],
        'kind': values['kind'],
        'files': values['files'],
        'action': _action(values),
        'mapping': {name: str(value) for name, value in mapping.items()},
    }


def fields_of_trigger(trigger: Trigger) -> dict[str, Any]:
    """Return the form's values for a trigger."""
    return {
        **_fields_of_action(trigger.name, trigger.action),
        'kind': trigger.kind,
        'files': trigger.files,
        'mapping': json.dumps(dict(trigger.mapping), ensure_ascii=False),
    }


def field_at(path: str) -> str:
    """Return the form field for a path in a record."""
    if path in NAMES:
        return NAMES[path]
    for begin, name in (
        ('spec.cron', 'cron'), ('spec.intervals', 'every'), ('action', 'parameters'), ('mapping', 'mapping'),
    ):  # fmt: skip
        if path.startswith(begin):
            return name
    return path


def _action(values: Mapping[str, Any]) -> Launch:
    return Launch(
        pattern=values['pattern'],
        parameters=_json('parameters', values['parameters']),
        tags=tuple(values['tags']),
    )


def _fields_of_action(name: str, action: Launch) -> dict[str, Any]:
    return {
        'name': name,
        'pattern': action.pattern,
        'parameters': json.dumps(dict(action.parameters), ensure_ascii=False),
        'tags': list(action.tags),
    }


def _json(field: str, text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text or '{}')
    except (ValueError, RecursionError) as error:
        raise InvalidInput({field: json_problem(error)}) from None
    if not isinstance(parsed, dict):
        raise InvalidInput({field: 'Must be a JSON object, in braces'})
    return parsed
