"""Pattern: a workflow's parameters, memory, states and transitions, in one class in one file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, final

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import SchemaValidator

from engine.errors import InvalidInput, PatternError
from engine.records import Event, StatedReport, View
from engine.records.jsonable import refuse_nul
from engine.statechart.definition import PatternDefinition
from engine.statechart.deliverables import Deliverables
from engine.statechart.memory import Memory as BaseMemory
from engine.statechart.validation import validate_overrides, validate_pattern

M = TypeVar('M', bound=BaseMemory)


class Pattern(PatternDefinition):
    """Base class of all patterns. A subclass defines a workflow; it holds no run.

    Class attributes:
        Parameters: the fields of the launch form.
        Memory: the run's data; only actions write it. A field named like a parameter starts with its value.
        initial: the state a run begins in.
        states, transitions: passed to `transitions` unchanged, plus our keys (`invoke`, `within`, `retry`,
            `outcome`, `waits`, `caption`, `seat`, and those made by `agent()`). May be methods if they
            depend on the parameters.
        answer: the memory field with the result, or ''.
        caveat: the memory field that says in a few words how the result falls short ("2 of 5 tasks failed"),
            or ''. If it is empty, a completed run is a full success. For a failed run it is the reason.
        wait_texts: what its states wait for, as people read it, by the value of `waits`: `{'verdict': 'your
            verdict'}`. Not needed if `waits` can be read as it is, as in `more time`.
        marks: the memory fields whose changes are marked in a run's history, by kind of mark: `verdict` for a
            list of records with a `verdict`, `revision` for a count of revisions.
        words: guards in words, for the edges of the diagram, by name: `{'is_spent': 'no time left'}`; or a
            pair, if it holds and if not: `{'is_tied': ('a tie', 'no tie')}`. '' leaves one out. Derived from
            the guard's name by default.
        projects: the parameters that name a project or tests, which must exist when a run starts.
        inputs: for triggers sent by people, the record that validates their data and from which a form can be
            drawn. The event then carries the record, defaults included.
        title, summary: derived from the class's name and docstring if not given.
        aliases: other names for the pattern.
        family: the heading under which the pattern is listed, or ''.
        suits: words of tasks it is made for, in lower case: `('bug', 'fix')`. Home suggests by them.
        panels: which panels of the run page show which memory field, as `{'plan': 'steps'}`; a panel
            that shows several has a mapping by part. May be a method, like `states`. The built-in panels are
            `plan` (a list of `PlanItem`s, drawn as a checklist),
            `messages` (between agents, in chronological order; the list only grows),
            `report` (Markdown for people, on a page of its own),
            `time` (the time of each phase, drawn as a burn-down),
            `supervision` (parts `verdicts`, `interventions`, `level` and `issues`),
            `debate` (a list of `Utterance`s; its board also shows the other fields of `DebateMemory`),
            `candidates` (`Candidate`s by name, side by side, with the fields `standings`, `choices`, `winner`
            and `file_conflicts`), and `comparison` (results of several ways of working).

    `class Base(Pattern, abstract=True)` is a base class for patterns and cannot be run itself.

    Methods named as conditions are guards, `(self, memory, event) -> bool`; methods named as callbacks are
    actions, `(self, memory, event)`. Both must be deterministic: no clock, no randomness, no I/O.
    A method named by `within` is a guard that returns seconds from now, or None for no limit. It is evaluated
    on entry to the state and after each step, so that a timeout can follow memory.
    A method named by `invoke` is an activity, `async (self, memory, activity)`: it gets a copy of memory and
    returns its result. `prompt_<agent>(self, memory, event)` returns an agent's task; it may omit `event`,
    which is the one that led there.
    """

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.abstract = abstract
        if 'name' not in cls.__dict__:
            cls.name = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '-', cls.__name__).lower()
        if 'title' not in cls.__dict__:
            first, *others = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', ' ', cls.__name__).split()
            cls.title = ' '.join([first, *(word if word.isupper() else word.lower() for word in others)])
        if 'summary' not in cls.__dict__:
            cls.summary = inspect.getdoc(cls) or ''
        for part, base in (('Memory', BaseMemory), ('Parameters', BaseModel)):
            member = getattr(cls, part)
            if not isinstance(member, type) or not issubclass(member, base):
                problem = f'it must be a subclass of {base.__module__.partition(".")[0]}.{base.__name__}'
                raise PatternError(cls.name, problem, where=part)
        validate_overrides(cls, Pattern)
        if cls.states:
            try:
                validate_pattern(cls.sample())
            except (AttributeError, ValidationError) as error:
                problem = f'its chart cannot be drawn with default parameters: {error}'
                raise PatternError(cls.name, problem, where='states') from error

    @classmethod
    @final
    def parse(cls, values: Mapping[str, Any]) -> BaseModel:
        """Validate parameters from outside.

        Raises:
            InvalidInput: names each field that is wrong or unknown.
        """
        fields = cls.Parameters.model_fields
        if unknown := [name for name in values if name not in fields]:
            available = ', '.join(fields) or 'none'
            raise InvalidInput(
                {name: f'there is no such parameter; available: {available}' for name in unknown}
            )
        parsed = cls.parse_recorded(values)
        refuse_nul(parsed.model_dump())
        return parsed

    @classmethod
    @final
    def parse_recorded(cls, values: Mapping[str, Any]) -> BaseModel:
        """Validate the parameters of a recorded run, ignoring fields its pattern no longer has.

        Raises:
            InvalidInput: names each field.
        """
        try:
            return _validator(cls.Parameters).validate_python(dict(values))  # type: ignore[no-any-return]
        except ValidationError as error:
            raise InvalidInput(validation_problems(error)) from None

    @final
    def validate_input(self, trigger: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Validate the data of an external event against `inputs`.

        Raises:
            InvalidInput: names each field that is wrong or unknown.
        """
        if trigger not in self.inputs:
            return data
        try:
            validator = _validator(_strict(self.inputs[trigger]))
            return validator.validate_python(dict(data)).model_dump(mode='json')  # type: ignore[no-any-return]
        except ValidationError as error:
            raise InvalidInput(validation_problems(error)) from None

    def remember(self) -> BaseMemory:
        """Return the memory a run starts with."""
        shared = type(self.parameters).model_fields.keys() & self.Memory.model_fields.keys()
        return self.Memory.model_validate({name: getattr(self.parameters, name) for name in shared})

    def start_problems(self) -> Mapping[str, str]:
        """Return why else a new run cannot start here, by parameter; not called for recorded runs."""
        return {}

    @classmethod
    def unavailable(cls) -> Mapping[str, str]:
        """Return the parameters that must keep their defaults on this machine, and why."""
        return {}

    def on_retry(self, memory: Any, event: Event) -> None:
        """Run as an action when a failed attempt is to be repeated: `event` has `error` and `delay`."""

    async def field_notes(self) -> Mapping[str, str]:
        """Return notes for the launch form: the effect of these parameters on this machine, by parameter."""
        return {}

    def facts(self, memory: Any) -> Mapping[str, Any]:
        """Return the part of memory that the agents' tools may read; they get a copy, as JSON values."""
        return {}

    @classmethod
    def state_report(cls, view: View, written: str) -> StatedReport:
        """Return a run's report at the step of `view`; `written` is in memory, in the field of the report."""
        return StatedReport(text=written)

    @classmethod
    def deliverables(cls, parameters: Mapping[str, Any], memory: Mapping[str, Any]) -> Deliverables:
        """Return the work that can be merged into a project, at any step of a run; by default, all folders.

        Both are plain JSON, perhaps written before the pattern was changed: `read_leniently` reads it.
        """
        return Deliverables.of(parameters)

    @classmethod
    def tool_names(cls) -> Sequence[str]:
        """Return the tools that its card shows inside its agents."""
        return ()

    @property
    def task(self) -> str:
        """The run's task in someone's own words: the longest multi-line one, else the longest line."""
        texts = [
            (multiline, text)
            for name, multiline in _text_fields(type(self.parameters))
            if isinstance(text := getattr(self.parameters, name, ''), str) and text
        ]
        return max(texts, key=lambda pair: (pair[0], len(pair[1])), default=(False, ''))[1]

    @classmethod
    @final
    def task_field(cls) -> str:
        """Return the parameter that takes a task: the first multi-line text, else the first text, or ''."""
        return max(_text_fields(cls.Parameters), key=lambda pair: pair[1], default=('', False))[0]

    @classmethod
    @final
    def sample(cls, values: Mapping[str, Any] | None = None) -> Pattern:
        """Return an instance for inspecting the chart; missing parameters get their defaults or are left out.

        Raises:
            InvalidInput: a value is invalid; names each field.
        """
        overrides = dict(values or {})
        required = {name for name, field in cls.Parameters.model_fields.items() if field.is_required()}
        if overrides and required <= overrides.keys():
            return cls(cls.parse(overrides))
        try:
            parameters = cls.Parameters()
        except ValidationError:
            parameters = cls.Parameters.model_construct()
        for name, value in overrides.items():
            try:
                _validator(cls.Parameters).validate_assignment(parameters, name, value)
            except ValidationError as error:
                raise InvalidInput(validation_problems(error)) from None
        return cls(parameters)


def restore_memory(memory: type[M], data: Any, *, derived: str = '') -> M:
    """Rebuild a run's memory from stored JSON, without the field that is derived from the others.

    Raises:
        InvalidInput: names each field.
    """
    if not isinstance(data, Mapping):
        raise InvalidInput({memory.__name__: f'must be an object, not {data!r:.80}'})
    try:
        return memory.model_validate({name: data[name] for name in data if name != derived})
    except ValidationError as error:
        raise InvalidInput(validation_problems(error)) from None


def validation_problems(error: ValidationError) -> dict[str, str]:
    """Return the problems in a validation error, by field name."""
    return {
        '.'.join(map(str, item['loc'])) or 'parameters': 'there is no such field'
        if item['type'] == 'extra_forbidden'
        else item['msg'].removeprefix('Value error, ')
        for item in error.errors()
    }


def _text_fields(model: type[BaseModel]) -> list[tuple[str, bool]]:
    """Return the text fields, and whether each has several lines, as its JSON schema says by `multiline`.

    A long path is not a task.
    """
    return [
        (name, isinstance(field.json_schema_extra, dict) and 'multiline' in field.json_schema_extra)
        for name, field in model.model_fields.items()
        if field.annotation in (str, str | None)
    ]


@cache
def _validator(record: type[BaseModel]) -> SchemaValidator:
    """Return what reads a record from outside: a boolean is true or false, at any depth.

    Pydantic also takes 0, 'no' and the like for one, but the API documents a boolean.
    """
    record.model_rebuild()
    # Without the argument, pydantic would take the validators that the records already have.
    return SchemaValidator(_with_strict_booleans(record.__pydantic_core_schema__), _use_prebuilt=False)


def _with_strict_booleans(schema: Any) -> Any:
    """Return a copy of a core schema, whose booleans are strict."""
    if isinstance(schema, list | tuple):
        return type(schema)(map(_with_strict_booleans, schema))
    if not isinstance(schema, dict):
        return schema
    copy = {
        key: part if key in ('default', 'metadata', 'expected') else _with_strict_booleans(part)
        for key, part in schema.items()
    }
    return {**copy, 'strict': True} if schema.get('type') == 'bool' else copy


@cache
def _strict(record: type[BaseModel]) -> type[BaseModel]:
    """Return a record that rejects unknown (misspelt) fields, unless it has its own rule for them."""
    if record.model_config.get('extra'):
        return record
    return create_model(record.__name__, __base__=record, __cls_kwargs__={'extra': 'forbid'})
