"""Escalation: how severe the supervisor's intervention is, by score and by issues in a row."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from engine.bounded.protocol import Party
from engine.frozen import Record


class Level(StrEnum):
    """From none to the end of the session."""

    NONE = 'NONE'
    REMIND = 'REMIND'
    CORRECT = 'CORRECT'
    REFOCUS = 'REFOCUS'
    CRITICAL = 'CRITICAL'
    ABORT = 'ABORT'

    @property
    def severity(self) -> int:
        """0 for NONE, 5 for ABORT."""
        return list(Level).index(self)


ACTIONS = {
    Level.NONE: 'Continue normally',
    Level.REMIND: 'Gentle guidance',
    Level.CORRECT: 'Clear redirection',
    Level.REFOCUS: 'Hard intervention',
    Level.CRITICAL: 'Final warning',
    Level.ABORT: 'Terminate session',
}
TRIGGERS = {
    Level.NONE: 'Score 70 or more',
    Level.REMIND: 'Score 50 to 69',
    Level.CORRECT: 'Score 30 to 49, or 2 issues in a row',
    Level.REFOCUS: 'Score below 30, or 3 issues in a row',
    Level.CRITICAL: '4 issues in a row',
    Level.ABORT: '5 issues in a row',
}
BY_SCORE = ((70, Level.NONE), (50, Level.REMIND), (30, Level.CORRECT), (0, Level.REFOCUS))
"""The lowest score of each level."""
BY_ISSUES = ((5, Level.ABORT), (4, Level.CRITICAL), (3, Level.REFOCUS), (2, Level.CORRECT), (0, Level.NONE))
"""The fewest issues in a row of each level."""


class Escalation(Record):
    """One intervention, with what the agent was sent."""

    level: Level
    score: int
    issues: int
    """Verifications in a row that did not pass, this one among them."""
    agent: Party
    """Whose work it is about."""
    gate: str
    message: str
    time: float
    ran: float
    step: str = ''


def level_of(score: int, issues: int) -> Level:
    """The level for a score and so many issues in a row; where both say something, the severer wins."""
    by_score = next(level for lowest, level in BY_SCORE if score >= lowest)
    by_issues = next(level for fewest, level in BY_ISSUES if issues >= fewest)
    return max(by_score, by_issues, key=lambda level: level.severity)


def message_for(level: Level, subject: str, score: int, issues: int, demands: Sequence[str]) -> str:
    """What the agent is sent."""
    listed = ''.join(f'\n- {demand}' for demand in demands) or '\n- Meet what was asked for.'
    about = f'{subject} (score {score}, {issues} issue{"" if issues == 1 else "s"} in a row)'
    match level:
        case Level.NONE:
            return f'Go on: {about}.'
        case Level.REMIND:
            return f'A reminder on {about}. Keep in mind:{listed}'
        case Level.CORRECT:
            return f'This must change: {about}. Do this, and nothing else:{listed}'
        case Level.REFOCUS:
            return (
                f'Stop and start over from the task: {about}. Drop what led here. What is required:{listed}'
            )
        case Level.CRITICAL:
            return f'FINAL WARNING: {about}. One more rejection ends the session. What is required:{listed}'
        case Level.ABORT:
            return f'The session is ended: {about}. What was never met:{listed}'
