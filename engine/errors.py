"""Every error the engine raises, as one tree.

EngineError
├── PatternError            a pattern is written wrongly: found when its class is made or its file is loaded
├── InvalidInput            a value from outside was refused at the door; names the field
├── UnknownPattern          no pattern of that name
├── UnknownRun              no run of that id
├── UnknownStep             the run has no such step
├── UnknownNote             the run has no such note
├── EventRefused            the run's active states do not take that event
├── Diverged                re-firing the journal gave another transition than the recorded one
├── JournalError            the journal did not take or give something
│   ├── JournalConflict     another writer already holds that (run, seq)
│   ├── StaleOwner          the run has been claimed by somebody else since
│   ├── JournalUnavailable  full disk, locked file: worth trying again
│   └── JournalDamaged      the database is corrupt, or from a newer version
├── BundleError             a file of exported runs cannot be taken in; names the line and the field
├── WorkspaceError          an agent's files could not be kept, found or restored
├── ModelError              a model call failed; says whether another attempt may help
└── ToolError               a tool could not do what it was asked
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from engine.records import Usage


class EngineError(Exception):
    """Base of all; `str(error)` is a sentence fit for a screen."""


class PatternError(EngineError):
    """A pattern is written wrongly.

    Attributes:
        pattern: the pattern's name.
        where: the state, trigger or method at fault, or ''.
    """

    def __init__(self, pattern: str, problem: str, *, where: str = '') -> None:
        self.pattern, self.where, self.problem = pattern, where, problem
        super().__init__(f'pattern {pattern!r}{f", {where}" if where else ""}: {problem}')


class InvalidInput(EngineError):
    """A value from outside was refused. `problems` maps a field's name to what is wrong with it."""

    def __init__(self, problems: dict[str, str]) -> None:
        self.problems = problems
        super().__init__('; '.join(f'{field}: {problem}' for field, problem in problems.items()))


class UnknownPattern(EngineError):
    """No pattern of that name."""

    def __init__(self, name: str, known: tuple[str, ...] = ()) -> None:
        self.name, self.known = name, known
        listed = f'; there are: {", ".join(known)}' if known else ''
        super().__init__(f'there is no pattern {name!r}{listed}')


class UnknownRun(EngineError):
    """No run of that id."""

    def __init__(self, run: str) -> None:
        self.run = run
        super().__init__(f'there is no run {run!r}')


class UnknownStep(EngineError):
    """The run has no such step."""

    def __init__(self, run: str, step: int, last: int) -> None:
        self.run, self.step, self.last = run, step, last
        super().__init__(f'run {run} has no step {step}: its last is {last}')


class UnknownNote(EngineError):
    """The run has no such note."""

    def __init__(self, run: str, note: int) -> None:
        self.run, self.note = run, note
        super().__init__(f'run {run} has no note {note}')


class EventRefused(EngineError):
    """The run does not take that event now."""

    def __init__(self, run: str, event: str, reason: str) -> None:
        self.run, self.event = run, event
        super().__init__(f'run {run} does not take {event!r} now: {reason}')


class Diverged(EngineError):
    """An audit found a step that the chart decides otherwise today."""

    def __init__(self, run: str, step: int, difference: str) -> None:
        self.run, self.step, self.difference = run, step, difference
        super().__init__(f'run {run} diverges at step {step}: {difference}')


class JournalError(EngineError):
    """The journal did not take or give something."""


class JournalConflict(JournalError):
    """Another writer already holds that sequence number of that run."""

    def __init__(self, run: str, seq: int) -> None:
        self.run, self.seq = run, seq
        super().__init__(f'step {seq} of run {run} is already written')


class StaleOwner(JournalError):
    """The run has a newer owner; this one must stop writing."""

    def __init__(self, run: str, epoch: int) -> None:
        self.run, self.epoch = run, epoch
        super().__init__(f'run {run} has been claimed by another process since epoch {epoch}')


class JournalUnavailable(JournalError):
    """The journal cannot be written just now (disk full, database locked); nothing is lost, try again."""


class JournalDamaged(JournalError):
    """The database cannot be used as it is: corrupt, or written by a newer version."""


Kind = Literal[
    'rate limit',
    'quota',
    'overloaded',
    'server',
    'timeout',
    'connection',
    'truncated',
    'bad response',
    'auth',
    'not found',
    'context too long',
    'content filter',
    'bad request',
]
"""Why a model call failed."""

PASSING = frozenset[str](
    {'rate limit', 'overloaded', 'server', 'timeout', 'connection', 'truncated', 'bad response'}
)
"""Kinds that another attempt may get past; the others say no each time."""


class WorkspaceError(EngineError):
    """An agent's files could not be kept, found or restored."""


class BundleError(EngineError):
    """A file of exported runs cannot be taken in; nothing of it was.

    Attributes:
        line: the number of the line at fault, from 1; 0 is the file as a whole.
        field: the field of that line, or ''.
        problem: what is wrong with it.
    """

    def __init__(self, line: int, problem: str, *, field: str = '') -> None:
        self.line, self.field, self.problem = line, field, problem
        where = f'line {line}{f", {field}" if field else ""}: ' if line else ''
        super().__init__(f'{where}{problem}')


class ModelError(EngineError):
    """A model call failed.

    Attributes:
        kind: short machine-readable reason, one of `Kind`.
        retryable: whether another attempt may help.
        retry_after: seconds the provider asked to wait, if it did.
        status: of the HTTP response, or the one that an error in a stream names; 0 where there was none.
        code: the provider's own word for it, or ''.
        request_id: what the provider's support asks for, or ''.
        usage: what the attempt has used, where the provider said so before it failed.
        spent: what all attempts up to this failure have used, by model; {} where none was made.
        shown: whether a part of the answer had been shown.
    """

    def __init__(  # noqa: PLR0913  (all but the problem have defaults)
        self,
        problem: str,
        *,
        kind: Kind = 'server',
        retryable: bool = False,
        retry_after: float | None = None,
        status: int = 0,
        code: str = '',
        request_id: str = '',
        usage: Usage | None = None,
    ) -> None:
        self.problem, self.shown = problem, False
        self.spent: dict[str, Usage] = {}
        self.kind, self.retryable, self.retry_after = kind, retryable, retry_after
        self.status, self.code, self.request_id, self.usage = status, code, request_id, usage
        super().__init__(problem)


class ToolError(EngineError):
    """A tool could not do what it was asked; the sentence goes back to the model."""
