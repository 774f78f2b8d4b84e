"""Records of datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import InvalidInput
from engine.records import FileContent, RunId

MAX_CASES = 10_000
MAX_PROBLEMS = 100
"""Maximum number of problems that an import lists; it stops there."""


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
