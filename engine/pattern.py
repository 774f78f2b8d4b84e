"""Pattern: parameters, memory, states and transitions of a workflow; one class in one file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError

from engine.check import check
from engine.errors import InvalidInput, PatternError
from engine.memory import Memory as BaseMemory
from engine.outline import Oversight

Listed = Sequence[Any]


class Pattern:
    """Base of all patterns. A subclass says what a workflow is; it holds no run.

    Class attributes:
        Parameters: what the launch form asks for.
        Memory: the run's data; only actions write it. A field named like a parameter starts with its value.
        initial: the state a run begins in.
        states, transitions: handed to `transitions` as they stand, plus our keys (`invoke`, `within`,
            `retry`, `outcome`, `waits`, and what `agent()` makes). They may be methods, when they depend on
            the parameters.
        answer: the field of memory that holds the result, or ''.
        inputs: for a trigger that a person sends, the record that its data must fit; a form can be drawn from
            it. What is sent is then the record with its defaults.
        plan: the field of memory that holds a list of `Step`s, drawn as a checklist, or ''.
        title, summary: made from the class's name and docstring where they are not given.
        family: the heading under which the pattern is listed, or ''.
        debate: the field of memory that holds a list of `Said`s, drawn as a debate board, or ''. Of the other
            fields of `DebateMemory`, the board shows those that are there.
        candidates: the field of memory that holds `Candidate`s by name, drawn side by side, or ''. So for
            the fields `standings`, `choices`, `winner` and `file_conflicts`, where they are there.
        messages: the field with what was said between agents, in the order of time; it only grows.
        report: the field with a report for people, as Markdown: it has a page of its own.
        clock: the field with the time of each phase, drawn as a burn-down.
        oversight: the fields with what a supervisor said of the work.

    Methods named as conditions are guards, `(self, memory, event) -> bool`; methods named as callbacks are
    actions, `(self, memory, event)`. Both are pure of the outside: no clock, no chance, no input or output.
    A method named by `within` is a guard that gives seconds from now on, or None for no end: it is asked
    when the state is entered and after each step, so that a time-out can follow memory.
    A method named by `invoke` is an activity, `async (self, memory, activity)`: it gets a copy of memory
    and returns its result. `prompt_<agent>(self, memory)` gives an agent its task.
    """

    name: ClassVar[str] = ''
    title: ClassVar[str] = ''
    summary: ClassVar[str] = ''
    family: ClassVar[str] = ''
    initial: ClassVar[str] = ''
    answer: ClassVar[str] = ''
    inputs: ClassVar[Mapping[str, type[BaseModel]]] = {}
    plan: ClassVar[str] = ''
    debate: ClassVar[str] = ''
    candidates: ClassVar[str] = ''
    messages: ClassVar[str] = ''
    report: ClassVar[str] = ''
    clock: ClassVar[str] = ''
    oversight: ClassVar[Oversight | None] = None

    class Parameters(BaseModel):
        """Asked for in the launch form."""

    instructed: Mapping[str, str] = {}
    """Of one run, by role: its standing instructions, where they are not those of the pattern."""

    Memory: type[BaseMemory] = BaseMemory
    states: Any = ()
    transitions: Any = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if 'name' not in cls.__dict__:
            cls.name = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '-', cls.__name__).lower()
        if 'title' not in cls.__dict__:
            first, *others = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', ' ', cls.__name__).split()
            cls.title = ' '.join([first, *(word if word.isupper() else word.lower() for word in others)])
        if 'summary' not in cls.__dict__:
            cls.summary = inspect.getdoc(cls) or ''
        for part, base in (('Memory', BaseMemory), ('Parameters', BaseModel)):
            found = getattr(cls, part)
            if not isinstance(found, type) or not issubclass(found, base):
                problem = f'it must be a subclass of {base.__module__.partition(".")[0]}.{base.__name__}'
                raise PatternError(cls.name, problem, where=part)
        if cls.states:
            try:
                check(cls.sample())
            except (AttributeError, ValidationError) as error:
                problem = f'its chart cannot be drawn with default parameters: {error}'
                raise PatternError(cls.name, problem, where='states') from error

    def __init__(self, parameters: BaseModel | None = None) -> None:
        self.parameters: Any = parameters if parameters is not None else self.Parameters()

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> BaseModel:
        """Validate parameters from outside. Raises `InvalidInput`, which names each field."""
        try:
            return cls.Parameters.model_validate(dict(values))
        except ValidationError as error:
            raise InvalidInput(problems(error)) from None

    def checked(self, trigger: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The data of an event from outside, as `inputs` wants it. Raises `InvalidInput`."""
        if trigger not in self.inputs:
            return data
        try:
            return self.inputs[trigger].model_validate(dict(data)).model_dump(mode='json')
        except ValidationError as error:
            raise InvalidInput(problems(error)) from None

    def chart_states(self) -> Listed:
        """The states, with the parameters taken into account."""
        return self.states() if callable(self.states) else self.states  # type: ignore[no-any-return]

    def chart_transitions(self) -> Listed:
        """The transitions, with the parameters taken into account."""
        return self.transitions() if callable(self.transitions) else self.transitions  # type: ignore[no-any-return]

    def remember(self) -> BaseMemory:
        """The memory a run starts with."""
        shared = type(self.parameters).model_fields.keys() & self.Memory.model_fields.keys()
        return self.Memory.model_validate({name: getattr(self.parameters, name) for name in shared})

    def facts(self, memory: Any) -> Mapping[str, Any]:
        """What tools of this pattern's agents may know of memory; they get a copy, as JSON values."""
        return {}

    @property
    def compared(self) -> str:
        """The field of memory that holds ways of working beside each other (`Side`s), or ''."""
        return ''

    @property
    def task(self) -> str:
        """What a run is about, in somebody's own words: the longest text among the parameters."""
        fields = type(self.parameters).model_fields
        free = (name for name, field in fields.items() if field.annotation in (str, str | None))
        texts = (getattr(self.parameters, name, '') for name in free)
        return max((text for text in texts if isinstance(text, str)), key=len, default='')

    @classmethod
    def sample(cls, values: Mapping[str, Any] | None = None) -> Pattern:
        """An instance whose chart can be looked at: parameters not given are at their defaults, or left out.

        Raises:
            InvalidInput: a value does not fit; it names each field.
        """
        given = dict(values or {})
        required = {name for name, field in cls.Parameters.model_fields.items() if field.is_required()}
        if given and required <= given.keys():
            return cls(cls.parse(given))
        try:
            parameters = cls.Parameters()
        except ValidationError:
            parameters = cls.Parameters.model_construct()
        for name, value in given.items():
            try:
                cls.Parameters.__pydantic_validator__.validate_assignment(parameters, name, value)
            except ValidationError as error:
                raise InvalidInput(problems(error)) from None
        return cls(parameters)


def problems(error: ValidationError) -> dict[str, str]:
    """Field name to problem, of a validation error."""
    return {
        '.'.join(map(str, item['loc'])) or 'parameters': item['msg'].removeprefix('Value error, ')
        for item in error.errors()
    }
