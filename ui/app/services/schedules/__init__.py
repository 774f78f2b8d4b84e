"""Schedules and triggers: runs started by the clock, a webhook or a file."""

from ui.app.services.schedules.records import (
    KINDS,
    Schedule,
    SchedulePolicy,
    Tick,
    Trigger,
    UnknownSchedule,
    UnknownTrigger,
)
from ui.app.services.schedules.schedules import SchedulePlacer, Schedules
from ui.app.services.schedules.spec import Interval, Overlap, ScheduleSpec
from ui.app.services.schedules.triggers import BadSignature, Triggers

__all__ = [
    'KINDS',
    'BadSignature',
    'Interval',
    'Overlap',
    'Schedule',
    'SchedulePlacer',
    'SchedulePolicy',
    'ScheduleSpec',
    'Schedules',
    'Tick',
    'Trigger',
    'Triggers',
    'UnknownSchedule',
    'UnknownTrigger',
]
