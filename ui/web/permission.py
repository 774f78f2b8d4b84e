"""Permissions of the current caller, checked by every control with an action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nicegui.element import Element

from engine import Conductor, EngineError
from engine.operations import Role, operations_of, parts_of
from ui.app.access.caller import ANYONE, IDENTITY
from ui.app.access.operations import AccountOperations
from ui.app.services.operations import ServiceOperations


def _roles(protocol: type[Any], path: str = '') -> Iterator[tuple[str, Role]]:
    for name, operation in operations_of(protocol).items():
        yield f'{path}{name}', operation.role
    for name, part in parts_of(protocol).items():
        yield from _roles(part, f'{name}.')


ROLES: Final = {
    **dict(_roles(Conductor)),
    **dict(_roles(ServiceOperations)),
    **dict(_roles(AccountOperations, 'account.')),
    'fleet.drain': Role.ADMIN,
}
"""The minimum role for each action of the conductor and the services."""


def refusal(action: str) -> str:
    """Return why the current caller may not do this, or ''. Unlisted actions raise `KeyError`."""
    role = ROLES[action]
    try:
        identity = IDENTITY.get()
        caller = identity.last_caller if identity else ANYONE
    except EngineError:
        return 'You are logged out'
    return '' if caller.role.includes(role) else f'Requires the role {role}; yours is {caller.role}'


def is_permitted(action: str) -> bool:
    """Whether the current caller may do this; menus leave out other actions."""
    return not refusal(action)


def require(element: Element, action: str) -> None:
    """Disable a control, with the reason, if the current caller may not do this."""
    if why := refusal(action):
        for name, value in {'disabled': '', 'title': why, 'data-refused': action}.items():
            element.props[name] = value  # `props()` would parse the text
