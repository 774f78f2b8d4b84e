"""What went wrong with a connection is said in words, never as the name of an exception."""

import asyncio
import socket
import ssl

import httpx
import pytest

from ui.app.network import environment_proxies, network_problem


async def test_real_failures_have_readable_messages():
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, '127.0.0.1')
    port = server.sockets[0].getsockname()[1]
    async with server, httpx.AsyncClient(timeout=0.2) as client:
        for url, words in (
            ('http://127.0.0.1:9', 'it refuses connections'),
            ('http://nowhere.invalid', 'its host name is not known'),
            (f'http://127.0.0.1:{port}', 'it did not answer in time'),
            (f'https://127.0.0.1:{port}', 'the connection timed out'),
        ):
            with pytest.raises(httpx.HTTPError) as caught:
                await client.get(url)
            assert network_problem(caught.value) == words


@pytest.mark.parametrize(
    ('error', 'words'),
    [
        (ssl.SSLCertVerificationError('self-signed'), 'its certificate is not trusted'),
        (ssl.SSLError('wrong version number'), 'it does not speak TLS'),
        (socket.gaierror(-2, 'Name or service not known'), 'its host name is not known'),
        (httpx.RemoteProtocolError('Server disconnected'), 'it closed the connection'),
        (httpx.ConnectError('All connection attempts failed'), 'no connection could be made'),
        (ValueError('unknown url type'), 'unknown url type'),
        (OSError(), 'no connection could be made'),
    ],
)
def test_each_failure_has_its_words(error: Exception, words: str):
    assert network_problem(error) == words
    try:
        raise httpx.ConnectError('All connection attempts failed') from error
    except httpx.ConnectError as outer:
        assert network_problem(outer) == (
            words if type(error) is not ValueError else 'no connection could be made'
        )


@pytest.mark.parametrize(
    ('variable', 'value'),
    [('NO_PROXY', '10.0.0.0/8,fd00::/8'), ('HTTPS_PROXY', 'socks5://proxy.example:1080')],
)
def test_proxies_that_cannot_be_used_are_a_problem_of_the_connection(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(httpx.ProxyError) as caught, environment_proxies():
        httpx.AsyncClient()
    assert 'proxy settings of the environment' in network_problem(caught.value)
