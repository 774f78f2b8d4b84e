"""Scenarios: what the scripted model says, role by role, read from assets/scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engine.catalog import Fault
from engine.errors import Kind, ModelError

FOLDER = Path(__file__).parent.parent / 'assets' / 'scenarios'
LOADER: Any = getattr(
    yaml, 'CSafeLoader', yaml.SafeLoader
)  # The C one where there is one: ten times as fast.


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra='forbid')


class Call(_Record):
    """One tool call."""

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    gives: str = ''
    """What the tool answers, for the tests: a scenario whose numbers are wrong is a broken one."""


class Failure(_Record):
    """How a model call breaks off."""

    kind: Kind
    message: str = Field(min_length=1)
    attempts: int | None = Field(None, ge=1)
    """How many attempts fail; all of them when it is left out."""
    retryable: bool = True
    retry_after: float | None = Field(None, ge=0)
    """Seconds."""
    after: int = Field(0, ge=0)
    """Pieces that are streamed first."""

    def error(self) -> ModelError:
        """The exception that the engine sees."""
        return ModelError(
            self.message, kind=self.kind, retryable=self.retryable, retry_after=self.retry_after
        )


class Turn(_Record):
    """One reply of the model."""

    reasoning: str = ''
    text: str = ''
    calls: tuple[Call, ...] = ()
    answer: dict[str, Any] | None = None
    """The structured answer; sent as JSON text."""
    fail: Failure | None = None

    @model_validator(mode='after')
    def _says_one_thing(self) -> Self:
        if self.answer is not None and (self.text or self.calls):
            raise ValueError('answer stands alone: no text and no calls beside it')
        for_ever = self.fail is not None and self.fail.attempts is None
        if not (self.text or self.calls or self.answer is not None or for_ever):
            raise ValueError('needs text, calls, an answer, or a fail without attempts')
        return self

    def failure(self, attempt: int) -> Failure | None:
        """How this attempt fails, if it does."""
        fails = self.fail is not None and (self.fail.attempts is None or attempt <= self.fail.attempts)
        return self.fail if fails else None


Visit = Annotated[tuple[Turn, ...], Field(min_length=1)]


class Expect(_Record):
    """How a run of the scenario ends; the tests play every scenario to its end."""

    status: Literal['done', 'failed']
    error: str = ''
    """A part of the run's error."""
    memory: dict[str, Any] = Field(default_factory=dict)
    """Fields of memory and their values."""
    counts: dict[str, int] = Field(default_factory=dict)
    """Fields of memory that are lists and their lengths."""


class Scenario(_Record):
    """One file of assets/scenarios."""

    name: str = Field(pattern=r'^[a-z0-9-]+$')
    title: str = Field(min_length=1)
    about: str = Field(min_length=1)
    pattern: str = Field(min_length=1)
    task: str = Field(min_length=1)
    field: str = 'task'
    """The pattern's parameter that takes the task."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The other parameters of the sample run."""
    order: int = 10
    """Its place among the samples of its pattern; the first is the one that newcomers run."""
    match: tuple[str, ...] = Field(min_length=1)
    """Words that must all occur in a task for the scenario to be played; case does not matter."""
    roles: dict[str, Annotated[tuple[Visit, ...], Field(min_length=1)]]
    """Per role, or per state's path where agents share a role: visits, each of them a list of turns."""
    expect: Expect

    @model_validator(mode='after')
    def _fits_its_task(self) -> Self:
        if not self.fits(self.pattern, self.task):
            raise ValueError('match: not all of its words occur in the task')
        for role, visits in self.roles.items():
            for number, visit in enumerate(visits, start=1):
                if visit[-1].calls:
                    # It is repeated when the engine asks on: with calls, that would go round for ever.
                    raise ValueError(f'roles.{role}: the last turn of visit {number} must not call tools')
        return self

    def fits(self, pattern: str, task: str) -> bool:
        """Whether this scenario knows the task."""
        said = task.casefold()
        return pattern == self.pattern and all(word.casefold() in said for word in self.match)

    def turn(self, state: str, role: str, visit: int, turn: int) -> Turn | None:
        """What to say; past its end the last visit, and the last turn of a visit, are repeated."""
        visits = self.roles.get(state) or self.roles.get(role)
        if visits is None:
            return None
        turns = visits[min(visit, len(visits)) - 1]
        return turns[min(turn, len(turns) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A task that the scripted model knows, as a launch form offers it."""

    name: str
    title: str
    about: str
    task: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values for the pattern's `Parameters`, with the task in its field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The scenarios of a folder, by name, and what is wrong with the files that hold none."""

    scenarios: tuple[Scenario, ...] = ()
    faults: tuple[Fault, ...] = ()

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Library:
        """Read every `.yaml` file; a bad one is a fault, and the others load."""
        read = [_read(path) for path in sorted(folder.glob('*.yaml'))]
        return cls(
            scenarios=tuple(item for item in read if isinstance(item, Scenario)),
            faults=tuple(item for item in read if isinstance(item, Fault)),
        )

    def find(self, pattern: str, task: str) -> Scenario | None:
        """The scenario that knows the task: of several, the one with the most to match."""
        fitting = [scenario for scenario in self.scenarios if scenario.fits(pattern, task)]
        return max(fitting, key=lambda found: len(''.join(found.match)), default=None)


def scenarios(pattern: str, folder: Path = FOLDER) -> list[Sample]:
    """The sample tasks of a pattern, for a launch form."""
    return [
        Sample(
            name=found.name,
            title=found.title,
            about=found.about,
            task=found.task,
            parameters={**found.parameters, found.field: found.task},
        )
        for found in sorted(Library.load(folder).scenarios, key=lambda found: (found.order, found.name))
        if found.pattern == pattern
    ]


def _read(path: Path) -> Scenario | Fault:
    try:
        loader = LOADER(path.read_text('utf-8'))
        try:
            node = loader.get_single_node()
            data = loader.construct_document(node) if node else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        return Fault(path=str(path), line=line, problem=f'not YAML: {error.problem}')
    except (OSError, ValueError, yaml.YAMLError) as error:
        return Fault(path=str(path), line=0, problem=f'cannot be read: {error}')
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        first, *others = error.errors()
        where = '.'.join(map(str, first['loc'])) or 'the file'
        more = f' (and {len(others)} more)' if others else ''
        said = first['msg'].removeprefix('Value error, ')
        return Fault(path=str(path), line=_line(node, first['loc']), problem=f'{where}: {said}{more}')
    if scenario.name != path.stem:
        return Fault(
            path=str(path), line=_line(node, ('name',)), problem=f'name: must be {path.stem!r}, as the file'
        )
    return scenario


def _line(node: yaml.Node | None, at: tuple[int | str, ...]) -> int:
    """The line of a field in its file, or of the nearest thing around it."""
    for step in at:
        inner: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            inner = next((value for key, value in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            inner = node.value[step]
        if inner is None:
            break
        node = inner
    return node.start_mark.line + 1 if node else 0
