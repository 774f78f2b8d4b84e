"""An agent's name in parts: its number stays visible at any width."""

import pytest

from ui.web.pages.run.agents.agent import name_parts


@pytest.mark.parametrize(
    ('name', 'parts'),
    [
        ('Reviewer 1', ('Reviewer', ' 1', '')),
        ('Reviewer 12 · final review', ('Reviewer', ' 12', ' · final review')),
        ('Planner', ('Planner', '', '')),
        ('Analyst · worker 2', ('Analyst · worker', ' 2', '')),
        ('', ('', '', '')),
    ],
)
def test_a_name_is_split_around_its_number(name, parts):
    assert name_parts(name) == parts
