"""Filler for software goals without a scenario: a plan, and a module with a test for each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.models.scripted.topic_extraction import Topic

FILLER = 'Simulated filler: the scripted model knows no solution to this goal.'
VERDICTS = ('PlanVerdict', 'CodeVerdict', 'StepVerdict', 'GoalVerdict', 'Verdict')
MODULE = '''"""{filler}"""

TERMS = {terms!r}


def mentions(text: str) -> list[str]:
    """The terms of the goal that a text mentions."""
    return [term for term in TERMS if term.lower() in text.lower()]
'''
TEST = """from {name} import TERMS, mentions


def test_every_term_is_found():
    assert mentions(' '.join(TERMS)) == list(TERMS)


def test_nothing_is_found_in_nothing():
    assert mentions('') == []
"""


def files(topic: Topic, visit: int) -> dict[str, str]:
    """A module about the topic's words and its test, by path; each visit writes its own."""
    name = f'simulated_{visit}'
    terms = tuple(dict.fromkeys(topic.term(index) for index in range(visit + 1)))
    return {
        f'{name}.py': MODULE.format(filler=FILLER, terms=terms),
        f'test_{name}.py': TEST.format(name=name),
    }


def suggestions(topic: Topic, title: str, visit: int) -> Mapping[str, Any]:
    """Suggested values for a record with this title; {} for other records."""
    if title == 'PlanDraft':
        return {'analysis': f'{FILLER} It is about {topic.subject}.', 'steps': _steps(topic)}
    if title == 'CodeOutput':
        name = f'simulated_{visit}.py'
        return {
            'summary': f'{FILLER} {name} finds the words of the goal in a text.',
            'files': [name],
            'tests': [f'test_{name}'],
            'blocked': '',
            'asks_for_plan': False,
        }
    if title == 'TestReading':
        return {'passed': True, 'summary': f'{FILLER} The tests were run.', 'issues': [], 'fix_plan': []}
    if title in VERDICTS:
        said = dict.fromkeys(('approved', 'actionable', 'reasonable', 'addresses_step', 'goal_met'), True)
        return {
            **said,
            'score': 85,
            'summary': f'{FILLER} The form of the work is as it should be.',
            'evidence': 'The tests were run.',
            'issues': [],
            'missing': [],
            'replan': '',
            'critical_security_issues': [],
        }
    return {}


def _steps(topic: Topic) -> list[dict[str, Any]]:
    return [
        {
            'description': f'Write a module that finds {topic.term(0)} in a text, with its test.',
            'complexity': 'simple',
            'depends_on': [],
        },
        {
            'description': f'Write one that finds {topic.term(1)} too, with its test.',
            'complexity': 'simple',
            'depends_on': [1],
        },
    ]
