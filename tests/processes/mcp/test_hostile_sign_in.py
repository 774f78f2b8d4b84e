"""Signing in with a hostile MCP server, authorization server, or page in the browser."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from engine.tools.mcp import oauth
from tests.processes.mcp.test_oauth import browse, using
from tests.support.mcp.oauth_server import TOKEN, serve_guarded


async def nobody(url: str) -> None:
    raise AssertionError(f'{url} must not be shown')


async def test_a_guessed_redirect_changes_nothing(tmp_path: Path) -> None:
    async def attack(url: str) -> None:
        redirect_uri = parse_qs(urlsplit(url).query)['redirect_uri'][0]
        async with httpx.AsyncClient() as http:
            for forged in (
                '?code=forged',
                '?code=forged&state=x',
                '?error=access_denied',
                '',
                '?state=' + 'y' * 99,
            ):
                answer = await http.get(redirect_uri + forged)
                assert (answer.status_code, 'signed in' in answer.text) == (400, False)
        await browse(url)

    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        assert (await servers.sign_in('far', attack)).problem == ''
        assert [grant['code'] for grant in server.grants] == ['a-code']


async def test_a_redirect_is_accepted_once(tmp_path: Path) -> None:
    statuses: list[int] = []

    async def twice(url: str) -> None:
        async with httpx.AsyncClient() as http:
            location = (await http.get(url)).headers['location']
            statuses.extend([(await http.get(location)).status_code, (await http.get(location)).status_code])

    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        assert (await servers.sign_in('far', twice)).problem == ''
        assert (statuses, len(server.grants)) == ([200, 400], 1)


async def test_the_metadata_of_another_issuer_is_refused(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.metadata = {'issuer': 'https://elsewhere.example'}
        assert 'issuer mismatch' in (await servers.sign_in('far', nobody)).problem
        server.metadata, server.resource = {}, {'resource': 'https://elsewhere.example/mcp'}
        assert 'does not match' in (await servers.sign_in('far', nobody)).problem
        assert server.grants == []


async def test_a_server_that_does_not_protect_the_code_is_refused(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.metadata = {'code_challenge_methods_supported': ['plain']}
        assert 'PKCE' in (await servers.sign_in('far', nobody)).problem


async def test_a_huge_metadata_document_is_not_read(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.padding = oauth.MAX_DOCUMENT
        assert f'more than {oauth.MAX_DOCUMENT:,} bytes' in (await servers.sign_in('far', nobody)).problem


async def test_a_compressed_refusal_is_not_decompressed(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.coding = 'gzip, gzip'
        assert (await servers.sign_in('far', browse)).problem == ''


async def test_the_first_answer_after_a_sign_in_may_not_be_compressed_twice(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.answers_coded = 'gzip, gzip'
        problem = (await servers.sign_in('far', browse)).problem
        assert problem == 'its answer is compressed with gzip, gzip, which was not requested'


async def test_the_body_of_a_redirect_is_not_awaited(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(30),
        serve_guarded() as server,
        using(server, tmp_path / 'far.json') as (servers, _),
    ):
        server.redirects = True
        assert (await servers.sign_in('far', browse)).problem == ''


@pytest.mark.parametrize('echoed', ['code', 'code_verifier', 'client_secret'])
async def test_secrets_echoed_by_the_token_endpoint_are_not_shown(tmp_path: Path, echoed: str) -> None:
    file = tmp_path / 'far.json'
    async with (
        serve_guarded() as server,
        using(server, file, client_id='mine', client_secret='a-secret-of-mine') as connection,
    ):
        server.echoes = True
        problem = (await connection[0].sign_in('far', browse)).problem
        assert 'invalid_grant' in problem and len(problem) < 2_500
        assert server.grants[0][echoed] not in problem
        assert 'tokens' not in json.loads(file.read_text('utf-8'))


async def test_a_token_in_an_unreadable_answer_is_not_shown(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.token = {'accessToken': TOKEN}
        problem = (await servers.sign_in('far', browse)).problem
        assert problem == 'its authorization server did not answer with a token'


async def test_a_token_endpoint_that_hangs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth, 'EXCHANGE_SECONDS', 0.3)
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.hangs = True
        problem = (await servers.sign_in('far', browse)).problem
        assert '127.0.0.1 did not answer within 0.3 seconds' in problem


@pytest.mark.parametrize(
    ('server', 'address', 'problem'),
    [
        ('https://mcp.example/mcp', 'http://sign-in.example/token', 'not encrypted'),
        ('https://8.8.8.8/mcp', 'https://127.0.0.1/token', 'this machine or in a private network'),
        ('https://8.8.8.8/mcp', 'https://169.254.169.254/latest', 'this machine or in a private network'),
        ('https://8.8.8.8/mcp', 'https://[::ffff:10.0.0.1]/token', 'this machine or in a private network'),
        ('https://8.8.8.8/mcp', 'https://1.1.1.1/token', ''),
        ('http://127.0.0.1:9/mcp', 'http://127.0.0.1:8/token', ''),
        ('https://10.0.0.1/mcp', 'https://10.0.0.2/token', ''),
    ],
)
async def test_a_server_may_redirect_only_to_safe_addresses(server: str, address: str, problem: str) -> None:
    reason = await oauth.address_problem(server, address)
    assert (problem in reason) if problem else reason == ''


async def test_an_encrypted_server_may_not_send_people_to_an_unencrypted_page(tmp_path: Path) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.metadata = {'authorization_endpoint': 'ftp://elsewhere.example/authorize'}
        assert (await servers.sign_in('far', nobody)).problem
        server.metadata = {'authorization_endpoint': 'javascript:alert(1)'}
        assert (await servers.sign_in('far', nobody)).problem


@pytest.mark.parametrize('status', [200, 201, 400, 500])
async def test_a_token_endpoint_that_does_not_write_utf_8_is_reported(tmp_path: Path, status: int) -> None:
    async with serve_guarded() as server, using(server, tmp_path / 'far.json') as (servers, _):
        server.bytes = status, b'caf\xe9 \xff'
        problem = (await servers.sign_in('far', browse)).problem
        assert problem == oauth.NO_TOKEN
