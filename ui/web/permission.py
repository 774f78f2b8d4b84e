"""Permissions of the current caller, checked by every control with an action."""

from __future__ import annotations

from typing import Final

from nicegui.element import Element

from engine import EngineError
from ui.access.caller import ANYONE, IDENTITY, Role
from ui.access.permissions import METHOD_ROLES
from ui.services.guard import METHOD_ROLES as SERVICES

ROLES: Final = {
    **METHOD_ROLES,
    **{f'{part}.{name}': role for part, methods in SERVICES.items() for name, role in methods.items()},
    'try tools': Role.OPERATOR,
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
