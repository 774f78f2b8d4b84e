"""Scripts in text from people, models and imports run on no page that shows it."""

import gzip
import hashlib
import json

from playwright.sync_api import Page, expect

from tests.tree import ROOT

EVIL = (
    '<img src=x onerror="ran.push(1)"><script>ran.push(2)</script><svg onload="ran.push(3)">'
    ' ![a](javascript:ran.push(4)) [b](javascript:ran.push(5))'
)
"""Text that would run if it were treated as HTML, or if its links were trusted."""
NAME_ATTRIBUTES = ('gen_ai.agent.name', 'gen_ai.tool.name', 'gen_ai.request.model', 'gen_ai.response.model')
SUBPAGES = ('/fork', '/family', '/report', '/review')
SHOWN_FIELDS = frozenset({
    'title', 'who', 'model', 'text', 'content', 'error', 'task', 'tags', 'note', 'summary', 'findings',
})  # fmt: skip
"""Fields of a bundle that a page shows verbatim."""
INJECTED = 'aaaabbbbcccc'
"""The id of the run in a bundle with injected scripts."""
NOT_OF_TRACES = ('/fork', '/report', '/review')
"""Pages that a run imported from a trace does not have."""


def test_scripts_in_names_texts_and_imports_never_run(open_page, new_server, tmp_path):
    new_server.pace = 0
    new_server.start()
    page = open_page()
    page.add_init_script('window.ran = []')
    page.goto(new_server.url)
    own = {'Origin': new_server.url}

    def post(path: str, body: object) -> dict:
        answer = page.request.post(f'{new_server.url}/api/v1{path}', data=body, headers=own)
        assert answer.ok, answer.text()
        return answer.json()

    launch = {'pattern': 'pipeline', 'parameters': {'task': EVIL}}
    ended = post('/runs', launch | {'title': EVIL, 'tags': ['<b onclick=ran.push(6)>']})['id']
    waiting = post('/runs', launch | {'title': EVIL, 'approvals': 'all'})['id']
    post('/schedules', {'name': EVIL, 'action': launch, 'spec': {'cron': ['0 6 * * *']}})
    post('/triggers', {'name': EVIL, 'action': launch})
    trace = (ROOT / 'tests' / 'golden' / 'traces' / 'pydantic_ai.json').read_text()
    data = json.loads(trace)
    spans = [
        span
        for resource in data['resourceSpans']
        for scope in resource['scopeSpans']
        for span in scope['spans']
    ]
    for span in spans:
        span['name'] = EVIL
        for attribute in span['attributes']:
            if 'stringValue' in attribute['value'] and attribute['key'] in NAME_ATTRIBUTES:
                attribute['value']['stringValue'] = EVIL
    answer = page.request.post(
        f'{new_server.url}/api/v1/imports',
        headers=own | {'Content-Type': 'application/octet-stream'},
        data=json.dumps(data).encode(),
    )
    assert answer.ok, answer.text()
    (drawn,) = {run['id'] for run in page.request.get(f'{new_server.url}/api/v1/runs').json()['items']} - {
        ended,
        waiting,
    }
    page.goto(f'{new_server.url}/runs/{waiting}')
    expect(page.get_by_role('button', name='Allow once').first).to_be_visible(timeout=60_000)
    page.goto(f'{new_server.url}/runs/{ended}')
    expect(page.locator('.run-facts .pill')).to_contain_text('Done', timeout=60_000)
    places = [
        '/',
        '/runs',
        '/inbox',
        '/schedules',
        '/notifications',
        '/wall',
        '/patterns/pipeline/traffic',
        f'/compare?a={ended}&b={waiting}',
    ]
    places += [f'/runs/{run}' for run in (ended, waiting)]
    places += [f'/runs/{ended}{end}' for end in SUBPAGES]
    places += [f'/runs/{drawn}{end}' for end in SUBPAGES if end not in NOT_OF_TRACES]
    bundle = page.request.get(f'{new_server.url}/api/v1/runs/{ended}/export/bundle').body()
    answer = page.request.post(
        f'{new_server.url}/api/v1/imports',
        headers=own | {'Content-Type': 'application/octet-stream'},
        data=inject_scripts(bundle, ended),
    )
    assert answer.ok and answer.json()[0]['id'] == INJECTED, answer.text()
    for place in places:
        page.goto(f'{new_server.url}{place}')
        check(page)
    for run in (drawn, INJECTED):
        page.goto(f'{new_server.url}/runs/{run}')
        check_tabs(page)
    saved = page.request.get(f'{new_server.url}/runs/{ended}/export/html')
    file = tmp_path / 'run.html'
    file.write_bytes(saved.body())
    page.goto(file.as_uri())
    assert page.evaluate('ran') == []


def check(page: Page) -> None:
    assert page.evaluate('ran') == [], page.url
    assert page.locator('a[href^="javascript"]').count() == 0, page.url


def check_tabs(page: Page) -> None:
    """Check the page of a run in each of its tabs, and at an earlier step."""
    for tab in page.get_by_role('tab').all():
        if tab.is_visible():
            tab.click()
            expect(tab).to_have_attribute('aria-selected', 'true')
            check(page)
    slider = page.get_by_role('slider', name='Step')
    for key in ('Home', 'ArrowRight', 'ArrowRight'):
        slider.press(key)
    expect(page.locator('.player-count')).to_contain_text('3 / ')
    check(page)


def inject_scripts(bundle: bytes, run: str) -> bytes:
    """Return a bundle as another run, with scripts in all its texts and a valid checksum."""

    def change(value: object, field: str = '') -> object:
        if isinstance(value, dict):
            return {name: change(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [change(item, field) for item in value]
        if isinstance(value, str):
            return EVIL if value and field in SHOWN_FIELDS else value.replace(run, INJECTED)
        return value

    head, *lines, end = map(json.loads, gzip.decompress(bundle).splitlines())
    lines_sent = [head | {'runs': [INJECTED]}, *map(change, lines)]
    body = b''.join(json.dumps(line).encode() + b'\n' for line in lines_sent)
    return body + json.dumps(end | {'sha256': hashlib.sha256(body).hexdigest()}).encode() + b'\n'
