"""The format of chart files: what a file may hold, as records; their JSON schema is what editors read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints

MAX_NAME = 60
"""Maximum number of characters of a name."""
FIELD_NAME = r'^[a-z][a-z0-9_]*$'
RECORD_NAME = r'^[A-Z][A-Za-z0-9]*$'
STATE_NAME = r'^[A-Za-z0-9_]([A-Za-z0-9_ -]*[A-Za-z0-9_])?$'
ROLE_NAME = r'^[a-z][a-z0-9_-]*$'
CHART_NAME = r'^[a-z][a-z0-9-]*$'
NAME_RULES: Mapping[str, str] = {
    FIELD_NAME: 'lower-case letters, digits and "_", and begins with a letter',
    RECORD_NAME: 'letters and digits, and begins with a capital letter',
    STATE_NAME: 'letters, digits, spaces, "-" and "_"',
    ROLE_NAME: 'lower-case letters, digits, "-" and "_", and begins with a letter',
    CHART_NAME: 'lower-case letters, digits and "-", and begins with a letter',
}
"""What names consist of, in words."""
FieldName = Annotated[str, StringConstraints(pattern=FIELD_NAME, max_length=MAX_NAME)]
"""Of parameters, fields of memory, guards and actions."""
RecordName = Annotated[str, StringConstraints(pattern=RECORD_NAME, max_length=MAX_NAME)]
StateName = Annotated[str, StringConstraints(pattern=STATE_NAME, max_length=MAX_NAME)]
RoleName = Annotated[str, StringConstraints(pattern=ROLE_NAME, max_length=MAX_NAME)]
Trigger = StateName
Short = Annotated[str, StringConstraints(max_length=200)]
Code = Annotated[str, StringConstraints(max_length=2_000)]
"""An expression."""
Text = Annotated[str, StringConstraints(max_length=50_000)]


class Part(BaseModel):
    """Base class of all parts of a chart file: unknown fields are refused."""

    model_config = ConfigDict(extra='forbid', frozen=True, protected_namespaces=())


def _listed(value: Any) -> Any:
    return value if value is None or isinstance(value, list) else [value]


def _shorthand(field: str, record: str) -> BeforeValidator:
    """Return what takes a text for a record with only this field."""
    return BeforeValidator(
        lambda value: {field: value} if isinstance(value, str) else value,
        json_schema_input_type=Union[str, record],  # noqa: UP007  # A forward reference.
    )


class FieldType(Part):
    """A field: its type, and how a form shows it. The names are those of JSON Schema."""

    type: Annotated[str, StringConstraints(max_length=MAX_NAME)] = Field(
        'any', description='string, integer, number, boolean, array, object, any, or the name of a record'
    )
    title: Short = ''
    description: Short = ''
    default: JsonValue = None
    nullable: bool = Field(False, description='Whether it may be null')
    items: FieldOrName | None = Field(None, description='Of an array: the type of its items')
    additionalProperties: FieldOrName | None = Field(None, description='Of an object: the type of its values')
    properties: Mapping[FieldName, FieldOrName] | None = Field(None, description='Of an object: its fields')
    enum: tuple[str | int | float, ...] = Field((), description='The values it may have')
    minimum: float | None = None
    maximum: float | None = None
    exclusiveMinimum: float | None = None
    exclusiveMaximum: float | None = None
    minLength: int | None = Field(None, ge=0)
    maxLength: int | None = Field(None, ge=0)
    minItems: int | None = Field(None, ge=0)
    maxItems: int | None = Field(None, ge=0)
    examples: tuple[JsonValue, ...] = ()
    multiline: bool = Field(False, description='Whether a form has several lines for it')
    format: Literal['', 'path', 'date', 'time'] = ''
    suggestions: tuple[str, ...] = Field((), description='Values a form offers; others may be typed')
    labels: Mapping[str, str] = Field({}, description='What a form calls the values')
    when: Mapping[str, tuple[str, ...]] = Field(
        {}, description='Other fields, and the values with which this one has an effect'
    )

    @property
    def has_default(self) -> bool:
        """Whether the file gives a default."""
        return 'default' in self.model_fields_set


FieldOrName = Annotated[FieldType, _shorthand('type', 'FieldType')]
"""A type, or its name alone."""
Fields = Mapping[FieldName, FieldOrName]


def _as_steps(value: Any) -> Any:
    return [{'action': item} if isinstance(item, str) else item for item in _listed(value) or ()]


class Step(Part):
    """A step of an action: one of `set`, `append`, `increment`, `remove`, `action`, `do` and `for`."""

    set: Mapping[Code, JsonValue] | None = Field(None, description='Fields of memory, and their values')
    append: Mapping[Code, JsonValue] | None = Field(None, description='Lists in memory, and what is added')
    increment: (
        Annotated[
            Mapping[Code, JsonValue],
            BeforeValidator(
                lambda value: {value: 1} if isinstance(value, str) else value,
                json_schema_input_type=str | dict[str, JsonValue],
            ),
        ]
        | None
    ) = Field(None, description='A number in memory, or several and what is added to each')
    remove: Code | None = Field(None, description='An item of a list, or a field of an object, in memory')
    action: FieldName | None = Field(None, description='The name of an action')
    do: Steps | None = None
    if_: Code | None = Field(None, alias='if', description='A guard or an expression; else nothing is done')
    for_: Code | None = Field(None, alias='for', description='`item in list`: does the steps for each item')
    let: Mapping[FieldName, JsonValue] = Field({}, description='Names for values, in this step')
    else_: Steps | None = Field(None, alias='else', description='Steps for when `if` does not hold')


Steps = Annotated[
    tuple[Step, ...],
    BeforeValidator(_as_steps, json_schema_input_type=Union[str, 'Step', list[Union[str, 'Step']]]),
]
"""Steps, one step, or the name of an action."""
Guards = Annotated[tuple[Code, ...], BeforeValidator(_listed, json_schema_input_type=str | list[str])]
"""Names of guards, or expressions: one or several."""
Names = Annotated[tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=str | list[str])]


class NamedGuard(Part):
    """An expression with a name, and how the diagram puts it."""

    if_: Code = Field(alias='if')
    words: str | tuple[str, str] | None = Field(
        None, description='In words, or a pair: if it holds and if not; "" leaves it out'
    )


class Check(Part):
    """What a record must satisfy beyond its types."""

    must: Code = Field(description='An expression of `this`, the record')
    error: Text = Field(description='A template: what is wrong otherwise')


class Role(Part):
    """A role of agents."""

    title: Short = ''
    instructions: Text = ''
    tools: tuple[str, ...] = ()
    for_: Code | None = Field(
        None, alias='for', description='`item in list`, of parameters: a role for each, with its own name'
    )
    name: Short = Field('', description='With `for`: a template of its name')


class Retry(Part):
    """How often and how soon a model call that failed is repeated."""

    attempts: int = Field(4, ge=1, le=20)
    delay: float = Field(1.0, ge=0, le=3_600)
    longest: float = Field(30.0, ge=0, le=3_600)


class Until(Part):
    """When an agent's work is complete."""

    rule: Literal['either', 'all'] = 'either'
    signal: Short = ''
    artifacts: tuple[str, ...] = ()
    checks: tuple[ArtifactCheck, ...] = ()
    turns: int = Field(24, ge=1, le=200)
    reminders: int = Field(3, ge=0, le=20)
    words: Short = ''


class ArtifactCheck(Part):
    """A criterion of an agent's work."""

    name: FieldName
    must: Code = Field(description='An expression of `artifacts` and `text`')
    missing: Short = Field(description='What the agent is told if it is not met')


class Agent(Part):
    """Who works in a state."""

    role: Short = Field('', description="A role's name; in a region, a template of it")
    roles: tuple[str, ...] = Field((), description='Several, of which `cast` picks one when it is entered')
    cast: Code | None = Field(None, description="An expression: the role's name")
    visit: Code | None = Field(None, description='Its number among the visits with that role')
    tools: tuple[str, ...] | None = None
    turns: int = Field(12, ge=1, le=200)
    folder: Short = ''
    until: Until | None = None
    may_be_silent: bool = False
    retry: Retry | None = None
    refuse: tuple[Refusal, ...] = Field((), description='When it fails without asking a model')


class Refusal(Part):
    """When an agent fails without asking a model."""

    if_: Code = Field(alias='if')
    error: Text = Field(description='A template')


class Seat(Part):
    """How a person may take an agent's place."""

    name: FieldName
    event: Trigger = Field(description='The event that carries what the person answers')
    waits: Short = Field('', description='What the run waits for; the event by default')
    if_: Guards = Field((), alias='if')
    output: JsonValue = Field(None, description='The answer that the data of the event stand for')
    changed: Steps = Field((), description='Steps for when it is taken or handed back')


class State(Part):
    """A state: of work, of waiting, with others inside, or final."""

    name: Short = Field('', description='Its name, if it is not its key; in a region, a template')
    when: Code | None = Field(None, description='An expression of parameters: it is there only if it holds')
    for_: Code | None = Field(
        None, alias='for', description='Of a region: `item in list`, of parameters; a region for each item'
    )
    agent: Annotated[Agent, _shorthand('role', 'Agent')] | None = None
    output: Short = Field('', description="The record of the agent's answer")
    prompt: Text = Field('', description="A template: the agent's task")
    then: Steps = Field((), description="Steps for the agent's answer")
    enter: Steps = Field((), description='Steps for when it is entered')
    exit: Steps = Field((), description='Steps for when it is left')
    on_step: Steps = Field((), description='Steps before every transition inside the agent')
    within: Annotated[float, Field(le=10 * 366 * 86_400)] | Code | None = Field(
        None, description='Seconds it may last, or an expression of them'
    )
    seat: Seat | None = None
    waits: Short = Field('', description='What it waits for, from a person')
    caption: Short = ''
    most_visits: int | Code = Field(1, description='How often it is entered, for the estimate of cost')
    initial: Short = ''
    states: Mapping[StateName, State | None] = {}
    parallel: Mapping[StateName, State | None] = {}
    transitions: tuple[Edge, ...] = ()
    final: bool = False
    outcome: Literal['done', 'failed'] = 'done'


class Edge(Part):
    """A transition."""

    on: Trigger = Field(description='The event: `done`, `failed`, `expired`, `always`, or what people send')
    from_: Names = Field(alias='from', description='A state, several, or `*`')
    to: str | None = Field(None, description='A state, `=` for the same again, or nothing')
    if_: Guards = Field((), alias='if')
    unless: Guards = ()
    do: Steps = Field((), description='Steps before the states change')
    after: Steps = Field((), description='Steps after that')
    history: Literal['', 'shallow', 'deep'] = Field('', description='Back to where the state was left')
    when: Code | None = Field(None, description='An expression of parameters: it is there only if it holds')


class Scenario(Part):
    """A sample on the launch form, and what its agents say."""

    title: Short
    about: Text = ''
    parameters: Mapping[FieldName, JsonValue] = {}
    stubs: Mapping[str, tuple[JsonValue, ...]] = {}


class ChartFile(Part):
    """A chart file."""

    chart: Annotated[str, StringConstraints(pattern=CHART_NAME, max_length=MAX_NAME)] = Field(
        description="The chart's name, as in the name of its file"
    )
    title: Short = ''
    summary: Text = ''
    family: Short = ''
    suits: tuple[Short, ...] = ()
    aliases: tuple[Short, ...] = ()
    parameters: Fields = Field({}, description='The launch form')
    records: Mapping[RecordName, Fields] = Field({}, description='Answers of agents, items of memory')
    checks: Mapping[str, tuple[Check, ...]] = Field(
        {}, description='By record or input, or `parameters`: what it must satisfy'
    )
    prose: Mapping[RecordName, JsonValue] = Field(
        {}, description='By record: what an answer in words stands for, if the agent gives no record'
    )
    memory: Fields = Field({}, description='What the run remembers')
    answer: FieldName | None = Field(None, description='The field of memory with the result')
    caveat: FieldName | None = Field(None, description='The field that says how it falls short')
    panels: Mapping[str, str | Mapping[str, str]] = {}
    marks: Mapping[str, str] = {}
    words: Mapping[str, str | tuple[str, str]] = Field({}, description='Guards in words, by name')
    wait_texts: Mapping[str, str] = {}
    projects: tuple[str, ...] = ()
    facts: Mapping[FieldName, JsonValue] = Field({}, description="What the agents' tools may read")
    inputs: Mapping[Trigger, Fields] = Field({}, description='By event: the data that people send')
    define: Mapping[FieldName, JsonValue] = Field(
        {}, description='Names for values, which may use those before them; computed wherever they are used'
    )
    roles: Mapping[RoleName, Role] = {}
    guards: Mapping[FieldName, Annotated[NamedGuard, _shorthand('if', 'NamedGuard')]] = {}
    actions: Mapping[FieldName, Steps] = {}
    initial: StateName
    states: Mapping[StateName, State | None]
    transitions: tuple[Edge, ...] = ()
    on_retry: Steps = Field((), description="Steps for when an agent's attempt failed and is repeated")
    scenarios: tuple[Scenario, ...] = ()
    stubs: Mapping[str, tuple[JsonValue, ...]] = Field({}, description='What agents say in a simulated run')


def chart_schema() -> dict[str, Any]:
    """Return the JSON Schema of chart files."""
    about = {'$schema': 'https://json-schema.org/draft/2020-12/schema', 'title': 'A Hemicycle chart file'}
    return {**ChartFile.model_json_schema(), **about}
