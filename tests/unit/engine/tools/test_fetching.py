"""Fetching: the public network only, even after redirects and DNS changes, and within limits."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import time
from collections.abc import Callable
from typing import Any

import pytest

from engine import ToolContext
from engine.errors import ToolError
from engine.tools import web
from engine.tools.builtin.research import page
from engine.tools.builtin.research.fetch_page import fetch_page
from tests.models.server import Answer, listening

PRIVATE = [
    '127.0.0.1', '127.8.8.8', '0.0.0.0', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254',
    '100.64.0.1', '192.0.0.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '::1', '::',
    'fe80::1', 'fe80::1%2', 'fc00::1', 'fd12::1', 'fec0::1', '168.63.129.16', '::ffff:168.63.129.16',
    '192.0.0.8', '3fff::1', 'feff::1', 'ff02::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::127.0.0.1',
    '64:ff9b::7f00:1', '64:ff9b::808:808', '2002:7f00:1::', '2001:0:7f00:1::', '2001:db8::1',
]  # fmt: skip


@pytest.mark.parametrize('address', PRIVATE)
def test_private_addresses_are_recognized(address: str) -> None:
    assert not web.is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize('address', ['1.1.1.1', '93.184.215.14', '2606:4700:4700::1111', '::ffff:1.1.1.1'])
def test_public_addresses_are_recognized(address: str) -> None:
    assert web.is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    'host',
    [
        '127.0.0.1', 'localhost', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '0', '[::1]',
        '[::ffff:127.0.0.1]',
    ],
)  # fmt: skip
async def test_this_machine_is_refused_under_any_name(host: str) -> None:
    was_asked = False

    async def answer(reader: Any, writer: Any) -> None:
        nonlocal was_asked
        was_asked = True

    async with listening(answer) as port:
        with pytest.raises(ToolError):
            await fetch_page.run(f'{{"url": "http://{host}:{port}/"}}', ToolContext(key='k'))
    assert not was_asked


@pytest.mark.parametrize(
    'url',
    [
        'file:///etc/passwd', 'ftp://example.com/', 'gopher://x/', 'http://', 'http:///x', 'x',
        'http://u:p@example.com/', 'http://[', 'http://a\nb/',
    ],
)  # fmt: skip
async def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ToolError):
        await web.fetch(url)


def page_of(body: bytes, *headers: str, status: str = '200 OK') -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b'\r\n\r\n')
        lines = [f'HTTP/1.1 {status}', 'Connection: close', *headers, '', '']
        writer.write('\r\n'.join(lines).encode() + body)
        await writer.drain()

    return answer


def only(*addresses: str) -> Callable[[Any], bool]:
    return lambda address: str(address) in addresses


async def test_a_redirection_to_a_private_address_is_refused() -> None:
    reached = False

    async def secret(reader: Any, writer: Any) -> None:
        nonlocal reached
        reached = True

    async with listening(secret, '127.0.0.2') as inner:
        for target in (f'http://127.0.0.2:{inner}/', f'//127.0.0.2:{inner}/x', 'file:///etc/passwd'):
            async with listening(page_of(b'', f'Location: {target}', status='302 Found')) as port:
                with pytest.raises(ToolError, match=r'nothing may be fetched|can be fetched'):
                    await web.fetch(f'http://127.0.0.1:{port}/', may=only('127.0.0.1'))
    assert not reached


async def test_the_checked_address_is_the_one_requested() -> None:
    """A name that resolves to a public address when checked, and to a private one afterwards."""
    requests: list[bytes] = []
    looked = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b'\r\n\r\n'))
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok')

    async def look_up(host: str, port: int) -> list[Any]:
        nonlocal looked
        looked += 1
        names = ['127.0.0.2', '127.0.0.1'] if looked == 1 else ['127.0.0.2']
        return [ipaddress.ip_address(name) for name in names]

    async with listening(answer) as port:
        fetched = await web.fetch(f'http://rebind.test:{port}/', may=only('127.0.0.1'), look_up=look_up)
        assert fetched.text == 'ok' and fetched.url == f'http://rebind.test:{port}/' and looked == 1
        assert f'Host: rebind.test:{port}'.encode() in requests[0]
        with pytest.raises(ToolError, match='nothing may be fetched'):
            await web.fetch(f'http://rebind.test:{port}/', may=only('127.0.0.1'), look_up=look_up)
    assert len(requests) == 1


async def test_redirections_are_followed_and_counted() -> None:
    count = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        await reader.readuntil(b'\r\n\r\n')
        if count <= hops:
            writer.write(
                b'HTTP/1.1 302 Found\r\nLocation: /next?x=1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
            )
        else:
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone')

    async with listening(answer) as port:
        hops = 3
        fetched = await web.fetch(f'http://127.0.0.1:{port}/', may=only('127.0.0.1'))
        assert fetched.text == 'done' and fetched.url.endswith('/next?x=1')
        count, hops = 0, 99
        with pytest.raises(ToolError, match=r'/next\?x=1 was redirected more than 5 times'):
            await web.fetch(f'http://127.0.0.1:{port}/', may=only('127.0.0.1'))


@pytest.mark.parametrize(
    ('body', 'headers', 'says'),
    [
        (b'x' * 5_000, (), 'over 1000 bytes'),
        (gzip.compress(b'x' * 10_000_000, mtime=0), ('Content-Encoding: gzip',), 'compressed'),
        (b'\x89PNG\0\0', ('Content-Type: image/png',), 'not text'),
    ],
)
async def test_unreadable_pages_are_refused(body: bytes, headers: tuple[str, ...], says: str) -> None:
    async with listening(page_of(body, *headers)) as port:
        with pytest.raises(ToolError, match=says):
            await web.fetch(
                f'http://127.0.0.1:{port}/',
                may=only('127.0.0.1'),
                most_bytes=1_000 if b'xxx' in body else 10**6,
            )


async def test_a_slow_server_is_abandoned() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\n\r\n')
        while True:
            writer.write(b'x')
            await writer.drain()
            await asyncio.sleep(0.02)

    async with listening(drip) as port:
        started = time.monotonic()
        with pytest.raises(ToolError, match=r'within 0\.3 seconds'):
            await web.fetch(f'http://127.0.0.1:{port}/', may=only('127.0.0.1'), seconds=0.3)
        assert time.monotonic() - started < 10


async def test_a_page_is_read_as_text_where_private_addresses_are_allowed() -> None:
    html = b"""<html><head><title>A  page</title><script>alert(1)</script></head><body><nav>menu</nav>
    <h1>Head&amp;ing</h1><p>One <b>two</b>\n three.</p><ul><li>a<li><a href="/b">b</a></ul>
    <style>p {}</style><table><tr><td>1</td><td>2</td></tr></table></body>"""
    async with listening(page_of(html, 'Content-Type: text/html; charset=utf-8')) as port:
        context = ToolContext(key='k', private_addresses=True)
        text = await fetch_page.run(f'{{"url": "http://localhost:{port}/"}}', context)
    assert text.startswith(f'http://localhost:{port}/\nA page\n')
    assert '# Head&ing' in text and 'One two three.' in text and '- a' in text and '- b </b>' in text
    assert 'alert' not in text and 'p {}' not in text
    async with listening(page_of(b'gone', status='404 Not Found')) as port:
        with pytest.raises(ToolError, match='status 404'):
            await fetch_page.run(f'{{"url": "http://localhost:{port}/"}}', context)


@pytest.mark.parametrize(
    'html', ['', '<', '<p', '<script>never closed', '</p></div>', '<svg><title>x</svg>y', '<a href>']
)
def test_broken_pages_are_read_as_far_as_possible(html: str) -> None:
    title, text = page.extract_text(html)
    assert isinstance(title, str) and 'never' not in text
    assert page.extract_text('<head><title>x</title><p>y') == ('x', 'y')
