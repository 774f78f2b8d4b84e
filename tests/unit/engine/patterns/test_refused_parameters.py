"""Parameters that a pattern refuses: each problem is that of its field, and no run is started."""

from __future__ import annotations

from typing import Any

import pytest

from engine import InvalidInput, LocalConductor

GIVEN: dict[str, dict[str, Any]] = {
    'blog': {'request': 'a post'},
    'builder': {'request': 'anything'},
    'code-reviewer': {'request': 'anything'},
    'debugger': {'request': 'anything'},
    'parallel-review': {'task': 'a command that counts words'},
    'pipeline': {'task': 'Compare tea and coffee'},
    'supervisor': {'objective': 'a bridge'},
    'triager': {},
}
"""What is right with each."""


@pytest.mark.parametrize(
    ('pattern', 'field', 'value'),
    [
        ('blog', 'calendar', '/no/such.ics'),
        ('blog', 'calendar', 'sample:../../README.md'),
        ('blog', 'first_day', 'soon'),
        ('blog', 'links', 'no link'),
        ('blog', 'mode', 'other'),
        ('blog', 'request', 'a'),
        ('builder', 'project', '/no/such/folder'),
        ('code-reviewer', 'change', '/no/such.patch'),
        ('debugger', 'project', 'sample:nothing'),
        ('parallel-review', 'coders', 0),
        ('parallel-review', 'coders', 7),
        ('parallel-review', 'merge', 'all'),
        ('parallel-review', 'reviewers', 0),
        ('parallel-review', 'survivors', 7),
        ('parallel-review', 'tests', 'sample:nothing'),
        ('pipeline', 'colour', 'red'),
        ('pipeline', 'max_iterations', -1),
        ('pipeline', 'max_iterations', 11),
        ('pipeline', 'max_iterations', 'many'),
        ('pipeline', 'task', ''),
        ('pipeline', 'task', '  x '),
        ('pipeline', 'task', None),
        ('pipeline', 'task', 'x' * 20_001),
        ('supervisor', 'execution', 'at random'),
        ('supervisor', 'max_tasks', 0),
        ('supervisor', 'max_tasks', 21),
        ('supervisor', 'max_tasks', 'many'),
        ('supervisor', 'more_roles', ['cook: a', 'Cook: b']),
        ('supervisor', 'more_roles', ['no colon']),
        ('supervisor', 'more_roles', ['writer: again']),
        ('supervisor', 'objective', '  '),
        ('supervisor', 'plan', []),
        ('supervisor', 'workers', 0),
        ('supervisor', 'workers', 7),
        ('triager', 'request', 'x'),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_bad_parameters_are_refused_with_their_field(pattern: str, field: str, value: Any) -> None:
    async with LocalConductor() as conductor:
        with pytest.raises(InvalidInput) as refused:
            await conductor.start(pattern, {**GIVEN[pattern], field: value})
        assert list(refused.value.problems) == [field]
        assert (await conductor.runs()).total == 0
