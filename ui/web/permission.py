"""What whoever is served here may not do: asked by each control that does something."""

from __future__ import annotations

from typing import Final

from nicegui.element import Element

from engine import EngineError
from ui.access.caller import ANYONE, IDENTITY, Role
from ui.access.deeds import DEEDS
from ui.services.guard import DEEDS as SERVICES

ROLES: Final = {
    **DEEDS,
    **{f'{part}.{name}': role for part, deeds in SERVICES.items() for name, role in deeds.items()},
    'try tools': Role.OPERATOR,
    'fleet.drain': Role.ADMIN,
}
"""The lowest role for each deed of the conductor and of the services."""


def refusal(deed: str) -> str:
    """Why whoever is served here may not do this, or ''. A deed that nobody listed raises `KeyError`."""
    role = ROLES[deed]
    try:
        identity = IDENTITY.get()
        caller = identity.known if identity else ANYONE
    except EngineError:
        return 'You are logged out'
    return '' if caller.role.includes(role) else f'This takes the role {role}; yours is {caller.role}'


def may(deed: str) -> bool:
    """Whether whoever is served here may do this: entries of menus that nobody may choose are left out."""
    return not refusal(deed)


def require(element: Element, deed: str) -> None:
    """Disable a control for those who may not do this, and say why."""
    if why := refusal(deed):
        for name, value in {'disabled': '', 'title': why, 'data-refused': deed}.items():
            element.props[name] = value  # `props()` would parse the text
