"""Filler for software goals without a scenario: a plan, and a module with a test for each step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.models.scripted.topic_extraction import Topic

FILLER = 'Simulated filler: the scripted model has no solution for this goal.'
STUCK = 'This project has failing tests that the scripted model cannot fix.'
FAILING = re.compile(r'^The tests fail:|^Final tests:\n.*?\b[1-9]\d* failed', re.M)
UNFIXABLE = re.compile(rf'{re.escape(STUCK)}|\bafter \d+ fix cycles?: ')
"""Matches the prompts of planners and their supervisors after tests could not be repaired."""
VERDICTS = ('PlanVerdict', 'CodeVerdict', 'StepVerdict', 'GoalVerdict', 'Verdict')
MODULE = '''"""{filler}"""

TERMS = {terms!r}


def mentions(text: str) -> list[str]:
    """Return the terms of the goal that a string mentions."""
    return [term for term in TERMS if term.lower() in text.lower()]
'''
TEST = """from {name} import TERMS, mentions


def test_every_term_is_found():
    assert mentions(' '.join(TERMS)) == list(TERMS)


def test_an_empty_text_mentions_nothing():
    assert mentions('') == []
"""


def files(topic: Topic, visit: int) -> dict[str, str]:
    """Return a module about the topic's words and its test, by path; each visit writes its own."""
    name = f'simulated_{visit}'
    terms = tuple(dict.fromkeys(topic.term(index) for index in range(visit + 1)))
    return {
        f'{name}.py': MODULE.format(filler=FILLER, terms=terms),
        f'test_{name}.py': TEST.format(name=name),
    }


def suggestions(topic: Topic, title: str, visit: int, prompt: str) -> Mapping[str, Any]:
    """Return suggested values for a record with this title, based on the request; {} for other records."""
    if title == 'PlanDraft':
        about = STUCK if UNFIXABLE.search(prompt) else f'The goal is about {topic.about}.'
        return {'analysis': f'{FILLER} {about}', 'steps': _steps(topic)}
    if title == 'CodeOutput':
        name = f'simulated_{visit}.py'
        return {
            'summary': f'{FILLER} {name} finds the terms of the goal in a text.',
            'files': [name],
            'tests': [f'test_{name}'],
            'blocked': '',
            'asks_for_plan': False,
        }
    if title == 'TestReading':
        failing = bool(FAILING.search(prompt))
        comment = STUCK if failing else 'The tests were run.'
        return {'passed': not failing, 'summary': f'{FILLER} {comment}', 'issues': [], 'fix_plan': []}
    if title in VERDICTS:
        pattern = UNFIXABLE if title == 'PlanVerdict' else FAILING
        good = not pattern.search(prompt)
        comment = 'The work has the expected form.' if good else STUCK
        return {
            **dict.fromkeys(('approved', 'actionable', 'reasonable', 'addresses_step', 'goal_met'), good),
            'score': 85 if good else 20,
            'summary': f'{FILLER} {comment}',
            'evidence': 'The tests were run.',
            'issues': [] if good else [STUCK],
            'missing': [],
            'replan': '',
            'critical_security_issues': [],
        }
    return {}


def _steps(topic: Topic) -> list[dict[str, Any]]:
    return [
        {
            'description': f'Write a module that finds mentions of {topic.term(0)} in a text, and its test.',
            'complexity': 'simple',
            'depends_on': [],
        },
        {
            'description': f'Write one that also finds mentions of {topic.term(1)}, and its test.',
            'complexity': 'simple',
            'depends_on': [1],
        },
    ]
