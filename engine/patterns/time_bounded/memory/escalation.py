"""Escalation: the severity of the supervisor's interventions, by score and consecutive issues."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from engine.patterns.time_bounded.memory.protocol import Participant
from engine.records.frozen import FrozenModel


class Level(StrEnum):
    """Severity levels, from no intervention to the end of the session."""

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
    Level.CORRECT: 'Score 30 to 49, or 2 issues',
    Level.REFOCUS: 'Score below 30, or 3 issues',
    Level.CRITICAL: '4 issues in a row',
    Level.ABORT: '5 issues in a row',
}
BY_SCORE = ((70, Level.NONE), (50, Level.REMIND), (30, Level.CORRECT), (0, Level.REFOCUS))
"""Minimum score of each level."""
BY_ISSUES = ((5, Level.ABORT), (4, Level.CRITICAL), (3, Level.REFOCUS), (2, Level.CORRECT), (0, Level.NONE))
"""Minimum number of consecutive issues of each level."""


class Escalation(FrozenModel):
    """One intervention, with the message sent to the agent."""

    level: Level
    score: int
    issues: int
    """Consecutive failed verifications, including this one."""
    agent: Participant
    """Whose work it concerns."""
    gate: str
    message: str
    time: float
    ran: float
    step: str = ''


def level_of(score: int, issues: int) -> Level:
    """Return the level for a score and a number of consecutive issues; the more severe one wins."""
    by_score = next(level for lowest, level in BY_SCORE if score >= lowest)
    by_issues = next(level for fewest, level in BY_ISSUES if issues >= fewest)
    return max(by_score, by_issues, key=lambda level: level.severity)


def level_of_refusal(issues: int) -> Level:
    """Return the minimum level of a rejection with this many issues; it is at least a reminder."""
    return Level.REFOCUS if issues >= 3 else Level.CORRECT if issues == 2 else Level.REMIND


def describe_subject(subject: str, score: int, refusals: int) -> str:
    """Describe judged work by score and consecutive refusals."""
    if not refusals:
        return f'{subject} (score {score})'
    times = 'once' if refusals == 1 else f'{refusals} times in a row'
    return f'{subject} (score {score}, rejected {times})'


def message_for(level: Level, about: str, demands: Sequence[str]) -> str:
    """Return the message to send to the agent about the judged work."""
    listed = ''.join(f'\n- {demand}' for demand in demands) or '\n- Do what was asked.'
    match level:
        case Level.NONE:
            return f'Continue: {about}.'
        case Level.REMIND:
            return f'Reminder about {about}:{listed}'
        case Level.CORRECT:
            return f'This must change: {about}. Do only this:{listed}'
        case Level.REFOCUS:
            return f'Stop and start over: {about}. Drop your approach. Required:{listed}'
        case Level.CRITICAL:
            return f'FINAL WARNING: {about}. One more rejection ends the session. Required:{listed}'
        case Level.ABORT:
            return f'The session has ended: {about}. Still unmet:{listed}'
