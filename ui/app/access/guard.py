"""Guard: the operations of a conductor or a service, restricted to one caller.

Roles and private runs are enforced only here.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, Unpack

from engine import Conductor, LocalConductor, Pattern, RunHandle
from engine.errors import NotAllowed, UnknownRun
from engine.history import LineageNode, lineage_tree
from engine.operations import Operation, Role, implement, operations_of, parts_of
from engine.records import Annotation, Launch, RunId, RunInfo, RunPage, RunQuery, Traffic
from engine.runtime import acting_as
from ui.app.access.caller import Caller, Identity

P = TypeVar('P')
AuditWriter = Callable[..., Awaitable[None]]
"""Writes a line of the audit log."""
HIDDEN_TITLE = 'A private run'
LOGGED_PARAMETERS: Final = frozenset(
    {
        'name', 'at', 'pattern', 'title', 'reason', 'kind', 'private', 'how', 'seconds', 'tokens', 'cost',
        'role', 'label', 'revoke_tokens', 'version', 'note',
    }
)  # fmt: skip
"""Parameters that the audit log quotes: short ones without contents or secrets."""
_visibility_changes = 0
"""Counts changes of visibility in this process: after one, streams check again whether they may go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A door (see `engine.operations`) that lets through what a caller may do, and logs it.

    Calls that the role does not permit raise `NotAllowed`; another person's private run raises `UnknownRun`.
    """

    protocol: type[Any]
    target: Any
    """Carries out what is let through."""
    conductor: LocalConductor | None = None
    """Tells whether a run is private; None if no operation is on runs."""
    identity: Identity
    """Checked for each call, so that the end of a session takes effect everywhere."""
    record: AuditWriter
    path: str = ''
    """Before the name of an operation in the audit log: `merging.`."""

    async def call(self, operation: Operation, arguments: inspect.BoundArguments) -> Any:
        """Carry out an operation that is awaited."""
        runs = runs_of(operation, arguments)
        caller = await self.authorize(operation, runs, arguments)
        method = getattr(self.target, operation.name)
        if not operation.logged:
            with acting_as(caller.name):
                return await method(*arguments.args, **arguments.kwargs)
        details = _details(operation, arguments)
        try:
            with acting_as(caller.name):
                result = await method(*arguments.args, **arguments.kwargs)
        except Exception as error:
            await self._log(operation, caller, runs, details, refused=str(error))
            raise
        new = getattr(result, 'id', result) if not self.path else ''
        await self._log(
            operation, caller, runs or ([RunId(new)] if isinstance(new, str) and new else []), details
        )
        return result

    async def stream(self, operation: Operation, arguments: inspect.BoundArguments) -> AsyncGenerator[Any]:
        """Carry out an operation that yields, for as long as the caller may see its runs."""
        runs = runs_of(operation, arguments)
        caller, seen = await self.authorize(operation, runs), _visibility_changes
        if operation.logged:
            await self._log(operation, caller, runs, _details(operation, arguments))
        method = getattr(self.target, operation.name)
        async with aclosing(method(*arguments.args, **arguments.kwargs)) as items:
            async for item in items:
                now = await self.identity.check()
                if now.role is not caller.role or seen != _visibility_changes:
                    caller, seen = await self.authorize(operation, runs), _visibility_changes
                yield item

    def ask(self, operation: Operation, arguments: inspect.BoundArguments) -> Any:
        """Carry out an operation that answers at once."""
        caller = self.identity.last_caller
        caller.require(operation.role, f'{self.path}{operation.name}')
        with acting_as(caller.name):
            return getattr(self.target, operation.name)(*arguments.args, **arguments.kwargs)

    def attribute(self, name: str) -> Any:
        """Return an attribute of the target; if it has operations, they are guarded too."""
        self.identity.last_caller.require(Role.VIEWER, f'{self.path}{name}')
        value, part = getattr(self.target, name), parts_of(self.protocol).get(name)
        if part is None:
            return value
        if narrow := getattr(value, 'seen_by', None):  # At every call, because pages keep such a part.
            identity = self.identity
            value = narrow(lambda record: identity.last_caller.can_see(record))  # noqa: PLW0108  (as it is then)
        return implement(part, replace(self, protocol=part, target=value, path=f'{name}.'))

    async def authorize(
        self,
        operation: Operation,
        runs: Iterable[RunId | RunInfo],
        arguments: inspect.BoundArguments | None = None,
    ) -> Caller:
        """Return the caller. Raises `NotAllowed`, `UnknownRun`, `SignedOut`."""
        caller = await self.identity.check()
        try:
            caller.require(operation.role, f'{self.path}{operation.name}')
        except NotAllowed:
            if operation.logged:
                details = _details(operation, arguments) if arguments and self.path else {}
                await self._log(operation, caller, runs, details, refused='role')
            raise
        if caller.role is not Role.ADMIN:
            for run in runs:
                assert self.conductor
                info = run if isinstance(run, RunInfo) else await self.conductor.info(run)
                if not caller.can_see(info):
                    raise UnknownRun(info.id)
        return caller

    async def _log(
        self,
        operation: Operation,
        caller: Caller,
        runs: Iterable[RunId | RunInfo],
        details: Mapping[str, Any],
        *,
        refused: str = '',
    ) -> None:
        ids = [run.id if isinstance(run, RunInfo) else run for run in runs]
        await self.record(caller, f'{self.path}{operation.name}', runs=ids, details=details, refused=refused)


def guard_conductor(conductor: LocalConductor, identity: Identity, record: AuditWriter) -> Conductor:
    """Return the conductor, restricted to what this identity may do.

    Args:
        conductor: the unrestricted one.
        identity: the caller.
        record: writes a line of the audit log.
    """
    guard = Guard(protocol=Conductor, target=conductor, conductor=conductor, identity=identity, record=record)
    return _GuardedConductor(guard, conductor).guarded


class _GuardedConductor:
    """The operations that return only what the caller may see, or whose arguments decide who may."""

    def __init__(self, guard: Guard, root: LocalConductor) -> None:
        self._guard, self._root = guard, root
        self._checked = implement(Conductor, guard)
        self.guarded: Conductor = implement(
            Conductor,
            guard,
            start=self._start,
            runs=self._runs,
            traffic=self._traffic,
            iter_runs=self._iter_runs,
            family=self._family,
            lineage=self._lineage,
            annotate=self._annotate,
            handle=lambda run: RunHandle(run, self.guarded),
        )

    async def _authorize(self, name: str, *runs: RunId) -> Caller:
        return await self._guard.authorize(operations_of(Conductor)[name], runs)

    async def _start(
        self,
        launch: Launch | type[Pattern] | str,
        parameters: Mapping[str, Any] | None = None,
        *,
        run: RunId | None = None,
        **values: Any,
    ) -> RunHandle:
        if isinstance(launch, type):
            raise NotAllowed('start takes the name of a pattern')
        launch = Launch.build(launch, parameters, values)
        if launch.replay:
            await self._authorize('start', RunId(launch.replay))
        return await self._checked.start(launch, run=run)

    async def _runs(self, query: RunQuery | None = None) -> RunPage:
        return await self._root.runs(_narrow(await self._authorize('runs'), query))

    async def _traffic(self, query: RunQuery | None = None, progress: Any = None) -> Traffic:
        return await self._root.traffic(_narrow(await self._authorize('traffic'), query), progress)

    async def _iter_runs(self, place: Any = 'list') -> AsyncIterator[RunInfo]:
        caller = await self._authorize('iter_runs')
        async for info in self._root.iter_runs(place):
            if caller.can_see(info):
                yield info

    async def _family(self, run: RunId) -> list[RunId]:
        caller = await self._authorize('family', run)
        infos = [await self._root.info(member) for member in await self._root.family(run)]
        return [info.id for info in infos if caller.can_see(info)]

    async def _lineage(self, run: RunId) -> LineageNode:
        caller = await self._authorize('lineage', run)
        family = await self._root.journal.family(run)
        return lineage_tree([info if caller.can_see(info) else mask(info) for info in family])

    async def _annotate(self, run: RunId, **changes: Unpack[Annotation]) -> RunInfo:
        global _visibility_changes  # noqa: PLW0603  (streams of all callers look at it)
        if 'private' in changes:
            caller, info = await self._authorize('annotate', run), await self._root.info(run)
            if caller.role is not Role.ADMIN and info.author != caller.name:
                raise NotAllowed(f'only {info.author or "an administrator"} may change who can see this run')
        annotated = await self._checked.annotate(run, **changes)
        if 'private' in changes:
            _visibility_changes += 1
        return annotated


def _narrow(caller: Caller, query: RunQuery | None) -> RunQuery:
    return replace(query or RunQuery(), seen_by=None if caller.role is Role.ADMIN else caller.name)


def mask(info: RunInfo) -> RunInfo:
    """Return the placeholder of a run in a fork tree, for callers who may not see it."""
    return RunInfo(
        id=info.id,
        pattern=info.pattern,
        title=HIDDEN_TITLE,
        options={name: info.options[name] for name in ('kind',) if name in info.options},
        status=info.status,
        created=info.created,
        updated=info.created,
        parent=info.parent,
        parent_at=info.parent_at,
        private=True,
    )


def runs_of(operation: Operation, arguments: inspect.BoundArguments) -> list[RunId | RunInfo]:
    """Return the runs that the arguments of an operation name, by id or with their summaries."""
    runs: list[RunId | RunInfo] = []
    for name in operation.runs:
        value = arguments.arguments.get(name)
        if isinstance(value, (str, RunInfo)):
            runs.append(value if isinstance(value, RunInfo) else RunId(value))
        elif value is not None:
            runs.extend(value)
    return runs


def _details(operation: Operation, bound: inspect.BoundArguments) -> dict[str, Any]:
    """Return what the audit log quotes: of an operation that is not on runs, also what it is on.

    That is its first positional text, logged as `name`: an operation takes secrets by keyword only.
    """
    arguments = dict(bound.arguments)
    arguments |= arguments.pop('changes', {}) if isinstance(arguments.get('changes'), Mapping) else {}
    if isinstance(launch := arguments.get('launch'), Launch):
        arguments |= {name: getattr(launch, name) for name in ('pattern', 'title', 'private')}
    elif not operation.runs and bound.args and isinstance(name := _name(bound.args[0]), str):
        arguments['name'] = name
    return {
        name: value if isinstance(value, (bool, int, float)) else str(_name(value) or value)[:200]
        for name, value in arguments.items()
        if name in LOGGED_PARAMETERS and value not in (None, '')
    }


def _name(value: Any) -> Any:
    return value if isinstance(value, str) else getattr(value, 'name', None)
