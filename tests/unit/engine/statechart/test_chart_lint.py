"""Lint finds each kind of mistake in a chart, and names its state or edge."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from engine import Memory, Pattern
from engine.agents.chart import agent
from engine.operations.rehearsal import Finding, rehearse

GO: dict[str, Any] = {'name': 'asking', 'waits': 'go', 'within': 60}
OVER: dict[str, Any] = {'name': 'over', 'final': True}
TOO_LATE = ['expired', 'asking', 'over']


class Verdict(BaseModel):
    """What a person says."""


class Chart(Pattern, abstract=True):
    """A chart with guards, an action and an agent's task."""

    initial = 'asking'

    class Memory(Memory):
        """Its data."""

    def is_good(self, memory: Any, event: Any) -> bool:
        """It is good."""
        return True

    def is_new(self, memory: Any, event: Any) -> bool:
        """It is new."""
        return True

    def prompt_writer(self, memory: Any) -> str:
        """Return the task."""
        return ''

    async def work(self, memory: Any, activity: Any) -> None:
        """Do it."""


def findings(**parts: Any) -> list[Finding]:
    return list(rehearse(type('Broken', (Chart,), parts)()).findings)


BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    'unreachable-state': (
        {
            'states': [GO, {'name': 'lost', 'waits': 'go', 'within': 9}, OVER],
            'transitions': [['go', 'asking', 'over'], ['go', 'lost', 'over'], ['expired', '*', 'over']],
        },
        'lost',
        'no run can reach it',
    ),
    'impossible-edge': (
        {
            'states': [GO, OVER],
            'transitions': [['go', 'asking', 'over'], ['go', 'asking', 'over', 'is_good'], TOO_LATE],
        },
        'go: asking → over',
        'an earlier edge always matches',
    ),
    'impossible-edge: it contradicts itself': (
        {
            'states': [GO, OVER],
            'transitions': [
                {
                    'trigger': 'go',
                    'source': 'asking',
                    'dest': 'over',
                    'conditions': 'is_good',
                    'unless': 'is_good',
                },
                ['go', 'asking', 'over'],
                TOO_LATE,
            ],
        },
        'go: asking → over',
        'its conditions contradict each other',
    ),
    'impossible-edge: all answers are taken': (
        {
            'states': [GO, OVER],
            'transitions': [
                ['go', 'asking', 'over', 'is_good'],
                {'trigger': 'go', 'source': 'asking', 'dest': 'over', 'unless': 'is_good'},
                ['go', 'asking', 'asking', 'is_new'],
                TOO_LATE,
            ],
        },
        'go: asking → asking',
        'an earlier edge always matches',
    ),
    'impossible-edge: nothing expires': (
        {
            'states': [{'name': 'asking', 'waits': 'go'}, OVER],
            'transitions': [['go', 'asking', 'over'], TOO_LATE],
        },
        'expired: asking → over',
        'nothing there has a time limit',
    ),
    'unaccepted-event': (
        {
            'states': [GO, OVER],
            'transitions': [['go', 'asking', 'over'], TOO_LATE],
            'inputs': {'judge': Verdict},
        },
        '',
        "'judge', which no edge accepts",
    ),
    'unaccepted-event: nobody can answer': (
        {'states': [GO, OVER], 'transitions': [TOO_LATE]},
        'asking',
        "waits for 'go', and accepts no event",
    ),
    'silent-wait': (
        {'states': ['asking', OVER], 'transitions': [['go', 'asking', 'over']]},
        'asking',
        "waits for 'go' without saying so",
    ),
    'endless-state': (
        {'states': ['asking', OVER], 'transitions': [['always', 'asking', 'over', 'is_good']]},
        'asking',
        'it stays for ever',
    ),
    'automatic-cycle': (
        {
            'states': ['asking', 'thinking', OVER],
            'transitions': [
                ['always', 'asking', 'thinking'],
                ['always', 'thinking', 'asking', 'is_good'],
                ['always', 'thinking', 'asking'],
                ['go', 'thinking', 'over'],
            ],
        },
        'asking',
        'never stop: asking → thinking → asking',
    ),
    'no-ending': (
        {
            'states': [GO, {'name': 'turning', 'waits': 'go', 'within': 9}, OVER],
            'transitions': [
                ['go', 'asking', 'turning'],
                ['stop', 'asking', 'over'],
                TOO_LATE,
                ['go', 'turning', 'turning'],
                ['expired', 'turning', 'turning'],
            ],
        },
        'turning',
        'no final state can be reached',
    ),
    'idle-history': (
        {
            'initial': 'work',
            'states': [
                {
                    'name': 'work',
                    'initial': 'asking',
                    'children': [GO, {'name': 'more', 'waits': 'go', 'within': 9}],
                    'transitions': [['go', 'asking', 'more']],
                },
                OVER,
            ],
            'transitions': [
                {'trigger': 'go', 'source': 'work.more', 'dest': 'work', 'history': 'shallow'},
                ['expired', 'work', 'work.asking'],
            ],
        },
        'go: work.more → work',
        'nothing to return to',
    ),
    'unlimited-wait': (
        {'states': [{'name': 'asking', 'waits': 'go'}, OVER], 'transitions': [['go', 'asking', 'over']]},
        'asking',
        'without a time limit',
    ),
    'uncaught-failed': (
        {'states': [{'name': 'asking', 'invoke': 'work'}, OVER], 'transitions': [['done', 'asking', 'over']]},
        'asking',
        'nothing catches a failure',
    ),
    'uncaught-expired': (
        {'states': [GO, OVER], 'transitions': [['go', 'asking', 'over']]},
        'asking',
        'nothing catches the end of its time',
    ),
    'regions-wait': (
        {
            'initial': 'both',
            'states': [
                {
                    'name': 'both',
                    'parallel': [
                        {
                            'name': name,
                            'initial': 'waiting',
                            'children': ['waiting', {'name': 'ready', 'final': True}],
                            'transitions': [['always', 'waiting', 'ready', 'is_good']],
                        }
                        for name in ('left', 'right')
                    ],
                },
                OVER,
            ],
            'transitions': [['done', 'both', 'over']],
        },
        'both',
        'both.left.waiting, both.right.waiting',
    ),
    'unhandled-end': (
        {
            'initial': 'writing',
            'states': [agent('writing', prompt='prompt_writer'), OVER],
            'transitions': [['failed', 'writing', 'over']],
        },
        'writing',
        'nothing follows when its agent is done',
    ),
}


@pytest.mark.parametrize('kind', BROKEN)
def test_each_kind_of_mistake_is_found_and_named(kind: str) -> None:
    parts, where, text = BROKEN[kind]
    rule = kind.partition(':')[0]
    found = [finding for finding in findings(**parts) if finding.rule == rule]
    assert [(finding.edge or finding.state, text in finding.text) for finding in found] == [(where, True)]


def test_a_chart_without_mistakes_has_no_findings() -> None:
    assert findings(states=[GO, OVER], transitions=[['go', 'asking', 'over'], TOO_LATE]) == []
    work = {'name': 'work', 'initial': 'asking', 'children': [GO]}
    back = {'trigger': 'back', 'source': 'resting', 'dest': 'work', 'history': 'deep'}
    edges = [['rest', 'work', 'resting'], back, ['go', 'work', 'over'], ['expired', '*', 'over']]
    states = [work, {'name': 'resting', 'waits': 'back', 'within': 60}, OVER]
    assert findings(initial='work', states=states, transitions=edges) == []


def test_memory_that_nobody_reads_or_writes_is_named() -> None:
    class Kept(Memory):
        unheard_of: int = 0
        only_kept: str = ''

    def keep(self: Any, memory: Kept, event: Any) -> None:
        memory.only_kept = 'x'

    transitions = [{'trigger': 'go', 'source': 'asking', 'dest': 'over', 'after': 'keep'}, TOO_LATE]
    found = findings(states=[GO, OVER], transitions=transitions, Memory=Kept, keep=keep)
    assert {finding.text for finding in found} == {
        '`unheard_of` of Memory is never read or written',
        '`only_kept` of Memory is written and never read',
    }
