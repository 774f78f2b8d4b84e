"""The registry of tools in a simulated browser: the list, a tool's page, and schemas in words."""

from dataclasses import replace

import pytest
from pydantic import BaseModel, Field

from engine.agents import ToolPlayground
from tests.support.pages.clicks import click, see
from ui.web.components.forms.schemas import arguments
from ui.web.components.widgets import Text


async def test_the_list_names_every_tool_and_who_uses_it(pages, conductor):
    await pages.open('/tools')
    for name in conductor.catalog.tools:
        await pages.should_see(name)
    await see(pages, 'Files', 'Commands', 'Read only', 'Side effects', 'Used by', 'Researcher')


@pytest.mark.parametrize(
    ('query', 'included', 'excluded'),
    [
        ('text=passage', 'edit_file', 'list_files'),
        ('category=web', 'fetch_page', 'edit_file'),
        ('kind=changes', 'write_file', 'read_file'),
        ('kind=used', 'calculator', 'fetch_page'),
        ('kind=nonsense&category=nonsense', 'read_file', 'No tool matches'),
    ],
)
async def test_the_address_filters(pages, query, included, excluded):
    await pages.open(f'/tools?{query}')
    listed = {element.text for element in pages.find(Text).elements if element.tag == 'h3'}
    assert included in listed and excluded not in listed


async def test_no_match_offers_to_clear_the_filters(pages):
    await pages.open('/tools?text=nothing+like+that')
    await pages.should_see('No tools match.')
    click(pages, 'Clear filters')
    await pages.should_see('read_file')


async def test_a_tools_page_shows_its_parameters_and_permissions(pages, conductor):
    asks = replace(conductor.catalog.tools['notes'], approval=True, category='mail', side_effects=True)
    conductor.catalog.tools['notes'] = asks
    await pages.open('/tools/notes')
    for text in (
        'Keep short notes for yourself', 'one of write, read, list', 'at most 100 characters',
        'Needs approval', 'Here, your click is the approval.',
        'It has side effects outside Hemicycle', 'researcher',
    ):  # fmt: skip
        await pages.should_see(text)


async def test_bad_arguments_are_reported_at_their_fields(pages):
    await pages.open('/tools/write_file')
    click(pages, 'Run tool')
    await see(pages, 'Enter a value.', 'The result appears here.')


async def test_a_call_ends_with_its_page(pages, monkeypatch, endless):
    monkeypatch.setattr(ToolPlayground, 'call', endless)
    await pages.open('/tools/list_files')
    click(pages, 'Run tool')
    await endless.ends_with(pages)


async def test_an_unknown_tool_lists_the_known_ones(pages):
    answer = await pages.http_client.get('/tools/nothing')
    assert answer.status_code == 404
    assert 'There is no tool' in answer.text and 'calculator' in answer.text


class Period(BaseModel):
    day: str = Field(description='As 2026-03-04', pattern=r'^\d')


class Arguments(BaseModel):
    since: Period | None = None
    lines: list[Period]
    size: int | str = 3
    share: float = Field(0.5, gt=0, le=1)
    words: list[str] = Field([], max_length=4)
    mode: None = None


def test_a_schema_is_described_in_words():
    by_name = {argument.name: argument for argument in arguments(Arguments.model_json_schema())}
    assert list(by_name) == ['since', 'since.day', 'lines', 'lines[].day', 'size', 'share', 'words', 'mode']
    assert (by_name['since'].kind, by_name['since'].required, by_name['lines'].required) == (
        'object',
        False,
        True,
    )
    assert by_name['since.day'].help == 'As 2026-03-04' and by_name['since.day'].rules == (r'matches ^\d',)
    assert (by_name['lines'].kind, by_name['words'].kind) == ('list of objects', 'list of text')
    assert (by_name['size'].kind, by_name['size'].rules) == ('whole number or text', ('3 by default',))
    assert by_name['share'].rules == ('at most 1', 'more than 0', '0.5 by default')
    assert by_name['words'].rules[0] == 'at most 4 entries'


@pytest.mark.parametrize(
    'schema',
    [
        {},
        {'properties': {'a': True}},
        {'properties': {'a': {'$ref': '#/$defs/b'}}},
        {'properties': {'a': {'type': ['string', 'null']}}},
    ],
)
def test_any_schema_can_be_shown(schema):
    assert len(arguments(schema)) == len(schema.get('properties', ()))


def test_a_recursive_schema_ends():
    node = {'type': 'object', 'properties': {'next': {'$ref': '#/$defs/node'}}}
    listed = arguments({'$defs': {'node': node}, **node})
    assert 1 < len(listed) < 10
