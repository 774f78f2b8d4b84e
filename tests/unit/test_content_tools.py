"""Tools that write: what they read of one another, and what they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import ToolContext, ToolError
from engine.dynamic.artifacts import Shelf
from engine.tools.assemble_content import assemble_content
from engine.tools.expand_section import expand_section
from engine.tools.generate_outline import generate_outline
from engine.tools.generate_social_posts import generate_social_posts
from tests.unit.test_podcast_tools import Asked, use

OUTLINE = {'title': 'T', 'sections': [{'title': 'A', 'points': ['p'], 'words': 100}, {'title': 'B'}]}


def context(answer: Any = '', **artifacts: Any) -> ToolContext:
    return ToolContext(key='x', shelf=Shelf(artifacts), model=Asked(answer))


async def test_sections_are_put_together_in_the_order_of_the_outline() -> None:
    here = context(outline=OUTLINE, section_content={'B': 'two', 'A': 'one'})
    made = await use(assemble_content, here, sections=[], outro='End.')
    assert made.artifacts['content'] == '# T\n\n## A\n\none\n\n## B\n\ntwo\n\nEnd.'
    given = await use(assemble_content, here, sections=['B', 'A whole section that was written elsewhere.'])
    assert given.artifacts['content'].endswith('## B\n\ntwo\n\nA whole section that was written elsewhere.')


async def test_a_section_that_was_not_expanded_is_named() -> None:
    with pytest.raises(ToolError, match=r"sections: 'C' was not expanded; there are: 'A'"):
        await use(assemble_content, context(section_content={'A': 'one'}), sections=['C'])
    with pytest.raises(ToolError, match='none have been expanded'):
        await use(assemble_content, context(), sections=[])


async def test_an_outline_rests_on_all_that_is_known() -> None:
    here = context(OUTLINE, analysis={'topic': 'x'})
    await use(generate_outline, here, topic='t', sections=['A'], research={'k': 'v'}, target_words=300)
    (prompt,) = here.model.prompts  # type: ignore[union-attr]
    for part in ('"topic": "x"', '- A', '"k": "v"', 'About 300 words'):
        assert part in prompt
    assert here.artifacts['outline']['sections'][1]['words'] == 200


async def test_a_section_is_written_with_outline_research_and_tone() -> None:
    here = context('Text.', outline=OUTLINE)
    made = await use(expand_section, here, section_title='A', research={'k': 'v'}, tone='dry')
    assert made.adds == {'section_content': {'A': 'Text.'}}
    assert '"title": "T"' in here.model.prompts[0] and 'dry' in here.model.prompts[0]  # type: ignore[union-attr]
    with pytest.raises(ToolError, match='the model wrote nothing'):
        await use(expand_section, context(''), section_title='A')


async def test_posts_are_no_longer_than_their_network_allows() -> None:
    long = {'posts': [{'network': 'x', 'text': 'y' * 281}]}
    with pytest.raises(ToolError, match='the post for x came out longer than 280 characters'):
        await use(generate_social_posts, context(long, content='c'), networks=['x'])
    with pytest.raises(ToolError, match='content: there is none yet'):
        await use(generate_social_posts, context(long))
    with pytest.raises(ToolError, match='do not fit: networks'):
        await generate_social_posts.run(json.dumps({'networks': ['fax']}), context())
