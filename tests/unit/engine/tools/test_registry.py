"""The registry: tool descriptions for agents, available tools, and misconfigurations."""

from __future__ import annotations

import pytest

from engine import Catalog, EngineError, ToolContext
from engine.errors import ToolError
from engine.tools import ToolRegistry
from engine.tools.protocol import tool
from engine.workspace import Sandbox


@tool(category='content', produces=('analysis',), hint='For long ones.')
async def analyze(context: ToolContext) -> str:
    """Analyze it.

    More that the prompt does not need.
    """
    return ''


@tool(category='content', consumes=('analysis',), required=True)
async def outline(context: ToolContext) -> str:
    """Outline it."""
    return ''


@tool(category='commands', needs=('sandbox',))
async def shell(context: ToolContext) -> str:
    """Run it."""
    return ''


@tool(category='publishing', missing=lambda: 'set NOTION_TOKEN')
async def publish(context: ToolContext) -> str:
    """Publish it."""
    return ''


@tool(category='thoughts', needs=('model',))
async def muse(context: ToolContext) -> str:
    """Ask."""
    return ''


TOOLS = ToolRegistry([analyze, shell, outline, publish, muse])


def test_the_prompt_section_lists_tools_by_category() -> None:
    assert TOOLS.only(['analyze', 'shell', 'outline']).section() == (
        '### Content\n\n'
        '- **analyze** (optional): Analyze it. For long ones. It produces analysis.\n'
        '- **outline** (required): Outline it. It reads analysis.\n\n'
        '### Commands\n\n'
        '- **shell** (optional): Run it.'
    )
    assert ToolRegistry().section() == 'There are no tools.'


def test_tools_are_chosen_by_name_and_category() -> None:
    assert list(TOOLS.only(category='content')) == ['analyze', 'outline']
    assert list(TOOLS.only(['outline', 'nothing', 'analyze'])) == ['outline', 'analyze']
    assert TOOLS.categories == ('content', 'commands', 'publishing', 'thoughts')


async def test_unusable_tools_are_left_out_with_a_reason() -> None:
    available = await TOOLS.available(None, model=False)
    assert list(available) == ['analyze', 'outline']
    assert available.off == {
        'shell': 'commands cannot be run here',
        'publish': 'set NOTION_TOKEN',
        'muse': 'there is no model to ask',
    }
    broken = Sandbox(_problem='there is no bubblewrap')
    assert (await TOOLS.available(broken)).off['shell'] == 'there is no bubblewrap'
    unsafe = Sandbox(unsafe=True, _problem='there is no bubblewrap')
    assert 'shell' in await TOOLS.available(unsafe)


def test_an_artifact_that_no_tool_produces_causes_a_warning() -> None:
    assert TOOLS.warnings() == []
    assert TOOLS.only(['outline']).warnings() == ["outline reads 'analysis', which no tool produces"]
    assert TOOLS.only(['outline']).warnings(['analysis']) == []


def test_no_two_tools_share_a_name() -> None:
    registry = ToolRegistry([analyze])
    registry.register(analyze)
    other = tool()(analyze.call)
    with pytest.raises(EngineError, match="there is already a tool 'analyze'"):
        registry.register(other)


def test_all_tools_fit_together() -> None:
    assert ToolRegistry(Catalog.load().tools.values()).warnings() == []


@tool()
async def greet(context: ToolContext, name: str, mark: str = '!') -> str:
    """Greet."""
    return f'Hello {name}{mark}'


async def test_null_means_omitted_for_strict_providers() -> None:
    context = ToolContext(key='x')
    assert await greet.run('{"name": "Ann", "mark": null}', context) == 'Hello Ann!'
    with pytest.raises(ToolError, match='are invalid: name: Input should be a valid string'):
        await greet.run('{"name": null}', context)
    with pytest.raises(ToolError, match='other: Extra inputs'):
        await greet.run('{"name": "Ann", "other": null}', context)
