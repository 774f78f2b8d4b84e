"""Publishing to Notion, against a local server that behaves like Notion's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import ToolContext
from engine.errors import ToolError
from engine.tools import ToolRegistry
from engine.tools.builtin.writing.blog_notion import blog_notion
from engine.tools.builtin.writing.notion import blocks_of
from tests.support.servers.http_server import json_answer, local

MARKDOWN = """# Title

A paragraph
in two lines, with [a link](https://x.example/).

## Part
- one
1. two
> said
```python
code = 1
```
"""


class Stand:
    """A server with a database of drafts."""

    def __init__(self, *, keyed: bool = False, busy: int = 0) -> None:
        self.pages: list[dict[str, Any]] = []
        self.blocks: list[dict[str, Any]] = []
        self.keyed, self.busy = keyed, busy

    def __call__(self, method: str, path: str, body: Any) -> Any:  # noqa: PLR0911
        if self.busy:
            self.busy -= 1
            return json_answer({'message': 'slow down'}, 429, **{'Retry-After': '0'})
        match method, path:
            case 'GET', '/databases/d1':
                key = {'Key': {'type': 'rich_text'}} if self.keyed else {}
                return json_answer({'properties': {'Name': {'type': 'title'}, **key}})
            case 'POST', '/databases/d1/query':
                query_filter = body['filter']
                kind = 'rich_text' if 'rich_text' in query_filter else 'title'
                matches = [
                    page
                    for page in self.pages
                    if page['properties'][query_filter['property']][kind][0]['text']['content']
                    == query_filter[kind]['equals']
                ]
                return json_answer({'results': matches})
            case 'POST', '/pages':
                page = {
                    'id': f'p{len(self.pages)}',
                    'url': f'https://notion.example/{len(self.pages)}',
                    **body,
                }
                self.pages.append(page)
                self.blocks += body['children']
                return json_answer(page)
            case 'GET', _ if path.startswith('/blocks/'):
                page = self.pages[int(path.split('/')[2].removeprefix('p'))]
                return json_answer({'results': page['children'][:1]})
            case 'PATCH', '/blocks/p0/children':
                self.blocks += body['children']
                return json_answer({})
        return json_answer({'message': 'there is no such database'}, 404)


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv('NOTION_TOKEN', 'secret-token')
    monkeypatch.setenv('NOTION_DATABASE_ID', 'd1')
    return monkeypatch


async def publish(url: str, patch: pytest.MonkeyPatch, run: str = 'run1', **arguments: Any) -> str:
    patch.setenv('HEMICYCLE_NOTION_URL', url)
    result = await blog_notion.invoke(
        json.dumps({'title': 'T', 'content': MARKDOWN, **arguments}), ToolContext(key=f'{run}:call-1')
    )
    assert result.artifacts['published']['title'] == 'T'
    return result.text


async def test_a_draft_is_created_with_its_blocks(configured: pytest.MonkeyPatch) -> None:
    stand = Stand()
    with local(stand) as server:
        text = await publish(server.url, configured)
    assert text == 'Published as a draft: https://notion.example/0'
    assert [block['type'] for block in stand.blocks] == [
        'paragraph', 'heading_1', 'paragraph', 'heading_2', 'bulleted_list_item', 'numbered_list_item',
        'quote', 'code',
    ]  # fmt: skip
    assert text_of(stand.blocks[0]) == 'Draft of run run1'
    pieces = stand.blocks[2]['paragraph']['rich_text']
    assert [piece['text']['content'] for piece in pieces] == [
        'A paragraph in two lines, with ',
        'a link',
        '.',
    ]
    assert pieces[1]['text']['link'] == {'url': 'https://x.example/'}
    headers = server.asked[0][2]
    assert headers['Authorization'] == 'Bearer secret-token' and headers['Notion-Version'] == '2022-06-28'


@pytest.mark.parametrize('keyed', [True, False])
async def test_the_same_run_publishes_once(configured: pytest.MonkeyPatch, keyed: bool) -> None:
    stand = Stand(keyed=keyed)
    with local(stand) as server:
        await publish(server.url, configured)
        assert 'already exists: https://notion.example/0' in await publish(server.url, configured)
        await publish(server.url, configured, run='run2')
        assert 'already exists: https://notion.example/1' in await publish(server.url, configured, run='run2')
    assert len(stand.pages) == 2, "another run's draft of the same title is another draft"


async def test_long_texts_are_sent_in_parts_and_retried(
    configured: pytest.MonkeyPatch,
) -> None:
    stand = Stand(busy=2)
    with local(stand) as server:
        await publish(server.url, configured, content='\n'.join(f'- {number}' for number in range(250)))
    assert len(stand.blocks) == 251
    assert (
        max(len(body['children']) for method, _, _, body in server.asked if body and 'children' in body)
        == 100
    )


async def test_refusals_of_notion_are_reported(configured: pytest.MonkeyPatch) -> None:
    configured.setenv('NOTION_DATABASE_ID', 'other')
    with (
        local(Stand()) as server,
        pytest.raises(ToolError, match=r'refused the request \(404\): there is no such database'),
    ):
        await publish(server.url, configured)
    with pytest.raises(ToolError, match='Notion cannot be reached'):
        await publish('http://127.0.0.1:1', configured)
    with (
        local(lambda *request: (502, {}, b'<html>')) as server,
        pytest.raises(ToolError, match=r'request \(502\): Bad G'),
    ):
        await publish(server.url, configured)


async def test_notion_needs_configuration_and_approval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv('NOTION_TOKEN', raising=False)
    monkeypatch.delenv('NOTION_DATABASE_ID', raising=False)
    assert blog_notion.approval and blog_notion.side_effects
    availability = await ToolRegistry([blog_notion]).available(None)
    assert availability.off == {
        'blog_notion': 'publishing to Notion is off: set NOTION_TOKEN and NOTION_DATABASE_ID'
    }
    with pytest.raises(ToolError, match='publishing to Notion is off'):
        await blog_notion.run('{"title": "T"}', ToolContext(key='x'))


async def test_content_is_required(configured: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match='content: there is none yet'):
        await blog_notion.run('{"title": "T"}', ToolContext(key='x'))


def text_of(block: dict[str, Any]) -> str:
    return ''.join(piece['text']['content'] for piece in block[block['type']]['rich_text'])


def test_long_texts_are_cut_into_pieces_and_open_code_is_kept() -> None:
    (block,) = blocks_of('x' * 4_500)
    assert [len(piece['text']['content']) for piece in block['paragraph']['rich_text']] == [2_000, 2_000, 500]
    assert [block['type'] for block in blocks_of('### A\n```\nopen')] == ['heading_3', 'code']
    assert blocks_of('') == []


def test_styles_are_kept() -> None:
    (block,) = blocks_of('A **bold and *both*** word, `code`, ~~gone~~ and [**a** link](https://x.example/).')
    styled = {
        piece['text']['content']: (piece.get('annotations', {}), piece['text'].get('link', {}).get('url', ''))
        for piece in block['paragraph']['rich_text']
    }
    assert text_of(block) == 'A bold and both word, code, gone and a link.'
    assert styled['bold and '] == ({'bold': True}, '')
    assert styled['both'] == ({'bold': True, 'italic': True}, '')
    assert styled['code'] == ({'code': True}, '') and styled['gone'] == ({'strikethrough': True}, '')
    assert styled['a'] == ({'bold': True}, 'https://x.example/')
    assert styled[' link'] == ({}, 'https://x.example/')


def test_tables_are_kept_and_long_ones_split() -> None:
    rows = '\n'.join(f'| {number} | **x** |' for number in range(150))
    first, second = (block['table'] for block in blocks_of(f'| A | B |\n|---|---|\n{rows}'))
    assert (first['table_width'], first['has_column_header'], len(first['children'])) == (2, True, 100)
    header = [cell[0]['text']['content'] for cell in first['children'][0]['table_row']['cells']]
    assert header == ['A', 'B'] and len(second['children']) == 52
    assert second['children'][-1]['table_row']['cells'][1][0]['annotations'] == {'bold': True}


def test_lists_are_nested_up_to_the_limit() -> None:
    (outer,) = blocks_of('- one\n  - two\n    - three\n      - four\n')
    (two,) = outer['bulleted_list_item']['children']
    assert text_of(two) == 'two'
    assert [text_of(block) for block in two['bulleted_list_item']['children']] == ['three', 'four']


def test_unsupported_markdown_is_kept_as_text() -> None:
    blocks = blocks_of('<div>raw</div>\n\n---\n\n```python\nx = 1\n```\n\n> a\n>\n> b')
    assert [block['type'] for block in blocks] == ['paragraph', 'divider', 'code', 'quote']
    assert blocks[2]['code']['language'] == 'python'
    assert text_of(blocks[0]) == '<div>raw</div>' and text_of(blocks[3]) == 'a\nb'
