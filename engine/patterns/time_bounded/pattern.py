"""TimeBounded: plan, code, test and verify in turn until the goal is reached or time is up."""

from __future__ import annotations

from typing import Any

from engine.patterns.time_bounded.chart import states, transitions
from engine.patterns.time_bounded.guards import WORDS, Guards
from engine.patterns.time_bounded.memory.state import OrchestrationState
from engine.patterns.time_bounded.parameters import INPUTS, TimeBoundedParameters
from engine.patterns.time_bounded.report import build_statement
from engine.records import StatedReport, View


class TimeBounded(Guards):
    """Supervisor, planner, coder and tester work on real code until a goal is reached or time is up."""

    class Parameters(TimeBoundedParameters):
        """Launch form parameters."""

    Memory = OrchestrationState
    title = 'Time-bounded'
    family = 'Sequential'
    suits = ('minutes', 'hours', 'deadline', 'until', 'time', 'limit', 'session')
    initial = 'working'
    answer = 'report'
    projects = ('project',)
    caveat = 'caveat'
    words = WORDS
    wait_texts = {'plan': 'your plan', 'verdict': 'your verdict'}
    panels = {
        'result': {'session': 'checklist'},
        'plan': 'checklist',
        'messages': 'messages',
        'report': 'report',
        'time': 'clock',
        'supervision': {
            'verdicts': 'verifications',
            'interventions': 'escalations',
            'level': 'level',
            'issues': 'issues',
        },
    }
    inputs = INPUTS
    states = states()
    transitions = transitions()

    def facts(self, memory: Any) -> dict[str, Any]:
        """Facts for the coder's tools: the project, in whose environment tests run, and their command."""
        return {'tests': {'project': self.parameters.project, 'command': self.parameters.test_command}}

    @classmethod
    def state_report(cls, view: View, written: str) -> StatedReport:
        """Return the report at any step, not only as `written` at the end."""
        return build_statement(view)
