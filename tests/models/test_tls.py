"""Certificate authorities and client certificates per endpoint, against a server that requires one."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from engine.configuration import load_configuration
from engine.errors import ModelError
from engine.models.http.endpoint_client import EndpointClient
from engine.models.protocol import Completed
from engine.models.recording.exchange import label_call
from tests.models.reading import endpoint, make_request
from tests.models.speech import OpenAISpeech
from tests.support.servers.certificates import PASSWORD, write_certificates

speech = OpenAISpeech()
WHOLE = speech.start + speech.say('x') + speech.stop + speech.end


@pytest.fixture(scope='module')
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of a test authority."""
    return write_certificates(tmp_path_factory.mktemp('certificates'))


@asynccontextmanager
async def serving(files: Path) -> AsyncIterator[str]:
    """A server that requires a certificate of the test authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(files / 'ca.pem'))
    context.load_cert_chain(files / 'server.pem')
    context.verify_mode = ssl.CERT_REQUIRED

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b'\r\n\r\n')
        head = f'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(WHOLE)}\r\n\r\n'
        writer.write(head.encode() + WHOLE)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, '127.0.0.1', 0, ssl=context)
    async with server:
        yield f'https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1'


async def call(client: EndpointClient) -> Completed:
    try:
        events = [event async for event in client.stream('m', make_request())]
    finally:
        await client.close()
    assert isinstance(events[-1], Completed)
    return events[-1]


async def test_an_endpoint_uses_its_own_ca_and_client_certificate(files: Path) -> None:
    mine = {
        'certificate': str(files / 'client.pem'),
        'certificate_key': str(files / 'client.key'),
        'certificate_password': PASSWORD,
    }
    async with serving(files) as url:
        assert (
            await call(EndpointClient(endpoint(url=url, ca=str(files / 'ca.pem'), **mine)))
        ).reason == 'stop'
        with pytest.raises(ModelError, match='certificate verify failed'):
            await call(EndpointClient(endpoint(url=url, **mine)))
        with pytest.raises(ModelError) as caught:
            await call(EndpointClient(endpoint(url=url, ca=str(files / 'ca.pem'))))
        assert caught.value.kind in ('connection', 'truncated'), (
            'the server rejects clients without a certificate'
        )


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        ({'ca': 'none.pem'}, 'here: its ca .*none.pem cannot be used: No such file'),
        ({'ca': 'client.key'}, 'here: its ca .*client.key cannot be used: '),
        ({'certificate': 'none.pem'}, 'here: its certificate .*none.pem cannot be used: No such file'),
        (
            {'certificate': 'client.pem', 'certificate_key': 'client.key', 'certificate_password': 'wrong'},
            'here: its certificate .*client.key cannot be used: ',
        ),
        (
            {'certificate': 'client.pem', 'certificate_key': 'client.key'},
            'here: its certificate .*client.key cannot be used: ',
        ),
    ],
)
async def test_unusable_files_are_named(files: Path, settings: dict[str, str], message: str) -> None:
    paths = {name: value if 'password' in name else str(files / value) for name, value in settings.items()}
    with pytest.raises(ModelError, match=message) as caught:
        await call(EndpointClient(endpoint(url='https://127.0.0.1:9/v1', **paths)))
    assert caught.value.kind == 'bad request'


FILE = """
[endpoints.work]
url = "https://models.example/v1"
ca = "certs/ca.pem"
certificate = "/etc/client.pem"
certificate_key = "certs/client.key"
certificate_password = "env:WORK_PASSWORD"
"""


def test_files_are_relative_to_the_configuration(tmp_path: Path) -> None:
    (tmp_path / 'endpoints.toml').write_text(FILE, 'utf-8')
    settings = load_configuration(tmp_path / 'endpoints.toml', {'WORK_PASSWORD': PASSWORD}).endpoints['work']
    assert (settings.ca, settings.certificate) == (str(tmp_path / 'certs/ca.pem'), '/etc/client.pem')
    assert (settings.certificate_key, settings.certificate_password) == (
        str(tmp_path / 'certs/client.key'),
        PASSWORD,
    )
    assert PASSWORD not in settings.hide(f'it repeats {PASSWORD}') and PASSWORD not in repr(settings)
    recorded = label_call(settings, 'm', 'work/m', 'working', 1).endpoint
    assert not {'ca', 'certificate', 'certificate_key', 'certificate_password'} & recorded.keys()
    lost = load_configuration(tmp_path / 'endpoints.toml', {})
    assert lost.missing == {'work': 'the environment variable WORK_PASSWORD is not set'}
