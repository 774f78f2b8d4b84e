"""Notion over HTTP: creates pages in a database, each only once."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from engine.errors import ToolError
from engine.records.jsonable import describe_error
from engine.tools.sources.notion_blocks import blocks_of, rich_text

ADDRESS = 'https://api.notion.com/v1'
VERSION = '2022-06-28'
MAX_BLOCKS = 100
"""Notion's maximum number of blocks per request."""
ATTEMPTS, MAX_WAIT = 3, 10.0
KEY = 'Key'
"""An optional text property of the database for a page's key; without it, the first line has the key."""


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
        headers = {'Authorization': f'Bearer {token}', 'Notion-Version': VERSION}
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
        made = await self._call(
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
            await self._call('PATCH', f'blocks/{made["id"]}/children', more)
        return str(made.get('url', '')), True

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

    async def _query(self, wanted: dict[str, Any]) -> list[dict[str, Any]]:
        """Return all matching pages of the database."""
        found: list[dict[str, Any]] = []
        more: dict[str, Any] = {}
        while True:
            answer = await self._call('POST', f'databases/{self._database}/query', {'filter': wanted} | more)
            found += answer['results']
            if not answer.get('has_more'):
                return found
            more = {'start_cursor': answer['next_cursor']}

    async def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = await self._http.request(method, path, json=body)
            except httpx.HTTPError as error:
                raise ToolError(f'Notion cannot be reached: {describe_error(error)}') from None
            if answer.status_code != 429 or attempt == ATTEMPTS:
                break
            asked = answer.headers.get('Retry-After', '1')
            await asyncio.sleep(min(MAX_WAIT, float(asked) if asked.isdigit() else 1.0))
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
