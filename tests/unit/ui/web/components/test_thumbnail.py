"""A pattern's thumbnail: its main path, its composites, and its loops."""

import pytest

from engine import Catalog
from ui.web.components.diagram.thumbnail import MAX_INSIDE, Station, build_thumbnail

CATALOG = Catalog.load()


def names(pattern: str) -> list[str]:
    return [part.name for part in build_thumbnail(CATALOG.draw(pattern))]


def test_a_pipeline_shows_its_stages_and_the_loop():
    parts = {part.name: part for part in build_thumbnail(CATALOG.draw('pipeline'))}
    assert list(parts) == ['pending', 'researching', 'analyzing', 'reviewing', 'complete']
    assert parts['reviewing'] == Station(name='reviewing', kind='agent', loops_to='analyzing')
    assert parts['complete'].kind == 'final'


def test_parallel_agents_are_shown_once():
    parts = {part.name: part for part in build_thumbnail(CATALOG.draw('parallel-review'))}
    assert parts['implementing'].inside == ('coder1', 'coder2', 'coder3')
    assert parts['revising'].inside == ()


def test_deciding_states_are_left_out_of_a_long_path():
    thumbnail = build_thumbnail(CATALOG.draw('parallel-review'))
    assert 'choosing' not in [part.name for part in thumbnail]
    assert next(part for part in thumbnail if part.name == 'final review').loops_to == 'revising'


def test_a_short_path_shows_its_contents():
    working, *_ = build_thumbnail(CATALOG.draw('time-bounded'))
    assert {'planning', 'executing', 'verifying'} <= set(working.inside)


def test_an_agent_is_shown_with_its_first_tools():
    tools = [f'tool{number}' for number in range(MAX_INSIDE + 2)]
    working = build_thumbnail(CATALOG.draw('blog'), tools)[1]
    assert working.inside == tuple(tools[:MAX_INSIDE])
    assert working.more == 2
    assert CATALOG.pattern('blog').tool_names() and not CATALOG.pattern('race').tool_names()


@pytest.mark.parametrize('pattern', list(CATALOG.patterns))
def test_every_pattern_has_a_path_to_success(pattern):
    thumbnail = build_thumbnail(CATALOG.draw(pattern))
    assert len(thumbnail) <= 9
    assert thumbnail[-1].kind == 'final'
    assert not {'failed', 'lost', 'aborted'} & set(names(pattern))
