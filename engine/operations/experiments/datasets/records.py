"""Records of datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, with_config

from engine.errors import InvalidInput
from engine.records import FileContent, RunId, Shape, Transition

MAX_CASES = 10_000
MAX_PROBLEMS = 100
"""Maximum number of problems that an import lists; it stops there."""


RECORDED_OPTIONS: Final = ('approvals', 'effort', 'instructions', 'tools')
"""The fields of a launch, besides its parameters and its seed, that are kept with a recording."""


def _check_steps(steps: tuple[Transition, ...]) -> tuple[Transition, ...]:
    if not steps or steps[0].event.name != 'start':
        raise ValueError('it must begin with the step `start`')
    lost = next((number for number, step in enumerate(steps, start=1) if step.seq != number), 0)
    if lost:
        raise ValueError(f'step {lost} is missing')
    return steps


def _check_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    if unknown := sorted(set(options) - set(RECORDED_OPTIONS)):
        known = ', '.join(RECORDED_OPTIONS)
        raise ValueError(f'a recording has no option {unknown[0]!r}; allowed: {known}')
    return options


@with_config(ConfigDict(extra='forbid'))
@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a run did, where the journal does not have it yet: with all that models and tools answered."""

    pattern: str = ''
    """The pattern of the run; in the file of an experiment, that of its base if left out."""
    seed: int = 0
    options: Annotated[Mapping[str, Any], AfterValidator(_check_options)] = field(default_factory=dict)
    """How it was launched, by `RECORDED_OPTIONS`; in a file, as the base if left out."""
    shape: Shape | None = None
    """The chart that the run had; by default that of today."""
    steps: Annotated[tuple[Transition, ...], AfterValidator(_check_steps)]
    """All of them, from the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case of a dataset."""

    id: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, FileContent] = field(default_factory=dict)
    """Files that agents find in their folders, by path; laid over those of the experiment's base."""
    expectation: Any = None
    tags: tuple[str, ...] = ()
    split: str = ''
    source: RunId = RunId('')
    """The run that it was made from; '' if it was not made from one."""
    recording: Recording | None = None
    """What that run did, if it comes with the case: once the case is saved, it is a run in the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProblem:
    """What is wrong with a file, a row of it, or a cell."""

    row: int
    """The line in the file at which the row begins, from 1; 0 for the whole file."""
    column: str = ''
    text: str
    """What is wrong, and what would fit."""

    @property
    def place(self) -> str:
        """Where it is, in words."""
        row = f'row {self.row}' if self.row else 'file'
        return f'{row}, {self.column}' if self.column else row


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCases:
    """What was read from a file: its cases, and all that is wrong."""

    cases: tuple[Case, ...]
    """Those of rows without a problem."""
    problems: tuple[TableProblem, ...]
    """In the order of rows; if there are `MAX_PROBLEMS`, what follows was not read."""
    columns: Mapping[str, str]
    """What each column is read as: `id`, `split`, `tags`, `source`, `expectation`, `expectation.NAME`,
    `parameters.NAME`, `files`, `files.PATH`, or '' if it is left out."""
    encoding: str
    delimiter: str
    """What separates cells; '' in JSON lines."""

    def require(self) -> tuple[Case, ...]:
        """Return the cases. Raises `InvalidInput`, which names each row and column that is wrong."""
        if self.problems:
            raise InvalidInput({problem.place: problem.text for problem in self.problems})
        return self.cases
