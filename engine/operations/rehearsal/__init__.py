"""Rehearsal: what a workflow's chart can do, found without running it."""

from engine.operations.rehearsal.records import (
    Finding,
    Level,
    PlayedEvent,
    Rehearsal,
    Walk,
)
from engine.operations.rehearsal.rehearse import Rehearsals, play, rehearse

__all__ = [
    'Finding',
    'Level',
    'PlayedEvent',
    'Rehearsal',
    'Rehearsals',
    'Walk',
    'play',
    'rehearse',
]
