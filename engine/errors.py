"""Every error the engine raises, as one hierarchy.

EngineError
├── PatternError            a pattern is defined incorrectly: found when its class or file is loaded
├── InvalidInput            a value from outside was rejected; names the field
├── UnknownPattern          no pattern with that name
├── UnknownRun              no run with that id
├── UnknownStep             the run has no such step
├── UnknownNote             the run has no such note
├── UnknownConnection       no connection of a kind with that name
│   ├── UnknownEndpoint     no model endpoint with that name
│   ├── UnknownMcpServer    no MCP server with that name
│   └── UnknownAgent        no coding agent with that name
├── NotAllowed              the account's role does not permit that
│   └── SignedOut           the session or token is missing or no longer valid
├── EventRefused            the run's active states do not accept that event
│   ├── RunElsewhere        the run is not, or no longer, in this process
│   └── StepPassed          the run has moved on since the step the sender saw
├── Diverged                replaying the journal gave a different transition than the recorded one
├── JournalError            the journal failed to store or return something
│   ├── JournalConflict     another writer already stored that (run, seq)
│   ├── StaleOwner          the run has since been claimed by another owner
│   ├── EntryChanged        somebody else has written that entry since it was read
│   ├── JournalUnavailable  full disk, locked file: worth retrying
│   └── JournalDamaged      the database is corrupt, or from a newer or an unreleased version
├── BundleError             a file of exported runs was rejected; names the line and the field
├── WorkspaceError          an agent's files could not be stored, found or restored
│   ├── WorkspaceOverLimit  nested too deeply, too many or too large: the agent can fix that
│   └── FilesUnavailable    the shared file storage refuses or does not answer: worth retrying
├── ModelError              a model call failed; `retryable` if another attempt may help
└── ToolError               a tool could not do what was asked
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

UNRELEASED: Final = 'is from an unreleased version of Hemicycle and cannot be read'
"""What is said about a database, backup or bundle that was written before the first release."""


class EngineError(Exception):
    """Base class of all errors; `str(error)` is a sentence that can be shown to people."""


class PatternError(EngineError):
    """A pattern is defined incorrectly.

    Attributes:
        pattern: the pattern's name.
        where: the state, trigger or method at fault, or ''.
    """

    def __init__(self, pattern: str, problem: str, *, where: str = '') -> None:
        self.pattern, self.where, self.problem = pattern, where, problem
        super().__init__(f'pattern {pattern!r}{f", {where}" if where else ""}: {problem}')


class InvalidInput(EngineError):
    """A value from outside was rejected. `problems` maps field names to what is wrong."""

    def __init__(self, problems: dict[str, str]) -> None:
        self.problems = problems
        super().__init__('; '.join(f'{field}: {problem}' for field, problem in problems.items()))


class NotAllowed(EngineError):
    """The account's role does not permit that."""


class SignedOut(NotAllowed):
    """The session or token is missing or no longer valid."""


class UnknownPattern(EngineError):
    """No pattern with that name; `reason` says why there can be none."""

    def __init__(
        self, name: str, known: tuple[str, ...] = (), faults: tuple[str, ...] = (), *, reason: str = ''
    ) -> None:
        self.name, self.known = name, known
        if reason:
            super().__init__(reason)
            return
        listed = f'; available: {", ".join(known)}' if known else ''
        broken = f'; not loaded: {"; ".join(faults)}' if faults else ''
        super().__init__(f'there is no pattern {name!r}{listed}{broken}')


class UnknownVersion(UnknownPattern):
    """The pattern has no such version any more, or it cannot be used; `today` is the one that it has."""

    def __init__(self, name: str, version: str, today: str = '', *, problem: str = 'is gone') -> None:
        self.version, self.today = version, today
        now = f'; today it is {today}' if today else ''
        super().__init__(name, reason=f'version {version} of {name!r} {problem}{now}')


class UnknownRun(EngineError):
    """No run with that id."""

    def __init__(self, run: str) -> None:
        self.run = run
        super().__init__(f'there is no run {run!r}')


class UnknownStep(EngineError):
    """The run has no such step."""

    def __init__(self, run: str, step: int | str, last: int) -> None:
        """`step` is text if it was given as something that is no number."""
        self.run, self.step, self.last = run, step, last
        super().__init__(f'run {run} has no step {step}: its last is {last}')


class UnknownNote(EngineError):
    """The run has no such note."""

    def __init__(self, run: str, note: int) -> None:
        self.run, self.note = run, note
        super().__init__(f'run {run} has no note {note}')


class UnknownConnection(EngineError):
    """There is no connection of this kind with that name."""

    kind = ''

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f'there is no {self.kind} {name!r}')


class UnknownEndpoint(UnknownConnection):
    """There is no model endpoint with that name."""

    kind = 'endpoint'


class UnknownMcpServer(UnknownConnection):
    """There is no MCP server with that name."""

    kind = 'MCP server'


class UnknownAgent(UnknownConnection):
    """There is no coding agent with that name."""

    kind = 'agent'


class EventRefused(EngineError):
    """The run does not accept that event at present."""

    kind = 'run'

    def __init__(self, run: str, event: str, reason: str) -> None:
        self.run, self.event = run, event
        super().__init__(f'{self.kind} {run} does not accept {event!r} now: {reason}')


class RunElsewhere(EventRefused):
    """The run is not, or no longer, in this process. Nothing was done; another may accept the event."""


class StepPassed(EventRefused):
    """The run has moved on since the step the sender saw."""

    def __init__(self, run: str, event: str, seen: int, last: int) -> None:
        self.seen, self.last = seen, last
        super().__init__(run, event, f'it is at step {last}, and the sender saw step {seen}')


class Diverged(EngineError):
    """An audit found a step that the chart would decide differently today."""

    def __init__(self, run: str, step: int, difference: str) -> None:
        self.run, self.step, self.difference = run, step, difference
        super().__init__(f'run {run} diverges at step {step}: {difference}')


class JournalError(EngineError):
    """The journal failed to store or return something."""


class JournalConflict(JournalError):
    """Another writer already stored that sequence number of that run."""

    def __init__(self, run: str, seq: int) -> None:
        self.run, self.seq = run, seq
        super().__init__(f'step {seq} of run {run} is already written')


class StaleOwner(JournalError):
    """The run has a newer owner; this one must stop writing."""

    def __init__(self, run: str, epoch: int) -> None:
        self.run, self.epoch = run, epoch
        super().__init__(f'run {run} has been claimed by another process since epoch {epoch}')


class EntryChanged(JournalError):
    """Somebody else has written that entry since it was read; nothing was written."""

    def __init__(self, kind: str, key: str) -> None:
        self.kind, self.key = kind, key
        super().__init__(f'{kind} {key!r} has been changed by somebody else: read it again')


class JournalUnavailable(JournalError):
    """The journal cannot be written now (disk full, database locked). Nothing is lost; try again."""


class JournalDamaged(JournalError):
    """The database is unusable: corrupt, or written by a newer or an unreleased version."""


class StepDamaged(JournalDamaged):
    """One step is damaged or missing; earlier steps can still be read."""

    def __init__(self, run: str, step: int, problem: str) -> None:
        self.run, self.step = run, step
        super().__init__(
            f'step {step} of run {run} {problem}; put a backup of the database in its place, or fork the run'
            ' from an earlier step'
        )


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

TRANSIENT_KINDS = frozenset[str](
    {'rate limit', 'overloaded', 'server', 'timeout', 'connection', 'truncated', 'bad response'}
)
"""Transient kinds, where another attempt may succeed; the others are permanent."""


class WorkspaceError(EngineError):
    """An agent's files could not be stored, found or restored."""


class WorkspaceOverLimit(WorkspaceError):
    """The files are nested too deeply, too many or too large. The agent that made them can fix that."""


class FilesUnavailable(WorkspaceError):
    """The shared file storage refuses or does not answer. Nothing is lost; try again."""


class BundleError(EngineError):
    """A file of exported runs was rejected; nothing of it was imported.

    Attributes:
        line: the number of the line at fault, from 1; 0 is the file as a whole.
        field: the field of that line, or ''.
        problem: what is wrong with it.
    """

    def __init__(self, line: int, problem: str, *, field: str = '') -> None:
        self.line, self.field, self.problem = line, field, problem
        where = ', '.join(filter(None, (f'line {line}' if line else '', field)))
        super().__init__(f'{where}: {problem}' if where else problem)


class ModelError(EngineError):
    """A model call failed.

    Attributes:
        kind: short machine-readable reason, one of `Kind`.
        retryable: whether another attempt may help.
        retry_after: seconds the provider asked to wait, if it did.
        status: the HTTP status, or that reported by an error in a stream; 0 if there was none.
        code: the provider's own error code, or ''.
        request_id: the id to quote to the provider's support, or ''.
        usage: the attempt's `Usage`, if the provider reported it before failing. (Not typed here: records
            import errors.)
        spent: the `Usage` of all attempts up to this failure, by model; {} if there were none.
        shown: whether part of the answer had been shown.
        attempts: how many attempts the endpoint allows per call, if configured.
        patience: the longest wait in seconds its endpoint may ask for, if configured.
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
        usage: Any = None,
    ) -> None:
        self.problem, self.shown = problem, False
        self.attempts: int | None = None
        self.patience: float | None = None
        self.spent: dict[str, Any] = {}
        self.kind, self.retryable, self.retry_after = kind, retryable, retry_after
        self.status, self.code, self.request_id, self.usage = status, code, request_id, usage
        super().__init__(problem)


class ToolError(EngineError):
    """A tool could not do what was asked; the sentence goes back to the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A file that could not be loaded: collected, not raised."""

    path: str
    line: int
    problem: str
