"""Writing tools: the artifacts they exchange, and the input they reject."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import ToolContext
from engine.errors import ToolError
from engine.models.http.dialects.structured_output import strict_tool_schema
from engine.tools import Tool
from engine.tools.artifacts import ArtifactStore, ToolOutput
from engine.tools.builtin.writing.assemble_content import assemble_content
from engine.tools.builtin.writing.expand_section import expand_section
from engine.tools.builtin.writing.generate_outline import generate_outline
from engine.tools.builtin.writing.generate_social_posts import generate_social_posts
from tests.unit.engine.tools.test_podcast_tools import Asked, use

OUTLINE = {'title': 'T', 'sections': [{'title': 'A', 'points': ['p'], 'words': 100}, {'title': 'B'}]}


def context(answer: Any = '', **artifacts: Any) -> ToolContext:
    return ToolContext(key='x', artifact_store=ArtifactStore(artifacts), model=Asked(answer))


async def test_sections_are_joined_in_outline_order() -> None:
    tool_context = context(outline=OUTLINE, section_content={'B': 'two', 'A': 'one'})
    result = await use(assemble_content, tool_context, sections=[], outro='End.')
    assert result.artifacts['content'] == '# T\n\n## A\n\none\n\n## B\n\ntwo\n\nEnd.'
    output = await use(
        assemble_content, tool_context, sections=['B', 'A whole section that was written elsewhere.']
    )
    assert output.artifacts['content'].endswith('## B\n\ntwo\n\nA whole section that was written elsewhere.')


async def test_given_transitions_are_placed_between_sections() -> None:
    tool_context = context(section_content={'A': 'one', 'B': 'two', 'C': 'three'})
    result = await use(assemble_content, tool_context, sections=['A', 'B', 'C'], transitions=['So to B.', ''])
    assert result.artifacts['content'] == '## A\n\none\n\nSo to B.\n\n## B\n\ntwo\n\n## C\n\nthree'


async def test_a_section_is_told_which_one_it_follows() -> None:
    tool_context = context('Text.', outline=OUTLINE)
    await use(expand_section, tool_context, section_title='A')
    await use(expand_section, tool_context, section_title='B')
    first, second = tool_context.model.prompts  # type: ignore[union-attr]
    assert 'The previous section' not in first
    assert 'The previous section is <data>\nA\n</data>\nBegin with a transition from it.' in second


async def test_a_section_with_a_duplicate_title_gets_the_right_predecessor() -> None:
    tool_context = context('Text.', outline={'title': 'T', 'sections': [{'title': name} for name in 'ABA']})
    await use(expand_section, tool_context, section_title='A')
    assert 'The previous section' not in tool_context.model.prompts[0]  # type: ignore[union-attr]


async def test_two_sections_with_one_title_are_both_kept() -> None:
    artifact_store = ArtifactStore()
    for text in ('one', 'two'):
        artifact_store.apply('expand_section', ToolOutput(text='', adds={'section_content': {'A': text}}))
    context = ToolContext(key='x', artifact_store=artifact_store)
    result = await use(assemble_content, context, sections=['A', 'A'])
    assert result.artifacts['content'] == '## A\n\none\n\n## A\n\ntwo'
    later = ArtifactStore(artifact_store.values)
    later.apply('expand_section', ToolOutput(text='', adds={'section_content': {'A': 'anew'}}))
    assert later.values['section_content'] == {'A': 'anew', 'A (2)': 'two'}, 'a later batch replaces it'


@pytest.mark.parametrize('tool', [generate_outline, expand_section, assemble_content])
def test_writing_tools_can_be_strict(tool: Tool) -> None:
    assert strict_tool_schema(tool.spec.schema) is not None


async def test_a_section_that_was_not_expanded_is_named() -> None:
    with pytest.raises(ToolError, match=r"sections: 'C' was not expanded; available: 'A'"):
        await use(assemble_content, context(section_content={'A': 'one'}), sections=['C'])
    with pytest.raises(ToolError, match='none have been expanded'):
        await use(assemble_content, context(), sections=[])


async def test_an_outline_uses_all_research() -> None:
    tool_context = context(OUTLINE, analysis={'topic': 'x'})
    await use(
        generate_outline, tool_context, topic='t', sections=['A'], research={'k': 'v'}, target_words=300
    )
    (prompt,) = tool_context.model.prompts  # type: ignore[union-attr]
    for part in ('"topic": "x"', '- A', '"k": "v"', 'about 300 words'):
        assert part in prompt
    assert tool_context.artifacts['outline']['sections'][1]['words'] == 200


async def test_a_section_is_written_with_outline_research_and_tone() -> None:
    tool_context = context('Text.', outline=OUTLINE)
    result = await use(expand_section, tool_context, section_title='A', research={'k': 'v'}, tone='dry')
    assert result.adds == {'section_content': {'A': 'Text.'}}
    assert '"title": "T"' in tool_context.model.prompts[0] and 'dry' in tool_context.model.prompts[0]  # type: ignore[union-attr]
    with pytest.raises(ToolError, match='the model wrote nothing'):
        await use(expand_section, context(''), section_title='A')


async def test_posts_are_no_longer_than_their_network_allows() -> None:
    long = {'posts': [{'network': 'x', 'text': 'y' * 281}]}
    with pytest.raises(ToolError, match='the post for x is longer than 280 characters'):
        await use(generate_social_posts, context(long, content='c'), networks=['x'])
    with pytest.raises(ToolError, match='content: there is none yet'):
        await use(generate_social_posts, context(long))
    with pytest.raises(ToolError, match='are invalid: networks'):
        await generate_social_posts.run(json.dumps({'networks': ['fax']}), context())
