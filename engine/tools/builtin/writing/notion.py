"""Notion over HTTP: creates pages in a database from Markdown, each only once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import httpx

from engine.errors import ToolError
from engine.records.jsonable import describe_error

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

ADDRESS = 'https://api.notion.com/v1'
API_VERSION = '2022-06-28'
MAX_BLOCKS = 100
"""Notion's maximum number of blocks per request."""
ATTEMPTS, MAX_RETRY_WAIT = 3, 10.0
KEY = 'Key'
"""An optional text property of the database for a page's key; without it, the first line has the key."""

MAX_PIECE = 2_000
"""Notion's maximum characters per piece of text."""
MAX_PIECES = 100
"""Notion's maximum number of text pieces or child blocks per block."""
STYLES = {'strong': 'bold', 'em': 'italic', 's': 'strikethrough'}
LISTS = {'bullet_list': 'bulleted_list_item', 'ordered_list': 'numbered_list_item'}
LANGUAGES = {
    'py': 'python', 'python': 'python', 'js': 'javascript', 'javascript': 'javascript', 'json': 'json',
    'ts': 'typescript', 'typescript': 'typescript', 'sh': 'shell', 'bash': 'bash', 'html': 'html',
    'css': 'css', 'sql': 'sql', 'yaml': 'yaml', 'yml': 'yaml', 'rust': 'rust', 'go': 'go', 'java': 'java',
    'c': 'c',
    'cpp': 'c++', 'diff': 'diff', 'toml': 'toml', 'markdown': 'markdown', 'md': 'markdown',
}  # fmt: skip
"""Notion's names of languages by their names in Markdown; others become plain text."""
Run = tuple[str, str, dict[str, bool]]
"""A text with its link and its styles."""
MAX_LIST_DEPTH = 2
"""Maximum levels of nested lists that one request may create."""


class Notion:
    """A client for one database.

    Args:
        http: the client, with base URL and headers set.
        database: its id.
    """

    def __init__(self, http: httpx.AsyncClient, database: str) -> None:
        self._http, self._database = http, database

    @staticmethod
    def client(token: str, address: str = ADDRESS) -> httpx.AsyncClient:
        """Create an HTTP client for Notion."""
        headers = {'Authorization': f'Bearer {token}', 'Notion-Version': API_VERSION}
        return httpx.AsyncClient(base_url=address, headers=headers, timeout=30, trust_env=False)

    async def publish(self, title: str, markdown: str, key: str) -> tuple[str, bool]:
        """Create a page unless one with this title and key exists.

        Returns:
            Its URL, and whether it was created now.

        Raises:
            ToolError: Notion rejected the request or could not be reached.
        """
        properties = (await self._call('GET', f'databases/{self._database}'))['properties']
        name = next(name for name, item in properties.items() if item['type'] == 'title')
        keyed = properties.get(KEY, {}).get('type') == 'rich_text'
        mark = f'Draft of run {key}'
        if url := await (self._find_keyed(key) if keyed else self._find_marked(name, title, mark)):
            return url, False
        blocks = blocks_of(markdown)
        if not keyed:
            line = rich_text(mark, italic=True)
            blocks.insert(
                0, {'object': 'block', 'type': 'paragraph', 'paragraph': {'rich_text': line, 'color': 'gray'}}
            )
        page = await self._call(
            'POST',
            'pages',
            {
                'parent': {'database_id': self._database},
                'properties': {name: {'title': rich_text(title)}}
                | ({KEY: {'rich_text': rich_text(key)}} if keyed else {}),
                'children': blocks[:MAX_BLOCKS],
            },
        )
        for first in range(MAX_BLOCKS, len(blocks), MAX_BLOCKS):
            more = {'children': blocks[first : first + MAX_BLOCKS]}
            await self._call('PATCH', f'blocks/{page["id"]}/children', more)
        return str(page.get('url', '')), True

    async def _find_keyed(self, key: str) -> str:
        """Return the URL of the page with this key; '' if there is none."""
        for page in await self._query({'property': KEY, 'rich_text': {'equals': key}}):
            return str(page.get('url', ''))
        return ''

    async def _find_marked(self, name: str, title: str, mark: str) -> str:
        """Return the URL of the page with this title and the mark as its first line; '' if there is none."""
        for page in await self._query({'property': name, 'title': {'equals': title}}):
            children = await self._call('GET', f'blocks/{page["id"]}/children?page_size=1')
            for block in children.get('results', ())[:1]:
                pieces = block.get(block.get('type', ''), {}).get('rich_text', ())
                if ''.join(piece.get('text', {}).get('content', '') for piece in pieces) == mark:
                    return str(page.get('url', ''))
        return ''

    async def _query(self, conditions: dict[str, Any]) -> list[dict[str, Any]]:
        """Return all matching pages of the database."""
        results: list[dict[str, Any]] = []
        more: dict[str, Any] = {}
        while True:
            answer = await self._call(
                'POST', f'databases/{self._database}/query', {'filter': conditions} | more
            )
            results += answer['results']
            if not answer.get('has_more'):
                return results
            more = {'start_cursor': answer['next_cursor']}

    async def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = await self._http.request(method, path, json=body)
            except httpx.HTTPError as error:
                raise ToolError(f'Notion cannot be reached: {describe_error(error)}') from None
            if answer.status_code != 429 or attempt == ATTEMPTS:
                break
            delay = answer.headers.get('Retry-After', '1')
            await asyncio.sleep(min(MAX_RETRY_WAIT, float(delay) if delay.isdecimal() else 1.0))
        try:
            data = answer.json()
        except ValueError:
            data = {}
        if answer.status_code >= 400 or not isinstance(data, dict):
            problem = data.get('message', '') if isinstance(data, dict) else ''
            raise ToolError(
                f'Notion refused the request ({answer.status_code}): {problem or answer.reason_phrase}'
            )
        return data


def blocks_of(markdown: str) -> list[dict[str, Any]]:
    """Convert Markdown to the blocks of Notion's API."""
    # Imported here because it is slow, and every program loads all tools.
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    parsed = MarkdownIt('commonmark').enable(['table', 'strikethrough']).parse(markdown)
    return [block for node in SyntaxTreeNode(parsed).children for block in _blocks(node, 0)]


def rich_text(text: str, **styles: bool) -> list[dict[str, Any]]:
    """Split plain text into pieces of a length that Notion accepts."""
    return _pieces(text, '', styles)


def _blocks(node: SyntaxTreeNode, depth: int) -> Iterator[dict[str, Any]]:
    match node.type:
        case 'heading':
            yield from _with_text(f'heading_{min(int(node.tag[1:]), 3)}', _inline(node))
        case 'paragraph':
            yield from _with_text('paragraph', _inline(node))
        case 'bullet_list' | 'ordered_list':
            for item in node.children:
                yield from _item(LISTS[node.type], item, depth)
        case 'blockquote':
            yield from _with_text('quote', _join_paragraphs(node))
        case 'fence' | 'code_block':
            language = LANGUAGES.get(node.info.strip().partition(' ')[0].lower(), 'plain text')
            yield from _with_text('code', rich_text(node.content.removesuffix('\n')), language=language)
        case 'table':
            yield from _tables(node)
        case 'hr':
            yield {'object': 'block', 'type': 'divider', 'divider': {}}
        case _:
            if node.content.strip():
                yield from _with_text('paragraph', rich_text(node.content.strip()))


def _item(kind: str, item: SyntaxTreeNode, depth: int) -> Iterator[dict[str, Any]]:
    """Yield a list item; content nested too deeply for one request follows it."""
    first, *others = item.children or (None,)
    leads = first is not None and first.type == 'paragraph'
    inner = [block for node in (others if leads else item.children) for block in _blocks(node, depth + 1)]
    text = _inline(first) if leads and first is not None else []
    nested = depth < MAX_LIST_DEPTH and 0 < len(inner) <= MAX_PIECES
    *parts, last = _with_text(kind, text)
    yield from parts
    if nested:
        last[kind]['children'] = inner
    yield last
    if not nested:
        yield from inner


def _tables(table: SyntaxTreeNode) -> Iterator[dict[str, Any]]:
    """Yield a table; a long one is split into several, each with the header."""
    header, *rows = [row for part in table.children for row in part.children]
    width = len(header.children)
    shape = {'table_width': width, 'has_column_header': True, 'has_row_header': False}
    for first in range(0, max(len(rows), 1), MAX_PIECES - 1):
        lines = [_row(row) for row in (header, *rows[first : first + MAX_PIECES - 1])]
        yield {'object': 'block', 'type': 'table', 'table': {**shape, 'children': lines}}


def _row(row: SyntaxTreeNode) -> dict[str, Any]:
    cells = [_inline(cell)[:MAX_PIECES] for cell in row.children]
    return {'object': 'block', 'type': 'table_row', 'table_row': {'cells': cells}}


def _join_paragraphs(node: SyntaxTreeNode) -> list[dict[str, Any]]:
    """Join the paragraphs of a quotation into one string."""
    pieces: list[dict[str, Any]] = []
    for child in node.children:
        if pieces:
            pieces += rich_text('\n')
        pieces += _inline(child) if child.children else rich_text(child.content)
    return pieces


def _inline(node: SyntaxTreeNode) -> list[dict[str, Any]]:
    pieces: list[dict[str, Any]] = []
    for (link, styles), runs in groupby(_runs(node.children, '', {}), key=lambda run: run[1:]):
        pieces += _pieces(''.join(text for text, _, _ in runs), link, styles)
    return pieces


def _runs(nodes: Sequence[SyntaxTreeNode], link: str, styles: dict[str, bool]) -> Iterator[Run]:
    for node in nodes:
        match node.type:
            case 'softbreak' | 'hardbreak':
                yield ' ' if node.type == 'softbreak' else '\n', link, styles
            case 'code_inline':
                yield node.content, link, styles | {'code': True}
            case 'link':
                address = str(node.attrs.get('href', ''))
                usable = address if address.startswith(('https://', 'http://', 'mailto:')) else ''
                yield from _runs(node.children, usable, styles)
            case 'image':
                yield node.content or str(node.attrs.get('src', '')), link, styles
            case 'strong' | 'em' | 's':
                yield from _runs(node.children, link, styles | {STYLES[node.type]: True})
            case _ if node.children:
                yield from _runs(node.children, link, styles)
            case _:
                yield node.content, link, styles


def _pieces(text: str, link: str, styles: dict[str, bool]) -> list[dict[str, Any]]:
    pieces: list[dict[str, Any]] = []
    for start in range(0, len(text), MAX_PIECE):
        content: dict[str, Any] = {'content': text[start : start + MAX_PIECE]}
        piece = {'type': 'text', 'text': content | ({'link': {'url': link}} if link else {})}
        pieces.append(piece | ({'annotations': dict(styles)} if styles else {}))
    return pieces


def _with_text(kind: str, text: list[dict[str, Any]], **more: Any) -> Iterator[dict[str, Any]]:
    """Yield a block with a text, or several if the text has too many pieces for one."""
    for first in range(0, max(len(text), 1), MAX_PIECES):
        content = {'rich_text': text[first : first + MAX_PIECES], **more}
        yield {'object': 'block', 'type': kind, kind: content}
