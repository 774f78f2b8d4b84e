"""Guard: a conductor restricted to one caller. Roles and private runs are enforced only here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, cast

from engine import Conductor, Pattern, RunHandle
from engine.errors import NotAllowed, UnknownRun
from engine.history import lineage_tree
from engine.records import Launch, RunId, RunInfo, RunPage, RunQuery
from engine.runtime import acting_as
from ui.access.caller import Caller, Identity, Role
from ui.access.permissions import LOGGED_METHODS, METHOD_ROLES, PARTS

AuditWriter = Callable[..., Awaitable[None]]
"""Writes a line of the audit log."""
NEW_IDS: Final = frozenset(
    {('start', 'run'), ('fork', 'new'), ('fork_all', 'new'), ('rerun', 'new'), ('retry', 'new')}
)
"""Parameters that name a run that does not exist yet."""
HIDDEN_TITLE = 'A private run'


def guard_conductor(conductor: Conductor, identity: Identity, record: AuditWriter) -> Conductor:
    """Return the conductor, restricted to what this identity may do.

    Calls that the role does not permit raise `NotAllowed`; another person's private run raises `UnknownRun`.

    Args:
        conductor: the unrestricted one.
        identity: checked for each call, so that the end of a session takes effect everywhere.
        record: writes a line of the audit log.
    """
    return cast(Conductor, Guarded(conductor, conductor, identity, record, ''))


class Guarded:
    """A conductor, or a part of one, behind the guard."""

    _visibility_changes = 0
    """Counts changes of visibility in this process: after one, streams check again whether they may go on."""

    def __init__(
        self, target: Any, root: Conductor, identity: Identity, record: AuditWriter, path: str
    ) -> None:
        self._target, self._root, self._identity = target, root, identity
        self._record, self._path = record, path

    def __getattr__(self, name: str) -> Any:
        if name.startswith('_'):
            raise AttributeError(name)
        path = f'{self._path}{name}'
        if path in PARTS:
            part: Any = Guarded(
                getattr(self._target, name), self._root, self._identity, self._record, f'{path}.'
            )
        elif path not in METHOD_ROLES:
            raise NotAllowed(f'{path} is for the server itself')
        elif special := getattr(type(self), f'_{name}', None) if not self._path else None:
            part = functools.partial(special, self)
        else:
            part = getattr(self._target, name)
            if inspect.isroutine(part):
                part = self._guard(path, part)
            else:
                self._identity.last_caller.require(METHOD_ROLES[path], path)
                return part  # Not cached: it may change.
        self.__dict__[name] = part
        return part

    # A registry is a mapping of models, and lists of agents are mappings too.

    def __getitem__(self, key: str) -> Any:
        return self._target[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._target)

    def __len__(self) -> int:
        return len(self._target)

    def __contains__(self, key: object) -> bool:
        return key in self._target

    def __bool__(self) -> bool:
        return True

    def _guard(self, path: str, method: Callable[..., Any]) -> Callable[..., Any]:
        find_runs = run_finder(path, method)
        if inspect.iscoroutinefunction(method):

            @functools.wraps(method)
            async def do(*args: Any, **options: Any) -> Any:
                caller = await self._authorize(path, find_runs(*args, **options))
                if path in LOGGED_METHODS:
                    return await self._call_logged(path, caller, method, args, options, find_runs)
                with acting_as(caller.name):
                    return await method(*args, **options)

            return do
        if path in ('watch', 'export_bundle'):

            @functools.wraps(method)
            async def follow(*args: Any, **options: Any) -> AsyncIterator[Any]:
                runs = find_runs(*args, **options)
                caller, hidden = await self._authorize(path, runs), Guarded._visibility_changes
                if path in LOGGED_METHODS:
                    await self._record(caller, path, runs=_run_ids(runs))
                async with aclosing(method(*args, **options)) as items:
                    async for item in items:
                        now = await self._identity.check()
                        if now.role is not caller.role or hidden != Guarded._visibility_changes:
                            caller, hidden = await self._authorize(path, runs), Guarded._visibility_changes
                        yield item

            return follow

        @functools.wraps(method)
        def ask(*args: Any, **options: Any) -> Any:
            caller = self._identity.last_caller
            caller.require(METHOD_ROLES[path], path)
            with acting_as(caller.name):
                return method(*args, **options)

        return ask

    async def _authorize(self, path: str, runs: Iterable[RunId | RunInfo]) -> Caller:
        caller = await self._identity.check()
        try:
            caller.require(METHOD_ROLES[path], path)
        except NotAllowed:
            if path in LOGGED_METHODS:
                await self._record(caller, path, runs=_run_ids(runs), refused='role')
            raise
        if caller.role is not Role.ADMIN:
            for run in runs:
                info = run if isinstance(run, RunInfo) else await self._root.info(run)
                if not caller.can_see(info):
                    raise UnknownRun(info.id)
        return caller

    async def _call_logged(  # noqa: PLR0913  (the parts of a call)
        self,
        path: str,
        caller: Caller,
        method: Callable[..., Any],
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        find_runs: Callable[..., list[RunId | RunInfo]],
    ) -> Any:
        runs = _run_ids(find_runs(*args, **options))
        try:
            with acting_as(caller.name):
                result = await method(*args, **options)
        except Exception as error:
            await self._record(
                caller, path, runs=runs, details=_named_arguments(method, args, options), refused=str(error)
            )
            raise
        new = getattr(result, 'id', result)
        runs = runs or ([RunId(new)] if isinstance(new, str) else [])
        await self._record(caller, path, runs=runs, details=_named_arguments(method, args, options))
        return result

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
            await self._authorize('start', [RunId(launch.replay)])
        handle: RunHandle = await self._guard('start', self._root.start)(launch, run=run)
        return handle

    # Methods that return only what the caller may see.

    async def _runs(self, query: RunQuery | None = None) -> RunPage:
        return await self._root.runs(self._narrow(await self._authorize('runs', ()), query))

    async def _traffic(self, query: RunQuery | None = None, progress: Any = None) -> Any:
        return await self._root.traffic(self._narrow(await self._authorize('traffic', ()), query), progress)

    def _narrow(self, caller: Caller, query: RunQuery | None) -> RunQuery:
        return replace(query or RunQuery(), seen_by=None if caller.role is Role.ADMIN else caller.name)

    async def _iter_runs(self, place: Any = 'list') -> AsyncIterator[RunInfo]:
        caller = await self._authorize('iter_runs', ())
        async for info in self._root.iter_runs(place):
            if caller.can_see(info):
                yield info

    async def _family(self, run: RunId) -> list[RunId]:
        caller = await self._authorize('family', [run])
        infos = [await self._root.info(member) for member in await self._root.family(run)]
        return [info.id for info in infos if caller.can_see(info)]

    async def _lineage(self, run: RunId) -> Any:
        caller = await self._authorize('lineage', [run])
        family = await self._root.journal.family(run)
        return lineage_tree([info if caller.can_see(info) else mask(info) for info in family])

    async def _annotate(self, run: RunId, **changes: Any) -> RunInfo:
        if 'private' in changes:
            caller, info = await self._authorize('annotate', [run]), await self._root.info(run)
            if caller.role is not Role.ADMIN and info.author != caller.name:
                raise NotAllowed(f'only {info.author or "an administrator"} may change who can see this run')
        annotated: RunInfo = await self._guard('annotate', self._root.annotate)(run, **changes)
        if 'private' in changes:
            Guarded._visibility_changes += 1
        return annotated

    def _handle(self, run: RunId) -> RunHandle:
        return RunHandle(run, cast(Conductor, self))


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


def run_finder(path: str, method: Callable[..., Any]) -> Callable[..., list[RunId | RunInfo]]:
    """Return a function that finds the runs of a call: its arguments that are a run's id or summary."""
    signature = _signature(method)
    name = path.rpartition('.')[2]
    naming = [
        parameter.name
        for parameter in signature.parameters.values()
        if ('RunId' in str(parameter.annotation) or 'RunInfo' in str(parameter.annotation))
        and 'Callable' not in str(parameter.annotation)
        and (name, parameter.name) not in NEW_IDS
    ]

    def find_runs(*args: Any, **options: Any) -> list[RunId | RunInfo]:
        if not naming:
            return []
        arguments = signature.bind(*args, **options).arguments
        runs: list[RunId | RunInfo] = []
        for parameter in naming:
            value = arguments.get(parameter)
            if isinstance(value, (str, RunInfo)):
                runs.append(value if isinstance(value, RunInfo) else RunId(value))
            elif value is not None:
                runs.extend(value)
        return runs

    return find_runs


def _signature(method: Callable[..., Any]) -> inspect.Signature:
    return _inspect(getattr(method, '__func__', method), bound=inspect.ismethod(method))


@functools.cache
def _inspect(function: Callable[..., Any], *, bound: bool) -> inspect.Signature:
    signature = inspect.signature(function)
    return signature.replace(parameters=list(signature.parameters.values())[1:]) if bound else signature


def _run_ids(runs: Iterable[RunId | RunInfo]) -> list[RunId]:
    return [run.id if isinstance(run, RunInfo) else run for run in runs]


LOGGED_PARAMETERS: Final = frozenset(
    {'name', 'at', 'pattern', 'title', 'reason', 'kind', 'private', 'how', 'seconds', 'tokens', 'cost'}
)
"""Parameters that the audit log quotes: short ones without contents or secrets."""


def _named_arguments(
    method: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> dict[str, Any]:
    arguments = _signature(method).bind(*args, **options).arguments
    arguments |= arguments.pop('changes', {})
    if isinstance(launch := arguments.get('launch'), Launch):
        arguments |= {name: getattr(launch, name) for name in ('pattern', 'title', 'private')}
    return {
        name: value if isinstance(value, (bool, int, float)) else str(getattr(value, 'name', value))[:200]
        for name, value in arguments.items()
        if name in LOGGED_PARAMETERS and value not in (None, '')
    }
