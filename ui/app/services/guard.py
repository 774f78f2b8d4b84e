"""The services of a server, restricted to one caller: only questions of runs that they may see."""

from __future__ import annotations

from typing import Any

from engine.operations import implement
from engine.records import RunInfo
from ui.app.access.caller import Identity
from ui.app.access.guard import AuditWriter, Guard
from ui.app.services.operations import ServiceOperations
from ui.app.services.services import Services


def guard_services(services: Services, identity: Identity, record: AuditWriter) -> ServiceOperations:
    """Return the services as this caller may use them; `record` writes an entry to the audit log."""
    guard = Guard(
        protocol=ServiceOperations,
        target=_SeenServices(services, identity),
        conductor=services.conductor,
        identity=identity,
        record=record,
    )
    return implement(ServiceOperations, guard)


class _SeenServices:
    """The services, with the inbox of one caller."""

    def __init__(self, services: Services, identity: Identity) -> None:
        def can_see(info: RunInfo) -> bool:
            return identity.last_caller.can_see(info)  # at every call, because pages keep the inbox

        self.inbox = services.inbox.seen_by(can_see)
        self.notifications: Any = services.notifications
        self.schedules, self.triggers = services.schedules, services.triggers
        self.tools = services.tools
