"""Notion over HTTP: Markdown as blocks, and a page in a database, made once and no more."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import httpx

from engine.errors import ToolError
from engine.plain import said

ADDRESS = 'https://api.notion.com/v1'
VERSION = '2022-06-28'
MOST_TEXT, MOST_BLOCKS = 2_000, 100
"""Characters of a piece of text, and blocks of a request, that Notion takes."""
ATTEMPTS, LONGEST_WAIT = 3, 10.0
KEY = 'Key'
"""A text property that a database may have: it then holds the key by which a page is known again."""


class Notion:
    """One database.

    Args:
        http: the connection, with the address and the headers.
        database: its id.
    """

    def __init__(self, http: httpx.AsyncClient, database: str) -> None:
        self._http, self._database = http, database

    @staticmethod
    def client(token: str, address: str = ADDRESS) -> httpx.AsyncClient:
        """A connection."""
        headers = {'Authorization': f'Bearer {token}', 'Notion-Version': VERSION}
        return httpx.AsyncClient(base_url=address, headers=headers, timeout=30, trust_env=False)

    async def publish(self, title: str, markdown: str, key: str) -> tuple[str, bool]:
        """Make a page, unless there is one with this key, or with this title where pages have no keys.

        Returns:
            Its address, and whether it was made now.

        Raises:
            ToolError: Notion said no, or could not be reached.
        """
        properties = (await self._call('GET', f'databases/{self._database}'))['properties']
        name = next(name for name, item in properties.items() if item['type'] == 'title')
        keyed = properties.get(KEY, {}).get('type') == 'rich_text'
        known = (
            {'property': KEY, 'rich_text': {'equals': key}}
            if keyed
            else {'property': name, 'title': {'equals': title}}
        )
        found = await self._call('POST', f'databases/{self._database}/query', {'filter': known})
        if found['results']:
            return str(found['results'][0].get('url', '')), False
        blocks = list(blocks_of(markdown))
        made = await self._call(
            'POST',
            'pages',
            {
                'parent': {'database_id': self._database},
                'properties': {name: {'title': _text(title)}}
                | ({KEY: {'rich_text': _text(key)}} if keyed else {}),
                'children': blocks[:MOST_BLOCKS],
            },
        )
        for first in range(MOST_BLOCKS, len(blocks), MOST_BLOCKS):
            more = {'children': blocks[first : first + MOST_BLOCKS]}
            await self._call('PATCH', f'blocks/{made["id"]}/children', more)
        return str(made.get('url', '')), True

    async def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = await self._http.request(method, path, json=body)
            except httpx.HTTPError as error:
                raise ToolError(f'Notion cannot be reached: {said(error)}') from None
            if answer.status_code != 429 or attempt == ATTEMPTS:
                break
            asked = answer.headers.get('Retry-After', '1')
            await asyncio.sleep(min(LONGEST_WAIT, float(asked) if asked.isdigit() else 1.0))
        try:
            data = answer.json()
        except ValueError:
            data = {}
        if answer.status_code >= 400 or not isinstance(data, dict):
            problem = data.get('message', '') if isinstance(data, dict) else ''
            raise ToolError(f'Notion says no ({answer.status_code}): {problem or answer.reason_phrase}')
        return data


def blocks_of(markdown: str) -> Iterator[dict[str, Any]]:
    """Headings, lists, quotations, code and paragraphs of a Markdown text as Notion's blocks."""
    paragraph: list[str] = []
    code: list[str] | None = None
    for line in [*markdown.split('\n'), '']:
        if line.startswith('```'):
            if code is not None:
                yield _block('code', '\n'.join(code), language='plain text')
            code = [] if code is None else None
            continue
        if code is not None:
            code.append(line)
            continue
        kind, text = _line(line)
        if kind == 'paragraph' and text:
            paragraph.append(text)
            continue
        if paragraph:
            yield _block('paragraph', ' '.join(paragraph))
            paragraph = []
        if text:
            yield _block(kind, text)
    if code:
        yield _block('code', '\n'.join(code), language='plain text')


def _line(line: str) -> tuple[str, str]:
    for pattern, kind in LINES:
        if found := re.match(pattern, line):
            return kind, line[found.end() :].strip()
    return 'paragraph', line.strip()


LINES = (
    (r'###+ ', 'heading_3'),
    (r'## ', 'heading_2'),
    (r'# ', 'heading_1'),
    (r'\s*[-*] ', 'bulleted_list_item'),
    (r'\s*\d+[.)] ', 'numbered_list_item'),
    (r'> ?', 'quote'),
)


def _block(kind: str, text: str, **more: Any) -> dict[str, Any]:
    return {'object': 'block', 'type': kind, kind: {'rich_text': _text(text), **more}}


def _text(text: str) -> list[dict[str, Any]]:
    """Text in pieces as long as Notion takes them, with links."""
    found: list[dict[str, Any]] = []
    for part in re.split(r'(\[[^\]]+\]\(https?://[^)\s]+\))', text):
        link = re.fullmatch(r'\[([^\]]+)\]\((\S+)\)', part)
        words = link[1] if link else part
        for start in range(0, len(words), MOST_TEXT):
            piece: dict[str, Any] = {'content': words[start : start + MOST_TEXT]}
            found.append({'type': 'text', 'text': piece | ({'link': {'url': link[2]}} if link else {})})
    return found
