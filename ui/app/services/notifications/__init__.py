"""Notifications: who is notified of which events through which channel, with a reliable outbox."""

from ui.app.services.notifications.channels import Channels, MailServer
from ui.app.services.notifications.destinations import (
    CHANNELS,
    EVENT_TYPES,
    EVENTS,
    Channel,
    Destination,
    EventType,
    UnknownDestination,
    address_problem,
    parse,
)
from ui.app.services.notifications.notifications import Notifications
from ui.app.services.notifications.outbox import OutboxMessage, UnknownMessage

__all__ = [
    'CHANNELS',
    'EVENTS',
    'EVENT_TYPES',
    'Channel',
    'Channels',
    'Destination',
    'EventType',
    'MailServer',
    'Notifications',
    'OutboxMessage',
    'UnknownDestination',
    'UnknownMessage',
    'address_problem',
    'parse',
]
