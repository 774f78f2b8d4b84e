"""Access control for services: a role per method, and only the questions of runs the caller may see."""

from __future__ import annotations

import copy
import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

from engine.errors import EngineError, NotAllowed
from engine.records import RunInfo
from engine.runtime import acting_as
from ui.access.caller import Identity, Role
from ui.services.inbox import Inbox
from ui.services.services import Services

_VIEWER, _OPERATOR, _ADMIN = Role.VIEWER, Role.OPERATOR, Role.ADMIN
METHOD_ROLES: Final[Mapping[str, Mapping[str, Role]]] = {
    'inbox': {
        'list': _VIEWER, 'find': _VIEWER, 'answer': _OPERATOR, 'assign': _OPERATOR, 'snooze': _OPERATOR,
    },
    'notifications': {'log': _ADMIN, 'resend': _ADMIN, 'test': _ADMIN},
    'destinations': dict.fromkeys(('list', 'get', 'add', 'change', 'remove'), _ADMIN),
    'schedules': {
        'list': _VIEWER, 'get': _VIEWER, 'log': _VIEWER,
        'add': _OPERATOR, 'change': _OPERATOR, 'remove': _OPERATOR, 'run_now': _OPERATOR,
        'backfill': _OPERATOR,
    },
    'triggers': {
        'list': _OPERATOR, 'get': _ADMIN, 'log': _OPERATOR, 'add': _ADMIN, 'change': _ADMIN, 'remove': _ADMIN,
    },
}  # fmt: skip
"""The minimum role for each method; methods not listed are for the server itself."""

READING: Final = frozenset({'list', 'get', 'log'})
"""Read-only methods, left out of the audit log: pages call them every few seconds."""


def guard_services(
    services: Services, identity: Identity, record: Callable[..., Awaitable[None]]
) -> Services:
    """Return the services as this caller may use them; `record` writes an entry to the audit log."""

    def can_see(info: RunInfo) -> bool:
        return identity.last_caller.can_see(info)  # evaluated at every call, because pages keep the inbox

    guarded, inbox = copy.copy(services), Inbox(services.conductor, can_see)
    parts: dict[str, Any] = {
        'inbox': inbox,
        'schedules': services.schedules,
        'triggers': services.triggers,
        'notifications': services.notifications,
    }
    for name, part in parts.items():
        setattr(guarded, name, cast(Any, _Guarded(name, part, identity, record)))
    inner = copy.copy(services)
    inner.inbox = inbox
    cast(Any, guarded).assign = _Guarded('inbox', inbox, identity, record).guard('assign', inner.assign)
    return guarded


class _Guarded:
    def __init__(
        self, name: str, target: Any, identity: Identity, record: Callable[..., Awaitable[None]]
    ) -> None:
        self._name, self._target, self._identity, self._record = name, target, identity, record

    def __getattr__(self, name: str) -> Any:
        if name.startswith('_'):
            raise AttributeError(name)
        target = getattr(self._target, name)
        if name in METHOD_ROLES:  # a nested service
            return _Guarded(name, target, self._identity, self._record)
        return self.guard(name, target)

    def guard(self, name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Return the guarded method. Raises `NotAllowed` for one that no role may call."""
        path, role = f'{self._name}.{name}', METHOD_ROLES[self._name].get(name)
        if role is None:
            raise NotAllowed(f'{path} is for the server itself')

        @functools.wraps(method)
        async def do(*args: Any, **options: Any) -> Any:
            caller = await self._identity.check()
            details = {'name': str(getattr(args[0], 'name', args[0]))[:200]} if args else {}
            note = functools.partial(self._record, caller, path, details=details)
            is_noted = role is not _VIEWER and name not in READING
            try:
                caller.require(role, path)
                with acting_as(caller.name):
                    result = await method(*args, **options)
            except EngineError as error:
                if is_noted:
                    await note(refused='role' if isinstance(error, NotAllowed) else str(error))
                raise
            if is_noted:
                await note()
            return result

        return do
