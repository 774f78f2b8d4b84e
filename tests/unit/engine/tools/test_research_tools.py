"""Feeds, calendars and links: real formats, broken ones, and limits on untrusted files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine import ToolContext
from engine.errors import ToolError
from engine.models.scripted.library import FOLDER
from engine.records import RunId
from engine.tools import Tool, ToolOutput
from engine.tools.builtin.research.calendar import calendar
from engine.tools.builtin.research.rss_feed import rss_feed
from engine.tools.builtin.writing.static_links import static_links
from engine.workspace import Workspaces
from tests.support.servers.http_server import local

RSS = """<?xml version="1.0" encoding="{encoding}"?>
<rss version="2.0"><channel><title>T</title>
<item><title>Älter</title><link>https://x.example/1</link>
<description>&lt;p&gt;One &lt;b&gt;two&lt;/b&gt;&lt;/p&gt;</description>
<pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate></item>
<item><title>Newer</title><link>https://x.example/2</link>
<pubDate>Tue, 03 Nov 2026 10:00:00 GMT</pubDate></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>t</id>
<entry><title>Atomic</title><link href="https://x.example/a"/><id>a</id><updated>2026-11-04T10:00:00Z</updated>
<summary>Short.</summary></entry><entry><title>Undated</title><id>b</id></entry></feed>"""


async def use(tool: Tool, context: ToolContext, **arguments: Any) -> ToolOutput:
    return await tool.invoke(json.dumps(arguments), context)


def make_context(tmp_path: Path) -> ToolContext:
    workspace = Workspaces(tmp_path).of(RunId('run'), 'agent')
    return ToolContext(key='run:1', workspace=workspace, private_addresses=True)


def serving(body: bytes, kind: str = 'application/xml', status: int = 200) -> Any:
    return local(lambda method, path, sent: (status, {'Content-Type': kind}, body))


@pytest.mark.parametrize('encoding', ['utf-8', 'iso-8859-1'])
async def test_an_rss_feed_is_read_newest_first_in_its_own_encoding(tmp_path: Path, encoding: str) -> None:
    with serving(RSS.format(encoding=encoding).encode(encoding)) as server:
        result = await use(rss_feed, make_context(tmp_path), url=server.url)
    posts = result.artifacts['recent_posts']
    assert [post['title'] for post in posts] == ['Newer', 'Älter']
    assert posts[1] == {
        'title': 'Älter',
        'link': 'https://x.example/1',
        'published': '2026-11-02',
        'summary': 'One two',
    }
    assert '- Newer (2026-11-03) https://x.example/2' in result.text


async def test_an_atom_feed_is_read_and_filtered(tmp_path: Path) -> None:
    with serving(ATOM.encode()) as server:
        context = make_context(tmp_path)
        result = await use(rss_feed, context, url=server.url)
        assert [post['published'] for post in result.artifacts['recent_posts']] == ['2026-11-04', '']
        assert 'Undated (undated)' in result.text
        one = await use(rss_feed, context, url=server.url, about='ATOMIC', limit=1)
        assert [post['title'] for post in one.artifacts['recent_posts']] == ['Atomic']
        assert (await use(rss_feed, context, url=server.url, about='nothing')).text == 'No entries match.'


@pytest.mark.parametrize(
    ('body', 'status', 'says'),
    [
        (b'<html><body>Hello</body></html>', 200, 'is not an RSS or Atom feed'),
        (b'', 200, 'is not an RSS or Atom feed'),
        (b'/etc/passwd', 200, 'is not an RSS or Atom feed'),
        (b'gone', 410, 'answered with status 410'),
    ],
)
async def test_a_page_that_is_not_a_feed_is_refused(
    tmp_path: Path, body: bytes, status: int, says: str
) -> None:
    with serving(body, status=status) as server, pytest.raises(ToolError, match=says):
        await use(rss_feed, make_context(tmp_path), url=server.url)


async def test_feeds_and_calendars_on_this_machine_are_refused(
    tmp_path: Path,
) -> None:
    context = make_context(tmp_path)
    context.private_addresses = False
    with serving(ATOM.encode()) as server:
        for tool, argument in ((rss_feed, 'url'), (calendar, 'source')):
            with pytest.raises(ToolError, match='nothing may be fetched'):
                await use(tool, context, **{argument: server.url})
        assert server.asked == []


async def test_events_of_a_file_are_listed_including_recurring_ones(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    await context.files.write('calendar.ics', (FOLDER / 'blog' / 'events.ics').read_bytes())
    result = await use(calendar, context, start='2026-12-01', days=31)
    assert [(event['start'], event['title']) for event in result.artifacts['events']] == [
        ('2026-12-05 14:00 UTC', 'Repair café for garden tools'),
        ('2026-12-12', 'Winter seed swap'),
        ('2026-12-12 14:00 UTC', 'Repair café for garden tools'),
        ('2026-12-19 14:00 UTC', 'Repair café for garden tools'),
    ]
    assert result.artifacts['events'][1]['place'] == 'Town library, ground floor'
    context.now = 1_802_000_000.0  # 2027-02-07
    assert 'Pruning apples' in (await use(calendar, context)).text
    nothing = await use(calendar, context, start='2030-01-01', days=5)
    assert nothing.text == 'No events within 5 days of 2030-01-01.'


async def test_events_of_a_url_are_listed(tmp_path: Path) -> None:
    with serving((FOLDER / 'blog' / 'events.ics').read_bytes(), 'text/calendar') as server:
        result = await use(calendar, make_context(tmp_path), source=server.url, start='2026-12-12', days=1)
    assert len(result.artifacts['events']) == 2
    with serving(b'', status=404) as server, pytest.raises(ToolError, match='status 404'):
        await use(calendar, make_context(tmp_path), source=server.url)


@pytest.mark.parametrize(
    ('data', 'says'),
    [
        (b'hello', 'is not an iCalendar file'),
        (
            b'BEGIN:VCALENDAR\nBEGIN:VEVENT\nRRULE:FREQ=SECONDLY\nEND:VEVENT\nEND:VCALENDAR',
            'every minute or second',
        ),
        (b'BEGIN:VCALENDAR\nBEGIN:VEVENT\n', 'is not an iCalendar file'),
    ],
)
async def test_a_page_that_is_not_a_calendar_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    context = make_context(tmp_path)
    await context.files.write('calendar.ics', data)
    with pytest.raises(ToolError, match=says):
        await use(calendar, context, start='2026-12-01')


async def test_links_come_from_the_run_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = make_context(tmp_path)
    monkeypatch.delenv('HEMICYCLE_LINKS', raising=False)
    with pytest.raises(ToolError, match='no links are configured'):
        await use(static_links, context)
    monkeypatch.setenv('HEMICYCLE_LINKS', 'A: https://a.example; B: mailto:b@b.example')
    result = await use(static_links, ToolContext(key='x'))
    assert result.artifacts['links'] == {'A': 'https://a.example', 'B': 'mailto:b@b.example'}
    await context.files.write('links.txt', b'C: http://c.example\n\n')
    assert (await use(static_links, context)).text == '- [C](http://c.example)'
    await context.files.write('links.txt', b'D: javascript:alert(1)')
    with pytest.raises(ToolError, match='does not have the form Name: https://address'):
        await use(static_links, context)
