"""Permissions over HTTP: nothing without a login, and every operation for every role."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import Mount, Route

from engine import Conductor
from engine.errors import NotAllowed
from engine.operations import Role
from tests.api.conftest import BASE, PASSWORD
from tests.support.api import serve_api
from tests.support.harness import complete_run
from tests.unit.ui.app.services.test_schedules import sign
from ui.api.access import PREFIX
from ui.app.access.access import Access
from ui.app.access.audit_log import AuditQuery
from ui.app.access.caller import IDENTITY
from ui.app.access.http import COOKIE, RequireLogin
from ui.app.access.login import Login
from ui.app.access.sub_path import SubPath
from ui.app.backend import Backend
from ui.app.services.schedules import Trigger
from ui.web.components.assets import ASSETS

READS = frozenset(
    {'audit', 'check_chart', 'draw', 'forecast', 'export_bundle', 'plan_experiment', 'preview_merge'}
    | {'read_table', 'rehearse'}
)
"""Operations that change nothing although they are not GET requests."""
OF_ADMINS = frozenset({'purge', 'preview_cleanup', 'clean_up', 'recover'})
BODIES: dict[str, Any] = {
    'start': {'pattern': 'lone'},
    'check': None,
    'write_note': {'at': 1, 'text': 'x'},
    'save_endpoint': {'values': {}},
    'save_mcp_server': {'values': {}},
    'send': {'name': 'approve'},
}
OWN_COOKIE = f'{COOKIE}-{urlsplit(BASE).port}'
BY_NAME = frozenset({'receive_webhook', 'try_agent', 'try_endpoint', 'try_mcp_server', 'try_tool'})
"""Anybody may get a 404 for what does not exist; the guard's own test covers existing objects."""


@pytest.fixture
def served(backend: Backend, access: Access) -> RequireLogin:
    app = FastAPI(
        routes=[
            *Login(lambda: backend.access, None, ASSETS).routes(),
            Mount(PREFIX, serve_api(backend)),
            Route('/runs', lambda request: None),  # type: ignore[arg-type, return-value]
        ]
    )
    return RequireLogin(app, lambda: backend.access)


@pytest.fixture
async def http(served: RequireLogin) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url=BASE) as client:
        yield client


async def bearer(access: Access, role: Role) -> dict[str, str]:
    secret = (await access.accounts.add_token(str(role), 'test', role, 1)).secret
    return {'Authorization': f'Bearer {secret}'}


def operations(backend: Backend) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for path, methods in serve_api(backend).openapi()['paths'].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation['operationId'], operation


async def test_nothing_is_served_without_a_login(http: httpx.AsyncClient, backend: Backend) -> None:
    endpoints = [
        (method, PREFIX + path)
        for method, path, name, _ in operations(backend)
        if name != 'receive_webhook'  # it is signed
    ]
    endpoints += [
        ('GET', f'{PREFIX}/docs'),
        ('GET', f'{PREFIX}/openapi.json'),
        ('POST', '/mcp'),
        ('GET', '/metrics'),
    ]
    assert len(endpoints) > 60
    for method, path in endpoints:
        for headers in ({}, {'Authorization': 'Bearer hct_guessed'}, {'Cookie': f'{OWN_COOKIE}=guessed'}):
            response = await http.request(method, path, headers=headers)
            assert response.status_code == 401, (method, path)
            assert response.headers['www-authenticate'] == 'Bearer'
    page = await http.get('/runs?x=1', headers={'Accept': 'text/html'})
    assert (page.status_code, page.headers['location']) == (303, '/login?next=%2Fruns%3Fx%3D1')
    assert (await http.get('/hemicycle/frame/shortcuts.js')).status_code == 401


@pytest.mark.parametrize('role', [Role.VIEWER, Role.OPERATOR])
async def test_each_operation_is_refused_to_lower_roles(
    http: httpx.AsyncClient, backend: Backend, access: Access, conductor: Conductor, role: Role
) -> None:
    run = (await conductor.start('lone', paused=True)).id
    before, tried, failures = (await conductor.runs()).total, 0, list[str]()
    headers = await bearer(access, role)
    for method, path, name, operation in operations(backend):
        if method == 'GET' or name in READS or (role is Role.OPERATOR and name not in OF_ADMINS):
            continue
        content = operation.get('requestBody', {}).get('content', {}).get('application/json', {})
        body = BODIES.get(name, content.get('example', {}))
        if body is None:
            continue
        filled = (
            path.replace('{run}', run)
            .replace('{seat}', 'planner')
            .replace('{note}', '1')
            .replace('{name}', 'x')
        )
        if '{pattern}' in filled:
            filled = filled.replace('{pattern}', 'lone')
        tried += 1
        response = await http.request(method, PREFIX + filled, json=body, headers=headers)
        if name in BY_NAME and response.status_code == 404:
            continue
        if response.status_code != 403 or response.json()['type'] != 'urn:hemicycle:not-allowed':
            failures.append(f'{name}: {response.status_code} {response.text[:200]}')
    assert failures == []
    assert tried >= (len(OF_ADMINS) if role is Role.OPERATOR else 25)
    assert (await conductor.runs()).total == before
    assert (await conductor.info(run)).seq == 1


async def test_a_signed_webhook_needs_no_login(http: httpx.AsyncClient, access: Access) -> None:
    body = {'name': 'Issues', 'action': {'pattern': 'lone'}}
    data = (await http.post(f'{PREFIX}/triggers', json=body, headers=await bearer(access, Role.ADMIN))).json()
    headers = sign(Trigger(**{**data, 'created': 0.0, 'action': None, 'mapping': {}}), '{}')
    headers['Content-Type'] = 'application/json'
    path = f'{PREFIX}/triggers/{data["id"]}/webhook'
    assert (await http.get(path, headers=headers)).status_code == 401
    forged = await http.post(path, content='[]', headers=headers)
    assert (forged.status_code, forged.json()['type']) == (401, 'urn:hemicycle:bad-signature')
    started = await http.post(path, content='{}', headers=headers)
    assert (started.status_code, started.json()['state']) == (200, 'started'), started.text


async def test_a_cookie_works_from_our_own_pages_only(http: httpx.AsyncClient, access: Access) -> None:
    secret = await access.accounts.begin_session('operator', 'password', '', '')
    cookie = {'Cookie': f'{OWN_COOKIE}={secret}'}
    start = {'pattern': 'lone'}
    for more in (
        {},
        {'Origin': 'https://evil.example'},
        {'Origin': 'null'},
        {'Sec-Fetch-Site': 'cross-site'},
    ):
        response = await http.post(f'{PREFIX}/runs', json=start, headers=cookie | more)
        assert response.status_code == 403, more
    tls = BASE.replace('http:', 'https:')
    over_tls = await http.post(f'{tls}{PREFIX}/runs', json=start, headers=cookie | {'Origin': BASE})
    assert over_tls.status_code in (401, 403)  # a page served without TLS is not ours
    own = await http.post(f'{PREFIX}/runs', json=start, headers=cookie | {'Origin': BASE})
    assert own.status_code == 201, own.text
    assert own.json()['author'] == 'operator'


async def test_a_person_logs_in_and_out_from_our_own_pages_only(
    http: httpx.AsyncClient, access: Access
) -> None:
    form = {'name': 'viewer', 'password': PASSWORD, 'next': '//evil.example'}
    assert (await http.post('/login', data=form)).status_code == 403
    assert (
        await http.post('/login', data=form, headers={'Origin': 'https://evil.example'})
    ).status_code == 403
    own = {'Origin': BASE}
    response = await http.post('/login', data=form | {'password': 'wrong', 'name': '<script>x'}, headers=own)
    assert response.status_code == 401 and '<script>' not in response.text
    right = await http.post('/login', data=form, headers=own)
    assert (right.status_code, right.headers['location']) == (303, '/')
    cookie = right.headers['set-cookie']
    assert 'HttpOnly' in cookie and 'SameSite=lax' in cookie
    assert (await http.get(f'{PREFIX}/runs')).status_code == 200
    assert (await http.post('/logout', headers=own)).status_code == 303
    assert (await http.get(f'{PREFIX}/runs')).status_code == 401


@pytest.mark.parametrize(('root_path', 'base'), [('', ''), ('/hemi', ''), ('/hemi', '/hemi')])
async def test_below_the_path_of_a_proxy_a_login_stays_there(
    served: RequireLogin, access: Access, root_path: str, base: str
) -> None:
    transport = httpx.ASGITransport(SubPath(served, root_path))
    async with httpx.AsyncClient(transport=transport, base_url=BASE + base) as http:
        sent = {'X-Forwarded-Prefix': '' if root_path else '/hemi', 'Accept': 'text/html', 'Origin': BASE}
        page = await http.get('/runs?text=tea', headers=sent)
        assert page.headers['location'] == '/hemi/login?next=%2Fruns%3Ftext%3Dtea'
        login = await http.get('/login?next=%2Fruns', headers=sent)
        assert login.text.count('="/hemi/login') == 4 and '="/login' not in login.text
        form = {'name': 'viewer', 'password': PASSWORD, 'next': '/runs'}
        right = await http.post('/login', data=form, headers=sent)
        assert (right.status_code, right.headers['location']) == (303, '/hemi/runs')
        strange = {**sent, 'X-Forwarded-Prefix': '//evil.example'}
        answer = await http.get('/login', headers=strange)
        assert '//evil' not in f'{answer.headers} {answer.text}'


async def test_over_tls_only_this_host_can_set_the_cookie(http: httpx.AsyncClient, access: Access) -> None:
    secret, tls = (
        await access.accounts.begin_session('viewer', 'password', '', ''),
        BASE.replace('http:', 'https:'),
    )
    url = f'{tls}{PREFIX}/runs'
    assert (await http.get(url, headers={'Cookie': f'{OWN_COOKIE}={secret}'})).status_code == 401
    assert (await http.get(url, headers={'Cookie': f'__Host-{OWN_COOKIE}={secret}'})).status_code == 200
    form = {'name': 'viewer', 'password': PASSWORD}
    for where, origin in ((tls, tls), (BASE, tls)):  # the second is behind a proxy that does not announce TLS
        response = await http.post(f'{where}/login', data=form, headers={'Origin': origin})
        cookie = response.headers['set-cookie']
        assert cookie.startswith(f'__Host-{OWN_COOKIE}=') and 'Secure' in cookie


async def test_servers_on_one_host_have_cookies_of_their_own(http: httpx.AsyncClient, access: Access) -> None:
    names = []
    for host, headers in (
        ('http://testserver', {}),
        ('http://testserver:8081', {}),
        ('http://testserver', {'X-Forwarded-Prefix': '/team/two'}),
        ('http://testserver', {'X-Forwarded-Prefix': '/team.two'}),
    ):
        form = {'name': 'viewer', 'password': PASSWORD}
        response = await http.post(f'{host}/login', data=form, headers={'Origin': host, **headers})
        name, _, secret = response.headers['set-cookie'].partition(';')[0].partition('=')
        names.append(name)
        sent = {'Cookie': f'other={{"a": 1}}; {name}={secret}', **headers}
        assert (await http.get(f'{host}{PREFIX}/runs', headers=sent)).status_code == 200
    assert names == [COOKIE, f'{COOKIE}-8081', f'{COOKIE}+team+two', f'{COOKIE}+team.two']


async def test_exports_are_logged(http: httpx.AsyncClient, access: Access, conductor: Conductor) -> None:
    run = await complete_run(conductor, 'lone')
    headers = await bearer(access, Role.VIEWER)
    assert (await http.get(f'{PREFIX}/runs/{run}/export/markdown', headers=headers)).status_code == 200
    (line,) = await access.audit.lines(AuditQuery(action='download'))
    assert (line.who, line.runs, line.details) == ('viewer', (run,), {'what': 'export', 'form': 'markdown'})
    assert line.refused == ''
    await conductor.annotate(run, private=True)
    assert (await http.get(f'{PREFIX}/runs/{run}/export/markdown', headers=headers)).status_code == 404
    (line, _) = await access.audit.lines(AuditQuery(action='download'))
    assert line.refused == 'answered 404'


async def test_a_stranded_private_run_is_hidden_from_others(
    http: httpx.AsyncClient, conductor: Conductor, access: Access
) -> None:
    visible_run, hidden = [(await conductor.start('lone')).id for _ in range(2)]
    await conductor.annotate(hidden, private=True)
    conductor.stranded.update({visible_run: 'it is broken', hidden: 'its secret is broken'})
    for role, visible in (
        (Role.VIEWER, {visible_run}),
        (Role.OPERATOR, {visible_run}),
        (Role.ADMIN, {visible_run, hidden}),
    ):
        answer = await http.get(PREFIX + '/server', headers=await bearer(access, role))
        assert answer.json()['stranded'].keys() == visible, role


async def test_a_viewer_may_not_try_tools(backend: Backend, access: Access) -> None:
    for role in Role:
        secret = await access.accounts.begin_session(str(role), 'password', '', '')
        before = IDENTITY.set(await access.identify_session(secret))
        try:
            if role is Role.VIEWER:
                with pytest.raises(NotAllowed):
                    backend.playground('')
            else:
                assert backend.playground('') is backend.playground('other')
        finally:
            IDENTITY.reset(before)


@pytest.mark.parametrize('secret', ['sk-nobody-may-see', ['sk-nobody-may-see']])
async def test_a_key_is_in_no_answer_and_no_line_of_the_audit_log(
    http: httpx.AsyncClient, access: Access, secret: Any
) -> None:
    headers, body = await bearer(access, Role.ADMIN), {'values': {}, 'secret': secret}
    answer = await http.put(f'{PREFIX}/endpoints/openai', headers=headers, json=body)
    assert answer.status_code >= 400 and 'nobody-may-see' not in answer.text  # there is no file to change
    lines = await access.audit.lines(AuditQuery(action='endpoints.save'))
    assert len(lines) == isinstance(secret, str) and 'nobody-may-see' not in str(lines)
